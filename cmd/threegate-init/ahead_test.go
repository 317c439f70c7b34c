package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors/job"
)

// A payload that waits for its input is started before the job, and serves the one
// that it is for; it has no part in any other, nor has one that died meanwhile.
func TestStartedAhead(t *testing.T) {
	env := spec("cat").Env
	waits := job.Ahead{For: []string{"cat"}, Env: env, Argv: []string{"sh", "-c", "echo ahead; id -u; cut -d ' ' -f 1 < /proc/self/oom_score_adj; pwd; cat"}}
	dies := job.Ahead{For: []string{"cat"}, Env: env, Argv: []string{"true"}}
	none := job.Ahead{For: []string{"cat"}, Env: env, Argv: []string{"no-such-program"}}
	served := fmt.Sprintf("ahead\n%d\n1000\n/\ninput", job.PayloadUID)
	for name, tt := range map[string]struct {
		ahead job.Ahead
		spec  job.Spec
		want  string
	}{
		"its job":             {waits, spec("cat"), served},
		"another job":         {waits, spec("sh", "-c", "pgrep cat; cat"), "input"},
		"another environment": {waits, func() job.Spec { s := spec("cat"); s.Env = append(s.Env, "Y=2"); return s }(), "input"},
		"it died":             {dies, spec("cat"), "input"},
		"it is not there":     {none, spec("cat"), "input"},
		"no process at all":   {job.Ahead{}, spec("cat"), "input"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, dir := initCommand(t, nil)
			nudge := pipe(t, filepath.Join(dir, job.NudgeFile))
			if err := writeJSON(dir, job.AheadFile, tt.ahead); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, job.StdinFile), []byte("input"), 0o600); err != nil {
				t.Fatal(err)
			}
			if len(tt.ahead.Argv) > 0 {
				awaitChildren(t, cmd.Process.Pid, &tt.ahead)
			} else {
				await(t, filepath.Join(dir, job.StdoutFile), "")
			}
			if _, err := os.Stat(filepath.Join(dir, job.StartedFile)); err == nil {
				t.Error("it says that the job has begun")
			}
			if err := writeJSON(dir, job.SpecFile, tt.spec); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(nudge, "."); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				reason, _ := os.ReadFile(filepath.Join(dir, job.FailureFile))
				t.Fatalf("%v: %s", err, reason)
			}
			if out, err := os.ReadFile(filepath.Join(dir, job.StdoutFile)); err != nil || string(out) != tt.want {
				t.Errorf("stdout %q, not %q, %v", out, tt.want, err)
			}
			if r := result(t, dir); r.Wall <= 0 || r.CPU <= 0 || r.ExitCode != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// awaitChildren waits until init has started what it is to start ahead, and until that
// has ended if it is to end.
func awaitChildren(t *testing.T, pid int, a *job.Ahead) {
	t.Helper()
	if a.Argv[0] == "no-such-program" {
		return
	}
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, l := range lists {
			data, _ := os.ReadFile(l)
			for _, child := range strings.Fields(string(data)) {
				st, _ := os.ReadFile("/proc/" + child + "/stat")
				if zombie := strings.Contains(string(st), ") Z "); zombie || a.Argv[0] == "sh" {
					return
				}
			}
		}
	}
	t.Fatal("nothing was started ahead of the job")
}
