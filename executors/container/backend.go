package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/containerd"
	"github.com/threegate/tool-exec/executors/image"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/monty"
	"github.com/threegate/tool-exec/executors/posture"
	"github.com/threegate/tool-exec/schemas"
)

// eraName is what provenance calls the ERA contract: /in, /out, language
// images and limits, in its first version.
const eraName = "ERA/1"

// montyArgv is the command of Monty tasks that have none.
var montyArgv = []string{job.PayloadPath, job.MontyMode}

// model is what sandboxes are made after. A slot serves tasks of its own model only.
type model struct {
	image   string // manifest digest
	execTmp bool   // what is written to /tmp can be executed
}

// payload is what a backend wants run, and where.
type payload struct {
	backend string // for Identity
	model
	argv  []string
	stdin []byte // nil means none
	// tools says that it calls tools, and tells of each call in a timeline.
	tools bool
}

// payloadOf asks the task's backend. It fails with ErrUnavailable if the node
// can't run such a task.
func (e *Executor) payloadOf(t executors.Task) (payload, error) {
	var p payload
	switch t.Backend {
	case schemas.BackendERA:
		if len(t.Argv) == 0 || t.Argv[0] == "" {
			return p, errors.New("task has no command")
		}
		p = payload{backend: eraName, model: model{e.cfg.Images[t.Language], e.cfg.ExecTmp[t.Language]}, argv: t.Argv}
		// By its name alone it is the image's, which an operator chose; its programs then do not get the descriptor.
		p.tools = len(t.Argv) > 1 && t.Argv[0] == "threegate-tools" && t.Argv[1] == "run"
		if len(t.Work) > 0 {
			p.argv = job.WorkArgv(schemas.WorkDir, t.Work, t.Argv)
		}
		if p.image == "" {
			return p, fmt.Errorf("language %q is %w: the configuration names no image for it", t.Language,
				ErrUnavailable)
		}
	case schemas.BackendMonty:
		p = payload{backend: "monty " + monty.Version, model: model{image: e.cfg.Monty}, argv: montyArgv}
		if len(t.Argv) > 0 {
			p.model, p.argv, p.tools = model{e.cfg.Images[t.Language], e.cfg.ExecTmp[t.Language]}, t.Argv, true
		}
		if p.image == "" {
			return p, fmt.Errorf("backend %q is %w: the configuration names no image for it", t.Backend, ErrUnavailable)
		}
		inputs := t.InputsJSON
		if len(inputs) == 0 {
			inputs = nil
		}
		var err error
		p.stdin, err = json.Marshal(monty.Job{
			Code: t.Code, Inputs: inputs, Monty: monty.BinaryPath,
			Limits: monty.Limits{MaxDurationSec: t.Limits.Time.Seconds(), MaxMemoryBytes: t.Limits.MemoryBytes},
		})
		if err != nil {
			return p, fmt.Errorf("task inputs: %w", err)
		}
	case executors.BackendPosture:
		p = payload{backend: string(t.Backend), model: model{image: e.anyImage()},
			argv: []string{job.PayloadPath, job.PostureMode}}
		if t.Network == schemas.NetworkAllowlist {
			p.argv = append(p.argv, posture.ArgNetworked)
		}
		if e.cfg.OwnKernel {
			p.argv = append(p.argv, posture.ArgOwnKernel)
		} else if !e.mapped {
			p.argv = append(p.argv, posture.ArgUnmapped)
		}
		if p.image == "" {
			return p, fmt.Errorf("the self-test is %w: the configuration names no image", ErrUnavailable)
		}
	default:
		return p, fmt.Errorf("backend %q is %w", t.Backend, ErrUnavailable)
	}
	return p, e.checkNetwork(t)
}

// anyImage is one of the node's images, the same each time.
func (e *Executor) anyImage() string {
	for _, language := range slices.Sorted(maps.Keys(e.cfg.Images)) {
		return e.cfg.Images[language]
	}
	return e.cfg.Monty
}

// checkLimits wants every limit set: a missing one would mean none.
func checkLimits(l executors.Limits) error {
	var errs []error
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"milli_cpu", int64(l.MilliCPU)}, {"memory_bytes", l.MemoryBytes}, {"time", int64(l.Time)},
		{"pids", int64(l.Pids)},
		{"open_files", int64(l.OpenFiles)}, {"out_bytes", l.OutBytes}, {"out_files", int64(l.OutFiles)},
		{"tmp_bytes", l.TmpBytes}, {"stdout_bytes", l.StdoutBytes}, {"stderr_bytes", l.StderrBytes},
	} {
		if f.n <= 0 {
			errs = append(errs, fmt.Errorf("task limit %s is %d: it must be above zero", f.name, f.n))
		}
	}
	return errors.Join(errs...)
}

// models are those that tasks of this node can have, as far as their images are there.
func (e *Executor) models() []model {
	all := []model{{image: e.cfg.Monty}}
	for language, image := range e.cfg.Images {
		all = append(all, model{image, e.cfg.ExecTmp[language]})
	}
	slices.SortFunc(all, func(a, b model) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return slices.DeleteFunc(slices.Compact(all), func(m model) bool {
		return m.image == "" || containerd.HasLayout(e.cfg.ImagesDir, m.image) != nil
	})
}

// payloadEnv is the payload's environment: what its image says its programs
// expect, and what is the same in every sandbox. Nothing of the node's own.
func payloadEnv(ofImage []string) []string {
	env := []string{"HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8"}
	path := "PATH=" + image.DefaultPath
	for _, kv := range ofImage {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "PATH":
			path = kv
		case "HOME", "TMPDIR", "LANG", "":
		default:
			env = append(env, kv)
		}
	}
	return append([]string{path}, env...)
}
