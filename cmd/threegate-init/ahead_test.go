package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// A payload that waits for its input is started before the job, and serves the one
// that it is for; it has no part in any other, nor has one that died meanwhile.
func TestStartedAhead(t *testing.T) {
	env := spec("cat").Env
	waits := job.Ahead{For: []string{"cat"}, Env: env, Argv: []string{"sh", "-c", "echo ahead; id -u; cut -d ' ' -f 1 < /proc/self/oom_score_adj; pwd; cat"}}
	stays := job.Ahead{For: []string{"cat"}, Env: env, Argv: []string{"sleep", "60"}} // also without its input
	dies := job.Ahead{For: []string{"cat"}, Env: env, Argv: []string{"true"}}
	none := job.Ahead{For: []string{"cat"}, Env: env, Argv: []string{"no-such-program"}}
	served := fmt.Sprintf("ahead\n%d\n1000\n/\ninput", job.PayloadUID)
	for name, tt := range map[string]struct {
		ahead job.Ahead
		spec  job.Spec
		want  string
	}{
		"its job":             {waits, spec("cat"), served},
		"another job":         {stays, spec("sh", "-c", "kill -0 AHEAD && echo it lives; cat"), "input"},
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
			if len(tt.ahead.Argv) > 0 && tt.ahead.Argv[0] != "no-such-program" {
				pid := pidInside(t, awaitAhead(t, cmd.Process.Pid, tt.ahead.Argv[0]))
				for i := range tt.spec.Argv {
					tt.spec.Argv[i] = strings.ReplaceAll(tt.spec.Argv[i], "AHEAD", pid)
				}
			} else {
				await(t, filepath.Join(dir, job.StdoutFile), "")
			}
			handOver(t, dir, nudge, tt.spec)
			begin(t, dir, nudge)
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

// worldDir is as t.TempDir, but for the payload's user too.
func worldDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "threegate-world-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// handOver gives a job to an init that waits for one, which must not begin it.
func handOver(t *testing.T, dir string, nudge *os.File, s job.Spec) {
	t.Helper()
	if err := writeJSON(dir, job.SpecFile, s); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(nudge, "."); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, job.StartedFile)); err == nil {
		t.Error("it says that the job has begun")
	}
}

// begin lets the job begin that an init has.
func begin(t *testing.T, dir string, nudge *os.File) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, job.BeginFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(nudge, "."); err != nil {
		t.Fatal(err)
	}
}

// A payload that waits has all of its input before the job may begin, but not the word
// behind it. If it ends before by itself that is the end of the job: init could start no
// other. If it is killed there is none, so that nobody takes it for one.
func TestTakesItsJobBeforeItBegins(t *testing.T) {
	const word = "the word\n"
	for name, tt := range map[string]struct {
		input  int
		then   string // what it does once it has the first bytes
		code   int
		stdout int // bytes, the word at their end
	}{
		"goes on":                  {100, "cat", 0, 100 - 5 + len(word)},
		"more than its pipe holds": {3 * pipeBytes, "cat", 0, 3*pipeBytes - 5 + len(word)},
		"ends before":              {100, "exit 7", 7, 0},
		"is killed before":         {100, "kill -9 $$", job.ExitInit, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec("cat")
			s.StdoutBytes = 1 << 20
			cmd, dir := initCommand(t, nil)
			nudge := pipe(t, filepath.Join(dir, job.NudgeFile))
			world := worldDir(t)
			got, ended := filepath.Join(world, "got"), filepath.Join(world, "ended")
			waits := job.Ahead{For: s.Argv, Env: s.Env, Word: word, Argv: []string{"sh", "-c", fmt.Sprintf("head -c 5 > %s.new && mv %[1]s.new %[1]s; %s; touch %s", got, tt.then, ended)}}
			if err := writeJSON(dir, job.AheadFile, waits); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, job.StdinFile), []byte(strings.Repeat("x", tt.input)), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			awaitAhead(t, cmd.Process.Pid, "sh")
			handOver(t, dir, nudge, s)
			await(t, got, "xxxxx")
			if tt.code != 0 {
				awaitZombie(t, cmd.Process.Pid)
			}
			if _, err := io.WriteString(nudge, "."); err != nil { // says nothing
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond)
			for _, f := range []string{ended, filepath.Join(dir, job.StartedFile), filepath.Join(dir, job.ResultFile)} {
				if _, err := os.Stat(f); err == nil {
					t.Errorf("%s is there before the job may begin", filepath.Base(f))
				}
			}
			begin(t, dir, nudge)
			err := cmd.Wait()
			reason, _ := os.ReadFile(filepath.Join(dir, job.FailureFile))
			if code(err) != tt.code {
				t.Fatalf("%v: %s", err, reason)
			}
			if tt.code == job.ExitInit {
				if _, err := os.Stat(filepath.Join(dir, job.StartedFile)); err == nil || !strings.Contains(string(reason), "was killed") {
					t.Errorf("it says %q, and whether it began: %v", reason, err)
				}
				return
			}
			out, err := os.ReadFile(filepath.Join(dir, job.StdoutFile))
			if r := result(t, dir); err != nil || r.ExitCode != tt.code || len(out) != tt.stdout || !strings.HasSuffix(string(out), word[:min(len(word), tt.stdout)]) {
				t.Errorf("%+v, %d bytes of stdout, %v", r, len(out), err)
			}
		})
	}
}

// awaitZombie waits until a child of init has ended that nobody has collected.
func awaitZombie(t *testing.T, init int) {
	t.Helper()
	awaitChild(t, init, "the payload has not ended", zombie)
}

// awaitAhead waits until init has started a program ahead, and until that has ended if it
// is true, and gives its pid.
func awaitAhead(t *testing.T, init int, program string) int {
	t.Helper()
	return awaitChild(t, init, program+" was not started ahead of the job", func(stat string) bool {
		// Before it executes the program it has another name.
		return strings.Contains(stat, "("+program+") ") && (zombie(stat) || program != "true")
	})
}

func zombie(stat string) bool { return strings.Contains(stat, ") Z ") }

// awaitChild waits until init has a child whose line in /proc is as it is to be, and gives its pid.
func awaitChild(t *testing.T, init int, otherwise string, is func(stat string) bool) int {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", init))
		for _, l := range lists {
			data, _ := os.ReadFile(l)
			for _, child := range strings.Fields(string(data)) {
				if stat, _ := os.ReadFile("/proc/" + child + "/stat"); is(string(stat)) {
					pid, err := strconv.Atoi(child)
					if err != nil {
						t.Fatal(err)
					}
					return pid
				}
			}
		}
	}
	t.Fatal(otherwise)
	return 0
}

// pidInside is the pid of a process in its own pid namespace.
func pidInside(t *testing.T, pid int) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); f[0] == "NSpid:" {
			return f[len(f)-1]
		}
	}
	t.Fatalf("process %d has no NSpid", pid)
	return ""
}

// One that does not read its input ends at the time limit, also if its pipe is small.
func TestAheadDoesNotRead(t *testing.T) {
	s := spec("cat")
	s.Time = 300 * time.Millisecond
	cmd, dir := initCommand(t, nil)
	nudge := pipe(t, filepath.Join(dir, job.NudgeFile))
	if err := writeJSON(dir, job.AheadFile, job.Ahead{For: s.Argv, Env: s.Env, Argv: []string{"sleep", "10"}}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stdin, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", awaitAhead(t, cmd.Process.Pid, "sleep")), os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = unix.FcntlInt(stdin.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	if err = errors.Join(err, stdin.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, job.StdinFile), make([]byte, pipeBytes/2), 0o600); err != nil {
		t.Fatal(err)
	}
	handOver(t, dir, nudge, s)
	begin(t, dir, nudge)
	if got := code(cmd.Wait()); got != job.ExitTime {
		t.Errorf("exit code %d", got)
	}
	if r := result(t, dir); !r.TimedOut {
		t.Errorf("%+v", r)
	}
}

// What could not be started ahead, or was not for the job, holds no descriptor.
func TestAheadLeavesNothingOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes files, but never in init
	p := sandboxed
	p.dir = t.TempDir()
	p.isolate = func(job.Spec) error { return nil }
	p.user = func() (uint32, uint32, error) { return job.PayloadUID, job.PayloadGID, nil }
	for _, program := range []string{"no-such-program", "sleep"} {
		if err := writeJSON(p.dir, job.AheadFile, job.Ahead{Env: spec().Env, Argv: []string{program, "60"}}); err != nil {
			t.Fatal(err)
		}
		var before int
		for i := range 3 { // the first leaves what the runtime keeps
			a, err := startAhead(p)
			if err != nil || (a == nil) != (program == "no-such-program") {
				t.Fatalf("%s: %v, %v", program, a, err)
			}
			if a != nil {
				p.killAll = func() { _ = unix.Kill(a.pid, unix.SIGKILL) }
				if err := a.discard(p); err != nil {
					t.Fatal(err)
				}
			}
			open, err := os.ReadDir("/proc/self/fd")
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 && len(open) != before {
				t.Errorf("%s: %d descriptors, and %d before", program, len(open), before)
			}
			before = len(open)
		}
	}
}
