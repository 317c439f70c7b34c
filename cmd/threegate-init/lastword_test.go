package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// A payload that says how it ends is halted and not waited for, and what it wrote until then
// is whole. One that leaves files is waited for; how it ends is as it said. Without a word it
// ends as any does.
func TestLastWord(t *testing.T) {
	const much = 3*pipeBytes + 5 // more than its pipe holds
	const busy = "while :; do :; done & "
	for name, tt := range map[string]struct {
		does   string
		want   job.Result // Halted, ExitCode, Signal, TimedOut
		stdout int
	}{
		"says it":                  {busy + fmt.Sprintf("head -c %d /dev/zero; ", much) + `printf '\3' >&3; echo late >&2; sleep 60`, job.Result{ExitCode: 3, Halted: true}, much},
		"says it and ends":         {busy + `printf '\377more' >&3; exit 4`, job.Result{ExitCode: 255, Halted: true}, 0},
		"left a file":              {`echo x > OUT/file; printf '\0' >&3; sleep 60`, job.Result{}, 0},
		"says nothing":             {"echo x; exit 4", job.Result{ExitCode: 4}, 2},
		"closes it":                {"exec 3>&-; echo x; exit 4", job.Result{ExitCode: 4}, 2},
		"is killed":                {"kill -9 $$", job.Result{ExitCode: 137, Signal: 9}, 0},
		"never ends, says nothing": {"sleep 60", job.Result{ExitCode: job.ExitTime, Signal: 9, TimedOut: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec("cat")
			s.StdoutBytes = 1 << 20
			if s.Time = 20 * time.Second; tt.want.TimedOut {
				s.Time = 200 * time.Millisecond
			}
			r, dir := runAhead(t, s, "cat > /dev/null; "+tt.does)
			got := job.Result{Halted: r.Halted, ExitCode: r.ExitCode, Signal: r.Signal, TimedOut: r.TimedOut}
			if got != tt.want {
				t.Errorf("%+v, not %+v", got, tt.want)
			}
			if (r.CPU > 0) == r.Halted || (r.OwnCPU > 0) != r.Halted || r.Wall <= 0 || r.Wall > 10*time.Second || (r.MaxRSS > 0) == r.Halted {
				t.Errorf("%+v", r)
			}
			if st, err := os.Stat(filepath.Join(dir, job.ResultFile)); err != nil || st.ModTime().Sub(r.FinishedAt) > drainTime/2 {
				t.Errorf("it ended at %v, and the result came at %v, %v", r.FinishedAt, st.ModTime(), err)
			}
			out, err := os.ReadFile(filepath.Join(dir, job.StdoutFile))
			if err != nil || len(out) != tt.stdout || r.Stdout.Total != int64(tt.stdout) || r.Stdout.Kept != r.Stdout.Total {
				t.Errorf("%d bytes of stdout, not %d: %+v, %v", len(out), tt.stdout, r.Stdout, err)
			}
		})
	}
}

// runAhead runs a shell script as a payload that was started ahead and may say a last word.
// OUT in it is the folder of the payload.
func runAhead(t *testing.T, s job.Spec, script string) (job.Result, string) {
	t.Helper()
	cmd, dir := initCommand(t, nil)
	nudge := pipe(t, filepath.Join(dir, job.NudgeFile))
	out := outDir(t, dir)
	a := job.Ahead{For: s.Argv, Env: s.Env, LastWord: true, Argv: []string{"sh", "-c", strings.ReplaceAll(script, "OUT", out)}}
	if err := writeJSON(dir, job.AheadFile, a); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitAhead(t, cmd.Process.Pid, "sh")
	handOver(t, dir, nudge, s)
	begin(t, dir, nudge)
	if err := cmd.Wait(); code(err) == job.ExitInit {
		reason, _ := os.ReadFile(filepath.Join(dir, job.FailureFile))
		t.Fatalf("%v: %s", err, reason)
	}
	return result(t, dir), dir
}

// outDir makes the folder of the payload, where its user can get to, and gives its path for it.
func outDir(t *testing.T, dir string) string {
	t.Helper()
	real := worldDir(t)
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(real, out, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(out, unix.MNT_DETACH) })
	return real
}

// A stream that is cut has all that was in its pipe, though somebody could still write.
func TestCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stream")
	p, err := newPump(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.closeWriteEnd()
	if n, err := p.writeEnd.Write(make([]byte, pipeBytes)); n != pipeBytes || err != nil {
		t.Fatal(n, err)
	}
	if err := p.readEnd.SetReadDeadline(time.Unix(1, 0)); err != nil { // it has read nothing yet
		t.Fatal(err)
	}
	go p.copy(pipeBytes - 1)
	p.cut()
	var s job.Stream
	if err := p.finish(&s); err != nil || s != (job.Stream{Total: pipeBytes, Kept: pipeBytes - 1}) {
		t.Errorf("%+v, %v", s, err)
	}
	if st, err := os.Stat(path); err != nil || st.Size() != pipeBytes-1 {
		t.Errorf("%v, %v", st, err)
	}
}

// What is halted does nothing any more once the result is there, if it did not arrange for
// more.
func TestHaltedDoesNothing(t *testing.T) {
	world := worldDir(t)
	// What it appends after the result has a later time than that.
	r, box := runAhead(t, spec("cat"), fmt.Sprintf(`cat > /dev/null; (while :; do echo x >> %s/log; done) & sleep 0.1; printf '\0' >&3; sleep 60`, world))
	var written, log unix.Stat_t
	if err := unix.Stat(filepath.Join(box, job.ResultFile), &written); err != nil {
		t.Fatal(err)
	}
	if err := unix.Stat(filepath.Join(world, "log"), &log); err != nil {
		t.Fatal(err)
	}
	if !r.Halted || time.Unix(log.Mtim.Unix()).After(time.Unix(written.Mtim.Unix())) {
		t.Errorf("%+v: it wrote until %v, the result was there at %v", r, log.Mtim, written.Mtim)
	}
}
