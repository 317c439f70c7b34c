package container

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/schemas"
)

const (
	// wordsTime bounds how long a runtime may take to say why it makes no sandbox.
	wordsTime = 20 * time.Second
	// maxWords is how many bytes of that are told.
	maxWords = 500
	// maxSaid is how many bytes are read of each thing that it wrote.
	maxSaid = 1 << 20
)

// fatal is a line of gVisor's logs, of which each of its processes has one: the first that gave up says why.
var fatal = regexp.MustCompile(`(?m)^W\d{4} ([\d:.]+) .*\] FATAL ERROR: (.*)$`)

// explain adds to err what the runtime says itself about a sandbox that it does not make. containerd drops what a
// runtime writes to stderr, and its log: so it is asked once more, without containerd. Nothing of a request runs.
func (e *Executor) explain(ctx context.Context, err error, spec *specs.Spec, id string) error {
	if e.binary == "" || ctx.Err() != nil { // a shim of its own
		return err
	}
	said, werr := e.words(ctx, spec, id)
	switch {
	case werr != nil:
		err = fmt.Errorf("%w (and it can't be asked why: %w)", err, werr)
	case said != "" && !strings.Contains(err.Error(), said):
		err = fmt.Errorf("the runtime says: %s (%w)", said, err)
	}
	return executors.WithHint(err, "mend what the runtime "+e.binary+" names; threegate doctor tries a sandbox of it. "+
		"Without containerd.runtime_binary the node uses runc")
}

// words are the last ones of a runtime that is to make this sandbox, or "" if it makes it.
func (e *Executor) words(ctx context.Context, spec *specs.Spec, id string) (_ string, err error) {
	dir, err := os.MkdirTemp(e.cfg.RunDir, "words-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	config, err := json.Marshal(spec)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600)
	}
	if err != nil {
		return "", err
	}
	args := []string{"--root", filepath.Join(dir, "state"), "--log", filepath.Join(dir, "log"), "--log-format", "json"}
	if strings.Contains(e.runtime, "runsc") {
		args = append(args, "--debug-log", filepath.Join(dir, "debug")+"/")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wordsTime)
	defer cancel()
	failed := e.ask(ctx, filepath.Join(dir, "said"), append(args, "create", "--bundle", dir, id)...)
	// What it has begun is removed, also what it says that it did not make.
	_ = e.ask(ctx, filepath.Join(dir, "deleted"), append(args[:6:6], "delete", "--force", id)...)
	if failed == nil {
		return "", nil
	}
	return oneLine(cmp.Or(firstFatal(dir), lastLine(filepath.Join(dir, "said")), lastLogged(filepath.Join(dir, "log")),
		failed.Error())), nil
}

// ask calls the runtime; what it writes goes to a file, as a sandbox that it makes would hold a pipe open.
func (e *Executor) ask(ctx context.Context, to string, args ...string) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	cmd := exec.CommandContext(ctx, e.binary, args...)
	cmd.Stdout, cmd.Stderr = f, f
	return cmd.Run()
}

// firstFatal is the first line by which a process of gVisor gave up. The others ended because of that.
func firstFatal(dir string) string {
	logs, _ := filepath.Glob(filepath.Join(dir, "debug", "*"))
	var all [][]string
	for _, log := range logs {
		all = append(all, fatal.FindAllStringSubmatch(beginning(log), -1)...)
	}
	if len(all) == 0 {
		return ""
	}
	return slices.MinFunc(all, func(a, b []string) int { return strings.Compare(a[1], b[1]) })[2]
}

func lastLine(file string) string {
	all := strings.Split(strings.TrimSpace(beginning(file)), "\n")
	return all[len(all)-1]
}

// lastLogged is the last error of a log in JSON, as runc writes it.
func lastLogged(file string) (last string) {
	for line := range strings.Lines(beginning(file)) {
		var e struct {
			Level string `json:"level"`
			Msg   string `json:"msg"`
		}
		if schemas.DecodeOpen([]byte(line), &e) == nil && e.Level == "error" {
			last = e.Msg
		}
	}
	return last
}

// beginning is what a file of the runtime holds, or as much of it as is read.
func beginning(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, maxSaid)
	n, _ := f.Read(b)
	return string(b[:n])
}

// oneLine is text as it can stand in a message.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
	if len(s) > maxWords {
		s = strings.ToValidUTF8(s[:maxWords], "") + "…"
	}
	return s
}

// RuntimeVersion is the first line of what an OCI runtime says of its version. If it can't, the error has its last
// words.
func RuntimeVersion(ctx context.Context, binary string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, "--version").Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		all := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
		err = fmt.Errorf("%w: %s", err, oneLine(all[len(all)-1]))
	}
	if err != nil {
		return "", fmt.Errorf("ask the runtime %s for its version: %w", binary, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line), nil
}
