package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/approval"
)

// Policy is what the configuration means for a document that is judged at now.
func (l *Node) Policy(now time.Time) validate.Policy {
	p := validate.DefaultPolicy(now)
	m := l.Limits
	p.MaxRequestBytes = int64(m.RequestKB) << 10
	p.MaxMilliCPU, _ = validate.ParseCPU(m.CPU)
	p.MaxMemoryMB, p.MaxTimeSec = m.MemoryMB, m.TimeSec
	p.MaxInputs, p.MaxOutputs = m.InputFiles, m.Outputs
	p.MaxInputBytes = int64(m.InputsMB) << 20
	p.Languages = l.Languages()
	p.Programs = l.Programs
	p.Egress, p.AllowedDomains = len(l.Network.AllowedDomains) > 0, l.Network.AllowedDomains
	p.Approvers, p.Forbidden = l.Approvals.Approvers, l.Approvals.Forbidden
	p.MaxApprovalAge = l.Approvals.MaxAge
	p.AllowSelfApproval = l.Approvals.AllowSelfApproval
	p.RequireSignature = l.Approvals.RequireSignature
	p.AllowedSigners = l.AllowedSigners
	p.MinApprovers = l.Approvals.MinApprovers
	p.RequirePlan = l.Approvals.RequirePlan
	p.ShellAllow = l.ShellAllow
	p.ArtifactTypes = l.Results.ArtifactTypes
	p.Strict = l.Results.Judgement == JudgementStrict
	p.MaxStreamLines = l.Results.StreamLines
	p.Levels = map[string]schemas.Severity{}
	for _, v := range l.Validators {
		p.Levels[v.Rule] = v.Enforcement
	}
	return p
}

// Rules is the digest of all that a request is judged by and would run as: this program, the configuration, the
// signers and what the images hold. If it has changed, the same request may get another verdict.
func (l *Node) Rules() string {
	info, _ := debug.ReadBuildInfo()
	raw, err := json.Marshal(struct {
		Program    string
		Config     Config
		Signers    []byte
		Programs   map[string][]string
		Registries map[string][]byte
	}{fmt.Sprint(info), l.Config, l.AllowedSigners, l.Programs, l.Registries})
	if err != nil {
		return "" // no admission has this one: each is judged anew
	}
	return schemas.SHA256(raw)
}

// ImageDigests are the images by the names of their languages, at most so many of them.
func (l *Node) ImageDigests(most int) map[string]string {
	images := map[string]string{}
	if l.Backends.Monty.Image != "" {
		images[string(schemas.BackendMonty)] = l.Backends.Monty.Image
	}
	for _, name := range slices.Sorted(maps.Keys(l.Backends.ERA.Languages)) {
		if len(images) < most {
			images[name] = l.Backends.ERA.Languages[name].Image
		}
	}
	return images
}

// SlotLimits are the limits that all runs have in common, and for the others
// the most that a request may ask for.
func (l *Node) SlotLimits() executors.Limits {
	p := l.Policy(time.Time{})
	return l.TaskLimits(&schemas.Request{MilliCPU: p.MaxMilliCPU, MemoryLimitMB: p.MaxMemoryMB,
		TimeLimitSec: p.MaxTimeSec})
}

// TaskLimits are the limits of a run of req: what it asks for, and the node's
// for what a request can't name.
func (l *Node) TaskLimits(req *schemas.Request) executors.Limits {
	m := l.Limits
	limits := executors.Limits{
		MilliCPU:    req.MilliCPU,
		MemoryBytes: int64(req.MemoryLimitMB) << 20,
		Time:        time.Duration(req.TimeLimitSec) * time.Second,
		CPUTime:     time.Duration(m.CPUTimeSec) * time.Second,
		Pids:        m.Pids,
		OpenFiles:   m.OpenFiles,
		OutBytes:    int64(m.OutMB) << 20,
		OutFiles:    m.OutFiles,
		TmpBytes:    int64(m.TmpMB) << 20,
		StdoutBytes: int64(m.StreamKB) << 10,
		StderrBytes: int64(m.StreamKB) << 10,
	}
	if l.Registry(req) != nil {
		l.Tools.Profiles[req.Language].Limits.over(&limits)
	}
	return limits
}

// PlanOf is what would run of a request whose digest is sum and whose inputs have these hashes, with the limits and
// domains of its task.
func (l *Node) PlanOf(req *schemas.Request, sum string, inputs map[string]string, limits executors.Limits,
	domains []string) approval.Plan {
	p := approval.Plan{Version: approval.PlanVersion, RequestID: req.RequestID, RequestSHA256: sum,
		Inputs: []approval.PlanInput{}, Backend: string(req.Backend), Language: req.Language,
		Image: l.Backends.Monty.Image, Runtime: l.Containerd.Runtime, Network: string(req.Network), Domains: []string{},
		Registry: RegistryDigest(l.Registry(req)), Rules: schemas.RulesVersion()}
	for _, path := range slices.Sorted(maps.Keys(inputs)) {
		p.Inputs = append(p.Inputs, approval.PlanInput{Path: path, SHA256: inputs[path]})
	}
	if req.Backend != schemas.BackendMonty || !schemas.PlainMonty(req.Language) {
		lang := l.Backends.ERA.Languages[l.ImageName(req.Language)]
		p.Image = lang.Image
		if lang.ExecTmp {
			p.Runtime += ", /tmp executable"
		}
	}
	if req.Network == schemas.NetworkAllowlist {
		p.Domains = append(p.Domains, slices.Sorted(slices.Values(domains))...)
	}
	add := func(name string, value int64) {
		p.Limits = append(p.Limits, approval.PlanLimit{Name: name, Value: value})
	}
	add("milli_cpu", int64(limits.MilliCPU))
	add("memory_bytes", limits.MemoryBytes)
	add("time_sec", int64(limits.Time/time.Second))
	add("cpu_time_sec", int64(limits.CPUTime/time.Second))
	add("pids", int64(limits.Pids))
	add("open_files", int64(limits.OpenFiles))
	add("out_bytes", limits.OutBytes)
	add("out_files", int64(limits.OutFiles))
	add("tmp_bytes", limits.TmpBytes)
	add("stdout_bytes", limits.StdoutBytes)
	add("stderr_bytes", limits.StderrBytes)
	return p
}
