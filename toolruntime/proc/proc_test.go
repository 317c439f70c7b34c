package proc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
	"github.com/threegate/tool-exec/validate/secrets"
)

// call runs shell_exec where sh, cat, head and sleep are allowed.
func call(t *testing.T, args shellArgs) (shellResult, *contract.Error) {
	t.Helper()
	r, err := registry.Parse([]byte("version: 1\nshell_allow: ['^(sh|cat|head|sleep|pwd|none)(\\s|$)']"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Tools(w, r)[1].Prepare(raw)
	if err != nil {
		return shellResult{}, contract.AsError(err)
	}
	result, err := c.Run(t.Context())
	if err != nil {
		return result.(shellResult), contract.AsError(err)
	}
	return result.(shellResult), nil
}

func TestShell(t *testing.T) {
	stdin := "from stdin"
	t.Setenv("SOME_TOKEN", "hidden")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	for name, c := range map[string]struct {
		args shellArgs
		want shellResult
	}{
		"streams":     {shellArgs{Cmd: "sh -c 'echo out; echo err >&2'"}, shellResult{Stdout: "out\n", Stderr: "err\n"}},
		"code":        {shellArgs{Cmd: "sh -c 'exit 3'"}, shellResult{Code: 3}},
		"signal":      {shellArgs{Cmd: "sh -c 'kill -9 $$'"}, shellResult{Code: 137}},
		"stdin":       {shellArgs{Cmd: "cat", Stdin: &stdin}, shellResult{Stdout: stdin}},
		"no stdin":    {shellArgs{Cmd: "cat"}, shellResult{}},
		"environment": {shellArgs{Cmd: `sh -c 'echo $NO_COLOR$SOME_TOKEN$HTTP_PROXY'`, Env: map[string]string{"NO_COLOR": "1"}}, shellResult{Stdout: "1\n"}},
		"no UTF-8":    {shellArgs{Cmd: `sh -c 'printf "\377"'`}, shellResult{Stdout: "\uFFFD"}},
	} {
		c.want.ran = true
		if got, err := call(t, c.args); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	for name, c := range map[string]struct {
		args shellArgs
		want contract.Code
	}{
		"not allowed":      {shellArgs{Cmd: "ls"}, contract.Policy},
		"chained":          {shellArgs{Cmd: "cat; ls"}, contract.Policy},
		"no program":       {shellArgs{Cmd: "none"}, contract.Shell},
		"must succeed":     {shellArgs{Cmd: "sh -c 'exit 3'", MustSucceed: true}, contract.Shell},
		"cwd outside":      {shellArgs{Cmd: "pwd", Cwd: ".."}, contract.Policy},
		"cwd missing":      {shellArgs{Cmd: "pwd", Cwd: "none"}, contract.FileIO},
		"network":          {shellArgs{Cmd: "pwd", AllowNetwork: true}, contract.Policy},
		"LD_PRELOAD":       {shellArgs{Cmd: "pwd", Env: map[string]string{"LD_PRELOAD": "/x"}}, contract.Policy},
		"PATH":             {shellArgs{Cmd: "pwd", Env: map[string]string{"PATH": "."}}, contract.Policy},
		"GIT_CONFIG_COUNT": {shellArgs{Cmd: "pwd", Env: map[string]string{"GIT_CONFIG_COUNT": "1"}}, contract.Policy},
	} {
		if got, err := call(t, c.args); err == nil || err.Code != c.want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	if got, _ := call(t, shellArgs{Cmd: "sh -c 'echo kept; exit 3'", MustSucceed: true}); got.Stdout != "kept\n" || !got.WithError() {
		t.Errorf("what a failed command wrote: %+v", got)
	}
}

func TestOutputIsBounded(t *testing.T) {
	got, err := call(t, shellArgs{Cmd: fmt.Sprintf("head -c %d /dev/zero", MaxOutput+1)})
	if err != nil || len(got.Stdout) != MaxOutput || !got.Truncated {
		t.Errorf("%d bytes, %v, %v", len(got.Stdout), got.Truncated, err)
	}
	if got, err := call(t, shellArgs{Cmd: fmt.Sprintf("head -c %d /dev/zero", MaxOutput)}); err != nil || got.Truncated {
		t.Errorf("%v, %v", got.Truncated, err)
	}
}

// TestNothingOutlivesACall starts a process in the background, which holds the streams open.
func TestNothingOutlivesACall(t *testing.T) {
	got, err := call(t, shellArgs{Cmd: "sh -c 'sleep 100000 & echo $!'"})
	if err != nil {
		t.Fatal(err)
	}
	gone(t, strings.TrimSpace(got.Stdout))
}

func TestTimeout(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	out, err := Run(ctx, Command{Argv: []string{"sh", "-c", "sleep 100000 & echo $!; sleep 100000"}, Dir: t.TempDir()})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%+v, %v", out, err)
	}
	if pid := strings.TrimSpace(out.Stdout); pid != "" {
		gone(t, pid)
	}
}

// gone waits until a process is no more, or a zombie.
func gone(t *testing.T, pid string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %s still runs", pid)
}

// finding is a registry of a host that finds secrets.
var finding = &registry.Registry{Secrets: secrets.Finder{}}

func TestProcList(t *testing.T) {
	got, err := list(t.Context(), finding, listArgs{Filter: `\.test`, Limit: 1000})
	if err != nil || !slices.ContainsFunc(got.Processes, func(p Process) bool { return p.PID == os.Getpid() && p.MemMB > 0 }) {
		t.Errorf("this process is not in %+v, %v", got, err)
	}
	if got, err := list(t.Context(), finding, listArgs{Limit: 1}); err != nil || len(got.Processes) != 1 || !got.Truncated {
		t.Errorf("got %+v, %v", got, err)
	}
	blind, err := list(t.Context(), registry.Default(), listArgs{Filter: `\.test`, Limit: 1})
	if err != nil || len(blind.Processes) != 1 || strings.ContainsAny(blind.Processes[0].Cmd, " -") {
		t.Errorf("without a finder: %+v, %v", blind, err)
	}
	if _, err := list(t.Context(), finding, listArgs{Filter: "(", Limit: 1}); contract.AsError(err).Code != contract.Validation {
		t.Errorf("got %v", err)
	}
	for cmd, want := range map[string]string{"mysql -ptop -h db": "mysql -p" + secrets.Mask + " -h db",
		"env PGPASSWORD=top psql": "env PGPASSWORD=" + secrets.Mask + " psql", "x --password top": "x --password " + secrets.Mask,
		"python -m pytest": "python -m pytest", "cp -pr a b": "cp -p" + secrets.Mask + " a b"} { // better one too many
		if got := mask(cmd, secrets.Finder{}); got != want {
			t.Errorf("%q is %q", cmd, got)
		}
	}
	token := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	if got := mask("tool --token "+token+" -v", secrets.Finder{}); strings.Contains(got, token[4:20]) || !strings.HasSuffix(got, " -v") {
		t.Errorf("got %q", got)
	}
}
