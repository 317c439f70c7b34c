package e2e

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// planCall is a call of a plan, as far as a command goes.
type planCall struct {
	Tool string `json:"tool"`
	Args struct {
		Cmd         string `json:"cmd"`
		MustSucceed bool   `json:"must_succeed"`
	} `json:"args"`
}

// checks are the commands of a plan that must succeed. On the base, those fail that the plan runs before it changes
// anything.
func checks(t *testing.T, inputs string) (cmds []string, failsBefore map[string]bool) {
	t.Helper()
	failsBefore = map[string]bool{}
	for line := range strings.Lines(read(t, filepath.Join(inputs, "plan.jsonl"))) {
		var c planCall
		must(t, json.Unmarshal([]byte(line), &c))
		if c.Tool != "shell_exec" {
			continue
		}
		if c.Args.MustSucceed {
			cmds = append(cmds, c.Args.Cmd)
		} else {
			failsBefore[c.Args.Cmd] = true
		}
	}
	if len(cmds) == 0 {
		t.Error("the plan has no check of what it did")
	}
	return cmds, failsBefore
}

// onHost runs a command of a plan in a folder of this machine, outside of any sandbox.
func onHost(t *testing.T, dir, cmd string) (string, error) {
	t.Helper()
	words := strings.Fields(cmd)
	if words[0] == "python" {
		words[0] = "python3"
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}
