package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// dirVar makes the test binary act as init, in a pid namespace of its own but
// without the rest of a sandbox, with this folder for /gate.
const dirVar = "THREEGATE_INIT_TEST_DIR"

// nobodyVar makes it find no user for the payload.
const nobodyVar = "THREEGATE_INIT_TEST_NOBODY"

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVar); dir != "" {
		p := sandboxed
		p.dir = dir
		p.check = func(job.Payload) error { return nil }
		p.user = func() (uint32, uint32, error) { return job.PayloadUID, job.PayloadGID, nil }
		if os.Getenv(nobodyVar) != "" {
			p.user = func() (uint32, uint32, error) { return 0, 0, errors.New("/out is root's") }
		}
		p.isolate = func() error { return nil }
		os.Exit(supervise(p))
	}
	if withCgo() {
		fmt.Fprintln(os.Stderr, "error: threegate-init can't work with cgo, and neither can its tests\nhint: "+
			"CGO_ENABLED=0 go test, as make test does")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func withCgo() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "1"})
}

// initCommand is an init that has a payload, or waits for one if spec is nil.
func initCommand(t *testing.T, spec any) (*exec.Cmd, string) {
	t.Helper()
	dir := t.TempDir()
	if spec != nil {
		if err := writeJSON(dir, job.PayloadFile, spec); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{dirVar + "=" + dir, "GOMAXPROCS=1"}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
	return cmd, dir
}

func spec(argv ...string) job.Payload {
	return job.Payload{Argv: argv, Env: []string{"PATH=/usr/bin:/bin", "X=1"}, Dir: "/", Time: 10 * time.Minute,
		StdoutBytes: 1000, StderrBytes: 1000}
}

func result(t *testing.T, dir string) job.Exit {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, job.ExitFile))
	if err != nil {
		t.Fatal(err)
	}
	var r job.Exit
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func code(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -2
	}
	return 0
}

func TestRun(t *testing.T) {
	short := func(s job.Payload) job.Payload { s.Time = 2 * time.Second; return s }
	tests := []struct {
		name   string
		spec   job.Payload
		code   int
		check  func(r job.Exit) bool
		stdout string
	}{
		{"success", spec("sh", "-c", "echo $X; pwd"), 0, nil, "1\n/\n"},
		{"exit code", spec("sh", "-c", "exit 42"), 42, nil, ""},
		{"signal", spec("sh", "-c", "kill -TERM $$"), 143, func(r job.Exit) bool { return r.Signal == 15 }, ""},
		{"nobody in particular", spec("id", "-u"), 0, nil, fmt.Sprintln(job.PayloadUID)},
		{"no groups", spec("id", "-G"), 0, nil, fmt.Sprintln(job.PayloadGID)},
		{"empty stdin", spec("cat"), 0, nil, ""},
		{"time", short(spec("sleep", "100000")), job.ExitTime, func(r job.Exit) bool { return r.TimedOut }, ""},
		{"time, all ignored", short(spec("sh", "-c", "trap '' TERM INT HUP; echo x; while :; do sleep 1; done")),
			job.ExitTime, func(r job.Exit) bool { return r.TimedOut }, "x\n"},
		{"orphan that holds the pipe", spec("sh", "-c", "setsid sleep 100000 & echo gone"), 0, nil, "gone\n"},
		{"cut", spec("sh", "-c", "head -c 5000 /dev/zero | tr '\\0' a"), 0,
			func(r job.Exit) bool { return r.Stdout == job.Stream{Total: 5000, Kept: 1000} },
			strings.Repeat("a", 1000)},
		{"cut at nothing", func() job.Payload { s := spec("echo", "x"); s.StdoutBytes = 0; return s }(), 0,
			func(r job.Exit) bool { return r.Stdout == job.Stream{Total: 2} }, ""},
		{"not found", spec("no-such-program"), job.ExitNotFound,
			func(r job.Exit) bool { return r.StartErrno == unix.ENOENT }, ""},
		{"not executable", spec("/etc/passwd"), job.ExitNotExec,
			func(r job.Exit) bool { return r.StartErrno == unix.EACCES }, ""},
		{"a folder", spec("/etc"), job.ExitNotExec, func(r job.Exit) bool { return r.StartErrno == unix.EACCES }, ""},
		{"cpu time is counted", spec("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"), 0,
			func(r job.Exit) bool { return r.CPU > 10*time.Millisecond && r.MaxRSS > 0 }, ""},
		{"a score that the kernel prefers", spec("cat", "/proc/self/oom_score_adj"), 0, nil, "1000\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd, dir := initCommand(t, tt.spec)
			if got := code(cmd.Run()); got != tt.code {
				failure, _ := os.ReadFile(filepath.Join(dir, job.FailureFile))
				t.Fatalf("exit code %d, want %d; failure %q", got, tt.code, failure)
			}
			r := result(t, dir)
			if r.ExitCode != tt.code || tt.check != nil && !tt.check(r) {
				t.Errorf("%+v", r)
			}
			if r.StartedAt.IsZero() || r.FinishedAt.Before(r.StartedAt) {
				t.Errorf("times %v %v", r.StartedAt, r.FinishedAt)
			}
			out, err := os.ReadFile(filepath.Join(dir, job.StdoutFile))
			if err != nil || string(out) != tt.stdout {
				t.Errorf("stdout %q, %v", out, err)
			}
			var started job.Started
			data, err := os.ReadFile(filepath.Join(dir, job.StartedFile))
			if err == nil {
				err = json.Unmarshal(data, &started)
			}
			if err != nil || !started.At.Equal(r.StartedAt) || started.Monotonic <= 0 {
				t.Errorf("started %+v, %v", started, err)
			}
		})
	}
}

// TestTimeline: the third stream is there only for who is to have it, and is cut like the others.
func TestTimeline(t *testing.T) {
	const script = "echo 1234567 >&3; echo 1234567 >&3; echo said $?"
	for limit, want := range map[int64]struct {
		stream job.Stream
		kept   string
	}{0: {}, 1000: {job.Stream{Total: 16, Kept: 16}, "1234567\n1234567\n"}, 10: {job.Stream{Total: 16, Kept: 10}, "1234567\n12"}} {
		s := spec("sh", "-c", script)
		s.TimelineBytes = limit
		cmd, dir := initCommand(t, s)
		if got := code(cmd.Run()); got != 0 {
			t.Errorf("limit %d: exit code %d", limit, got)
		}
		kept, err := os.ReadFile(filepath.Join(dir, job.TimelineFile))
		if r := result(t, dir); r.Timeline != want.stream || string(kept) != want.kept || (err == nil) != (limit > 0) {
			t.Errorf("limit %d: %+v, %q, %v", limit, r.Timeline, kept, err)
		}
		out, _ := os.ReadFile(filepath.Join(dir, job.StdoutFile))
		if there := string(out) == "said 0\n"; there != (limit > 0) {
			t.Errorf("limit %d: %q", limit, out)
		}
	}
}

func TestStdin(t *testing.T) {
	cmd, dir := initCommand(t, spec("cat"))
	// Root's alone: the payload gets it open.
	if err := os.WriteFile(filepath.Join(dir, job.StdinFile), []byte("from the gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if out, _ := os.ReadFile(filepath.Join(dir, job.StdoutFile)); string(out) != "from the gate" {
		t.Errorf("stdout %q", out)
	}
}

// A host that asks for the end gets what was written until then.
func TestStop(t *testing.T) {
	cmd, dir := initCommand(t, spec("sh", "-c", "trap '' TERM; echo running; while :; do sleep 1; done"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitText(t, filepath.Join(dir, job.StdoutFile), "running\n")
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", cmd.Process.Pid))
	if err != nil || len(threads) > job.InitPids {
		t.Errorf("init has %d threads, %v; it may have %d", len(threads), err, job.InitPids)
	}
	if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := code(cmd.Wait()); got != 137 {
		t.Errorf("exit code %d", got)
	}
	if r := result(t, dir); !r.Stopped || r.TimedOut || r.Stdout.Kept != 8 {
		t.Errorf("%+v", r)
	}
}

func awaitText(t *testing.T, path, want string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if data, err := os.ReadFile(path); err == nil && string(data) == want {
			return
		}
	}
	t.Fatalf("%s never held %q", path, want)
}

// Init says that it is ready, waits, and starts the payload that it finds when told to look.
func TestWaitsForItsPayload(t *testing.T) {
	cmd, dir := initCommand(t, nil)
	start, done := pipe(t, filepath.Join(dir, job.StartPipe)), pipe(t, filepath.Join(dir, job.DonePipe))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if n, err := done.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Fatalf("it does not say that it is ready: %d bytes, %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, job.ReadyFile)); err != nil {
		t.Error(err)
	}
	tell := func() {
		if _, err := io.WriteString(start, "."); err != nil {
			t.Fatal(err)
		}
	}
	tell() // too early: it goes on waiting
	for unread := 1; unread > 0; time.Sleep(time.Millisecond) {
		var err error
		if unread, err = unix.IoctlGetInt(int(start.Fd()), unix.TIOCINQ); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, job.StartedFile)); err == nil {
		t.Fatal("it started without a payload")
	}
	if err := writeJSON(dir, job.PayloadFile, spec("echo", "late")); err != nil {
		t.Fatal(err)
	}
	tell()
	if err := cmd.Wait(); err != nil {
		reason, _ := os.ReadFile(filepath.Join(dir, job.FailureFile))
		t.Fatalf("%v: %s", err, reason)
	}
	if out, _ := os.ReadFile(filepath.Join(dir, job.StdoutFile)); string(out) != "late\n" {
		t.Errorf("stdout %q", out)
	}
	if n, err := done.Read(make([]byte, 10)); n != 1 || err != nil {
		t.Errorf("it does not say that it is done: %d bytes, %v", n, err)
	}
	result(t, dir)
}

// Where the host can't reach a pipe, init looks by itself.
func TestLooksForItsPayload(t *testing.T) {
	cmd, dir := initCommand(t, nil)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, job.ReadyFile)); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal("it does not say that it is ready")
		}
	}
	if err := writeJSON(dir, job.PayloadFile, spec("true")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	result(t, dir)
}

// A host that asks for the end before there is a payload has it at once.
func TestStopBeforeThePayload(t *testing.T) {
	cmd, dir := initCommand(t, nil)
	done := pipe(t, filepath.Join(dir, job.DonePipe))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := done.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := code(cmd.Wait()); got != job.ExitInit {
		t.Errorf("exit code %d", got)
	}
	if _, err := os.Stat(filepath.Join(dir, job.StartedFile)); err == nil {
		t.Error("it started")
	}
}

// pipe makes a named pipe and opens both of its ends.
func pipe(t *testing.T, path string) *os.File {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestRefusals(t *testing.T) {
	for name, s := range map[string]any{
		"no program":  job.Payload{Time: time.Second},
		"no limit":    job.Payload{Argv: []string{"true"}},
		"unknown key": map[string]any{"argv": []string{"true"}, "time": 1e9, "privileged": true},
		"wrong type":  map[string]any{"argv": "true"},
	} {
		cmd, dir := initCommand(t, s)
		if got := code(cmd.Run()); got != job.ExitInit {
			t.Errorf("%s: exit code %d", name, got)
		}
		if reason, err := os.ReadFile(filepath.Join(dir, job.FailureFile)); err != nil || len(reason) < 10 {
			t.Errorf("%s: reason %q, %v", name, reason, err)
		}
		if _, err := os.Stat(filepath.Join(dir, job.StartedFile)); err == nil {
			t.Errorf("%s: it started", name)
		}
	}
}

// What goes wrong before the payload could run must not look as if it had run.
func TestFailureBeforeTheStart(t *testing.T) {
	cmd, dir := initCommand(t, spec("echo", "ran"))
	cmd.Env = append(cmd.Env, nobodyVar+"=1")
	if got := code(cmd.Run()); got != job.ExitInit {
		t.Errorf("exit code %d", got)
	}
	if reason, err := os.ReadFile(filepath.Join(dir, job.FailureFile)); err != nil ||
		!strings.Contains(string(reason), "root's") {
		t.Errorf("reason %q, %v", reason, err)
	}
	if _, err := os.Stat(filepath.Join(dir, job.StartedFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it says that the payload was started: %v", err)
	}
	if out, _ := os.ReadFile(filepath.Join(dir, job.StdoutFile)); len(out) != 0 {
		t.Errorf("stdout %q", out)
	}
}

// Outside of a sandbox nothing is started.
func TestIsolateRefuses(t *testing.T) {
	for what, err := range map[string]error{"isolate": emptyBoundingSet(),
		"check": checkInside(job.Payload{HostKernel: true})} {
		if err == nil || !strings.Contains(err.Error(), "process 1") {
			t.Errorf("%s in a test process: %v", what, err)
		}
	}
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"run": 0o755, "data": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=/nonexistent:.:" + dir}
	for _, tt := range []struct {
		name, want string
		err        error
	}{
		{"run", filepath.Join(dir, "run"), nil}, {"data", "", unix.EACCES}, {"folder", "", unix.ENOENT},
		{"none", "", unix.ENOENT},
		{"./here", "./here", nil}, {"/abs", "/abs", nil},
	} {
		if got, err := lookPath(tt.name, env); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}
