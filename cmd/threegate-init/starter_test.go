package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// awaitStat waits until /proc/PID/stat holds something.
func awaitStat(t *testing.T, pid int, want string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if st, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(st), want) {
			return
		}
	}
	t.Fatalf("process %d never was %q", pid, want)
}

// underStarter runs a job in an init that has a starter, and tells the starter's pid to
// meanwhile, if that is not nil, before there is a job.
func underStarter(t *testing.T, s job.Spec, meanwhile func(dir string, starter int)) (job.Result, string) {
	t.Helper()
	cmd, dir := initCommand(t, nil)
	nudge := pipe(t, filepath.Join(dir, job.NudgeFile))
	a := job.Ahead{Env: spec("").Env}
	if err := writeJSON(dir, job.AheadFile, a); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	starter := awaitChild(t, cmd.Process.Pid, func(stat string) bool { return strings.Contains(stat, ") S ") })
	if meanwhile != nil {
		meanwhile(dir, starter)
	}
	if err := writeJSON(dir, job.SpecFile, s); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(nudge, "."); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the result has its code
	if reason, err := os.ReadFile(filepath.Join(dir, job.FailureFile)); err == nil {
		t.Fatalf("init failed: %s", reason)
	}
	if _, err := os.Stat(filepath.Join(dir, job.StartedFile)); err != nil {
		t.Error("it does not say that the job has begun:", err)
	}
	out, err := os.ReadFile(filepath.Join(dir, job.StdoutFile))
	if err != nil {
		t.Fatal(err)
	}
	return result(t, dir), string(out)
}

// What a starter executes is what init would have executed without one: identity,
// session, streams, folder, environment, limits and nothing else open.
func TestStarter(t *testing.T) {
	const show = `echo $X; pwd; id -u; id -G; cat /proc/self/oom_score_adj; ulimit -t; readlink /proc/self/fd/0
		echo /proc/self/fd/*; cut -d ' ' -f 6 /proc/$$/stat | grep -qx $$ && echo leader; grep -E 'SigBlk|SigIgn|SigCgt' /proc/self/status`
	s := spec("sh", "-c", show)
	s.Dir = "/usr"
	var waiting int
	r, with := underStarter(t, s, func(_ string, starter int) { waiting = starter })
	if r.ExitCode != 0 || r.CPU <= 0 || waiting == 0 {
		t.Errorf("%+v", r)
	}
	cmd, dir := initCommand(t, s)
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	without, err := os.ReadFile(filepath.Join(dir, job.StdoutFile))
	if err != nil || with != string(without) || !strings.Contains(with, fmt.Sprintf("1\n/usr\n%d\n%d\n1000\n", job.PayloadUID, job.PayloadGID)) {
		t.Errorf("with a starter:\n%swithout:\n%s%v", with, without, err)
	}
}

// Every job that a starter can't serve is served all the same, and what can't be executed
// is told as without one.
func TestStarterCanNot(t *testing.T) {
	long := strings.Repeat("x", maxOrderText)
	many := append([]string{"sh", "-c", `echo $#`}, make([]string, maxOrderArgs)...)
	put := func(dir string, _ int) {
		if err := os.WriteFile(filepath.Join(dir, job.StdinFile), []byte("input"), 0o600); err != nil {
			t.Error(err)
		}
	}
	kill := func(_ string, starter int) {
		if err := unix.Kill(starter, unix.SIGKILL); err != nil {
			t.Error(err)
		}
		awaitStat(t, starter, ") Z ")
	}
	for name, tt := range map[string]struct {
		spec      job.Spec
		meanwhile func(dir string, starter int)
		stdout    string
		code      int
		errno     unix.Errno
	}{
		"a long command":   {spec: spec("sh", "-c", `printf %.2s "$1"`, "sh", long), stdout: "xx"},
		"a long list":      {spec: spec(many...), stdout: fmt.Sprintln(maxOrderArgs - 1)},
		"an input":         {spec: spec("cat"), meanwhile: put, stdout: "input"},
		"it died":          {spec: spec("echo", "all the same"), meanwhile: kill, stdout: "all the same\n"},
		"no such program":  {spec: spec("no-such-program"), code: job.ExitNotFound, errno: unix.ENOENT},
		"not executable":   {spec: spec("/etc/passwd"), code: job.ExitNotExec, errno: unix.EACCES},
		"no such folder":   {spec: func() job.Spec { s := spec("true"); s.Dir = "/none"; return s }(), code: job.ExitNotFound, errno: unix.ENOENT},
		"no string at all": {spec: spec("echo", "a\x00b"), code: job.ExitNotExec, errno: unix.EINVAL},
	} {
		t.Run(name, func(t *testing.T) {
			r, out := underStarter(t, tt.spec, tt.meanwhile)
			if r.ExitCode != tt.code || r.StartErrno != tt.errno || out != tt.stdout {
				t.Errorf("it ended with %d, errno %d, and said %q", r.ExitCode, r.StartErrno, out)
			}
		})
	}
}
