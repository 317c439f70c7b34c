package container

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/schemas"
)

func TestEcho(t *testing.T) {
	e := open(t)
	r := run(t, e, newTask("echo", "hello", "world"))
	if r.ExitCode != 0 || r.Cause != schemas.CauseNone || len(r.LimitsHit) != 0 || r.Detail != "" {
		t.Errorf("outcome %+v", r.Outcome)
	}
	if got := r.stdout(t); got != "hello world\n" {
		t.Errorf("stdout %q", got)
	}
	if got := r.stderr(t); got != "to stderr\n" {
		t.Errorf("stderr %q", got)
	}
	if r.Wall <= 0 || r.PeakMemoryBytes <= 0 || r.StartedAt.IsZero() || r.FinishedAt.Before(r.StartedAt) {
		t.Errorf("usage %+v", r.Outcome)
	}
	if !strings.HasPrefix(r.Outcome.Identity.Runtime, "containerd ") ||
		!strings.Contains(r.Outcome.Identity.Runtime, ", runc ") ||
		r.Outcome.Identity.Image != world.image || r.Outcome.Identity.Backend != eraName {
		t.Errorf("identity %+v", r.Outcome.Identity)
	}
}

// TestEndings is the table of how a run can end.
func TestEndings(t *testing.T) {
	const C0, C1 = schemas.CauseNone, schemas.CauseSignal
	tests := []struct {
		name   string
		argv   []string
		change func(*executors.Task)
		code   int
		cause  schemas.Cause
		hit    []schemas.Cause
	}{
		{"exit", []string{"hostile", "exit", "7"}, nil, 7, C0, nil},
		{"signal", []string{"hostile", "signal", "15"}, nil, 143, C1, nil},
		{"killed itself", []string{"hostile", "signal", "9"}, nil, 137, C1, nil},
		{"not found", []string{"nothing"}, nil, 127, schemas.CauseStart, nil},
		{"not found by path", []string{"/usr/bin/nothing"}, nil, 127, schemas.CauseStart, nil},
		{"not executable", []string{"data"}, nil, 126, schemas.CauseStart, nil},
		{"a folder", []string{"/usr"}, nil, 126, schemas.CauseStart, nil},
		{"no format", []string{"garbage"}, nil, 126, schemas.CauseStart, nil},
		{"no interpreter", []string{"orphaned-script"}, nil, 127, schemas.CauseStart, nil},
		{"time", []string{"hostile", "stubborn"}, func(t *executors.Task) { t.Limits.Time = time.Second }, 124,
			schemas.CauseTime, []schemas.Cause{schemas.CauseTime}},
		{"time while spinning", []string{"hostile", "spin"},
			func(t *executors.Task) { t.Limits.Time = time.Second; t.Limits.MilliCPU = 100 }, 124,
			schemas.CauseTime, []schemas.Cause{schemas.CauseTime}},
		{"memory", []string{"hostile", "alloc", "512"}, nil, 137, schemas.CauseMemory,
			[]schemas.Cause{schemas.CauseMemory}},
		{"memory in reach", []string{"hostile", "alloc", "64"}, nil, 0, C0, nil},
		{"processes", []string{"hostile", "forks"}, nil, 1, schemas.CauseProcesses, []schemas.Cause{schemas.CauseProcesses}},
		{"fork bomb", []string{"hostile", "forkbomb"}, func(t *executors.Task) { t.Limits.Time = 4 * time.Second },
			124, schemas.CauseTime, []schemas.Cause{schemas.CauseTime, schemas.CauseProcesses}},
		{"out is full", []string{"hostile", "fill", "/out/big"}, nil, 1, schemas.CauseDisk,
			[]schemas.Cause{schemas.CauseDisk}},
		{"tmp is full", []string{"hostile", "fill", "/tmp/big"}, nil, 1, schemas.CauseDisk,
			[]schemas.Cause{schemas.CauseDisk}},
		{"shm is full", []string{"hostile", "fill", "/dev/shm/big"}, nil, 1, schemas.CauseDisk,
			[]schemas.Cause{schemas.CauseDisk}},
		{"too many files", []string{"hostile", "inodes", "/out"}, nil, 1, schemas.CauseDisk,
			[]schemas.Cause{schemas.CauseDisk}},
		{"stdout cut", []string{"hostile", "flood", "stdout", "40"}, nil, 0, C0, []schemas.Cause{schemas.CauseOutput}},
		{"stderr cut", []string{"hostile", "flood", "stderr", "40"}, nil, 0, C0, []schemas.Cause{schemas.CauseOutput}},
		{"endless stdout", []string{"hostile", "flood", "stdout", "-1"},
			func(t *executors.Task) { t.Limits.Time = 4 * time.Second }, 124, schemas.CauseTime,
			[]schemas.Cause{schemas.CauseTime, schemas.CauseOutput}},
		{"orphan", []string{"hostile", "orphan"}, nil, 0, C0, nil},
	}
	e := open(t)
	before := traces(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			task := newTask()
			task.Argv = tt.argv
			if tt.change != nil {
				tt.change(&task)
			}
			r := run(t, e, task)
			if tt.name == "fork bomb" { // whether its processes use up the memory, too, is chance
				r.LimitsHit = slices.DeleteFunc(r.LimitsHit,
					func(c schemas.Cause) bool { return c == schemas.CauseMemory })
			}
			if r.ExitCode != tt.code || r.Cause != tt.cause || !slices.Equal(r.LimitsHit, tt.hit) {
				t.Errorf("got %d %s %v, want %d %s %v\n%+v\nstdout %.100q stderr %.200q", r.ExitCode, r.Cause,
					r.LimitsHit, tt.code, tt.cause, tt.hit,
					r.Outcome, r.stdout(t), r.stderr(t))
			}
			if (tt.cause == C0) != (r.Detail == "") {
				t.Errorf("cause %s has detail %q", r.Cause, r.Detail)
			}
		})
	}
	nothingLeft(t, before)
}

func TestStreamsAreCutNotLost(t *testing.T) {
	e := open(t)
	task := newTask("flood", "stdout", "40")
	r := run(t, e, task)
	const written = 40 * 4096 * 16
	if r.Stdout.Total != written || r.Stdout.Kept != task.Limits.StdoutBytes {
		t.Errorf("stdout %+v, want %d of %d", r.Stdout, task.Limits.StdoutBytes, written)
	}
	if got := r.stdout(t); int64(len(got)) != task.Limits.StdoutBytes ||
		!strings.HasPrefix(got, "0123456789abcde\n0123") {
		t.Errorf("%d bytes were kept, beginning %.20q", len(got), got)
	}
}

// What was asked for is what the kernel enforces, read back from it.
func TestLimitsAreApplied(t *testing.T) {
	e := open(t)
	task := newTask("stubborn")
	task.Limits.MilliCPU, task.Limits.MemoryBytes, task.Limits.Pids = 250, 64<<20, 10
	must(t, "Prepare", e.Prepare(t.Context(), task))
	want := map[string]string{
		"cpu/*/cpu.cfs_quota_us": "6250", "cpu/*/cpu.cfs_period_us": "25000",
		"memory/*/memory.limit_in_bytes":       fmt.Sprint(64<<20 + job.InitMemoryBytes),
		"memory/*/memory.memsw.limit_in_bytes": fmt.Sprint(64<<20 + job.InitMemoryBytes),
		"pids/*/pids.max":                      fmt.Sprint(10 + job.InitPids),
	}
	if cgroup.Unified(cgroup.Root) {
		want = map[string]string{
			"*/cpu.max": "6250 25000", "*/memory.max": fmt.Sprint(64<<20 + job.InitMemoryBytes),
			"*/memory.swap.max": "0", "*/pids.max": fmt.Sprint(10 + job.InitPids),
		}
	}
	for file, w := range want {
		if strings.Contains(file, "sw") && !e.host.SwapControl {
			continue
		}
		path := filepath.Join(cgroup.Root, strings.Replace(file, "*", e.cgroupOf(e.containerOf(task.ID)), 1))
		if data, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(data)) != w {
			t.Errorf("%s: %q, %v, want %s", path, data, err, w)
		}
	}
	must(t, "Cleanup", e.Cleanup(t.Context(), task.ID))

	task = newTask("inodes", "/out")
	if r := run(t, e, task); r.stdout(t) != fmt.Sprintln(task.Limits.OutFiles) {
		t.Errorf("%s files in /out, want %d", r.stdout(t), task.Limits.OutFiles)
	}
	// The payload gets what it asked for, and at most what init leaves of its own.
	task = newTask("tasks")
	r := run(t, e, task)
	var n int
	if _, err := fmt.Sscan(r.stdout(t), &n); err != nil || n < task.Limits.Pids || n > task.Limits.Pids+job.InitPids/2 {
		t.Errorf("%d processes and threads (%v), asked for %d: %+v", n, err, task.Limits.Pids, r.Outcome)
	}
}

func TestCollectIsNotFooled(t *testing.T) {
	e := open(t)
	r := run(t, e, newTask("mess"))
	if r.ExitCode != 0 {
		t.Fatalf("the test program failed: %s", r.stderr(t))
	}
	var files []string
	for _, f := range r.Files {
		files = append(files, fmt.Sprintf("%s %d", f.Path, f.Size))
	}
	want := []string{"good.txt 5", "hard.txt 5", "sparse 1048576", "sub/deep/also.txt 10"}
	if !slices.Equal(files, want) {
		t.Errorf("files %v, want %v", files, want)
	}
	refused := fmt.Sprint(r.Refused)
	for _, s := range []string{`"link" is a symbolic link`, `"sub/up" is a symbolic link`, `"pipe" is a named pipe`,
		`"socket" is a socket`,
		`"bad\xffname" name is not valid UTF-8`, `"new\nline" name holds`, `"\u202egnp.exe" name holds`} {
		if !strings.Contains(refused, s) {
			t.Errorf("refused lacks %s: %s", s, refused)
		}
	}
	if len(r.Refused) != 7 {
		t.Errorf("refused: %v", r.Refused)
	}
	if got := r.file(t, "out/sub/deep/also.txt"); got != "also good\n" {
		t.Errorf("also.txt is %q", got)
	}
	if st, err := os.Stat(filepath.Join(r.dir, "out/sub/deep/also.txt")); err != nil || st.Mode() != 0o640 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestInputs(t *testing.T) {
	e := open(t)
	dir := filepath.Join(t.TempDir(), "inputs")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sub", "a.txt"), []byte("the input\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	task := newTask("cat", "sub/a.txt", "/in/sub/a.txt")
	task.InputsDir = dir
	if r := run(t, e, task); r.stdout(t) != "the input\nthe input\n" {
		t.Errorf("stdout %q stderr %q", r.stdout(t), r.stderr(t))
	}
	task = newTask("write", "/in/sub/a.txt", "changed")
	task.InputsDir = dir
	if r := run(t, e, task); r.ExitCode != 1 {
		t.Errorf("writing to /in: %+v", r.Outcome)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "sub", "a.txt")); string(got) != "the input\n" {
		t.Errorf("the input is now %q", got)
	}
	if err := os.Symlink("/etc/shadow", filepath.Join(dir, "evil")); err != nil {
		t.Fatal(err)
	}
	task = newTask("cat", "/in/evil")
	task.InputsDir = dir
	if err := e.Prepare(t.Context(), task); err == nil || !strings.Contains(err.Error(), "evil") {
		t.Errorf("a link among the inputs: %v", err)
	}
	if state, err := e.State(t.Context(), task.ID); err != nil || state != executors.StateAbsent {
		t.Errorf("a failed Prepare left %s, %v", state, err)
	}
}

// TestTree: /in has the folder that a tar holds in the place of the tar, read-only, and nothing of it stays.
func TestTree(t *testing.T) {
	e := open(t)
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	must(t, "tar", tw.WriteHeader(&tar.Header{Name: "sub/b.txt", Typeflag: tar.TypeReg, Mode: 0o4777, Size: 2}))
	_, err := tw.Write([]byte("b\n"))
	must(t, "tar", errors.Join(err, tw.Close()))
	dir := filepath.Join(t.TempDir(), "inputs")
	must(t, "inputs", os.MkdirAll(filepath.Join(dir, "deep"), 0o700))
	must(t, "input", os.WriteFile(filepath.Join(dir, "deep", "a.txt"), []byte("a\n"), 0o600))
	must(t, "tree", os.WriteFile(filepath.Join(dir, "deep", "tree"), b.Bytes(), 0o600))
	task := newTask("cat", "deep/a.txt", "/in/deep/tree/sub/b.txt")
	task.InputsDir, task.Trees = dir, []string{"deep/tree"}
	if r := run(t, e, task); r.stdout(t) != "a\nb\n" {
		t.Errorf("stdout %q stderr %q", r.stdout(t), r.stderr(t))
	}
	task = newTask("write", "/in/deep/tree/sub/b.txt", "changed")
	task.InputsDir, task.Trees = dir, []string{"deep/tree"}
	if r := run(t, e, task); r.ExitCode != 1 {
		t.Errorf("writing to a tree: %+v", r.Outcome)
	}
	if left, err := filepath.Glob(filepath.Join(testConfig().RunDir, runDirsDir, task.ID, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	must(t, "tree", os.WriteFile(filepath.Join(dir, "deep", "tree"), b.Bytes()[:600], 0o600))
	task = newTask("cat", "deep/a.txt")
	task.InputsDir, task.Trees = dir, []string{"deep/tree", "deep/none"}
	if err := e.Prepare(t.Context(), task); err == nil || !strings.Contains(err.Error(), `"deep/none"`) {
		t.Errorf("a tree that is not there: %v", err)
	}
	if state, err := e.State(t.Context(), task.ID); err != nil || state != executors.StateAbsent {
		t.Errorf("a failed Prepare left %s, %v", state, err)
	}
}

// TestGiven: files of the node's own lie in /in, too, with inputs and without, and cover one of the same name.
func TestGiven(t *testing.T) {
	e := open(t)
	dir, given := filepath.Join(t.TempDir(), "inputs"), filepath.Join(t.TempDir(), "given")
	must(t, "folders", errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(given, 0o700)))
	for file, text := range map[string]string{dir + "/a": "input\n", dir + "/r": "theirs\n", given + "/r": "ours\n"} {
		must(t, "input", os.WriteFile(file, []byte(text), 0o600))
	}
	task := newTask("cat", "a", "/in/r")
	task.InputsDir, task.GivenDir = dir, given
	if r := run(t, e, task); r.stdout(t) != "input\nours\n" {
		t.Errorf("stdout %q stderr %q", r.stdout(t), r.stderr(t))
	}
	task = newTask("cat", "r")
	task.GivenDir = given
	if r := run(t, e, task); r.stdout(t) != "ours\n" {
		t.Errorf("without inputs: stdout %q stderr %q", r.stdout(t), r.stderr(t))
	}
}

// TestWork: a run has copies of the inputs that it asked for, which it may change, and begins in their folder.
func TestWork(t *testing.T) {
	e := open(t)
	dir := filepath.Join(t.TempDir(), "inputs")
	must(t, "inputs", os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
	must(t, "input", os.WriteFile(filepath.Join(dir, "sub", "a.txt"), []byte("a\n"), 0o600))
	for _, c := range []struct {
		argv   []string
		exit   int
		stdout string
	}{
		{[]string{"cat", "sub/a.txt", schemas.WorkDir + "/sub/a.txt"}, 0, "a\na\n"},
		{[]string{"write", "sub/a.txt", "changed"}, 0, ""},
		{[]string{"write", "new.txt", "new"}, 0, ""},
		{[]string{"write", "/in/sub/a.txt", "changed"}, 1, ""},
	} {
		task := newTask(c.argv...)
		task.InputsDir, task.Work = dir, []string{"sub/a.txt"}
		r := run(t, e, task)
		if r.ExitCode != c.exit || r.stdout(t) != c.stdout {
			t.Errorf("%v: %+v, stdout %q, stderr %q", c.argv, r.Outcome, r.stdout(t), r.stderr(t))
		}
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "sub", "a.txt")); string(got) != "a\n" {
		t.Errorf("the input is now %q", got)
	}
	task := newTask("cat", "sub/a.txt")
	task.InputsDir, task.Work, task.Argv = dir, []string{"sub/a.txt"}, []string{"nothing"}
	if r := run(t, e, task); r.ExitCode != 127 || !strings.Contains(r.stderr(t), "nothing could not be started") {
		t.Errorf("no such program: %+v, %q", r.Outcome, r.stderr(t))
	}
	task = newTask("cat", "sub/a.txt")
	task.InputsDir, task.Work = dir, []string{"sub/a.txt"}
	must(t, "large", os.WriteFile(filepath.Join(dir, "sub", "a.txt"), make([]byte, task.Limits.TmpBytes+1), 0o600))
	if r := run(t, e, task); r.ExitCode != 126 || r.Cause != schemas.CauseDisk ||
		!strings.Contains(r.stderr(t), "nothing was run") {
		t.Errorf("more than /tmp has room for: %+v, %q", r.Outcome, r.stderr(t))
	}
}

func TestIdentityInside(t *testing.T) {
	e := open(t)
	task := newTask("status")
	r := run(t, e, task)
	got := r.stdout(t)
	for _, want := range []string{
		"Uid:\t64017\t64017\t64017\t64017", "Gid:\t64017\t64017\t64017\t64017", "Groups:\t \n",
		"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
		"CapBnd:\t0000000000000000", "CapAmb:\t0000000000000000",
		"NoNewPrivs:\t1", "Seccomp:\t2", "Hostname:\tsandbox", "OOM:\t1000", "Session:\ttrue",
		"Core:\t0\n", fmt.Sprintf("Fsize:\t%d\n", task.Limits.TmpBytes+fileSlack), "Nofile:\t64\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
	r = run(t, e, newTask("env"))
	want := "PATH=/usr/local/bin:/usr/bin:/bin\nHOME=/tmp\nTMPDIR=/tmp\nLANG=C.UTF-8\nIMAGE=yes\nCWD=/in\n"
	if r.stdout(t) != want {
		t.Errorf("environment %q, want %q", r.stdout(t), want)
	}
	r = run(t, e, newTask("cat", "/etc/passwd", "/etc/hostname", "/etc/machine-id"))
	if got := r.stdout(t); !strings.Contains(got, "sandbox:x:64017:") || strings.Contains(got, "the image's own") ||
		!strings.Contains(got, strings.Repeat("0", 32)) {
		t.Errorf("identity files %q", got)
	}
}

// TestForbidden asks for what must not be possible; everything must fail, and
// by the means that is meant to prevent it.
func TestForbidden(t *testing.T) {
	e := open(t)
	r := run(t, e, newTask("probe"))
	got := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(r.stdout(t)), "\n") {
		name, what, _ := strings.Cut(line, ": ")
		got[name] = what
	}
	want := map[string]string{
		"mount": "EPERM", "unshare-user": "EPERM", "clone-user": "EPERM", "clone3": "ENOSYS", "ptrace": "EPERM",
		"bpf":    "EPERM",
		"keyctl": "EPERM", "add_key": "EPERM", "io_uring": "ENOSYS", "perf": "EPERM", "userfaultfd": "ENOSYS",
		"memfd":  "ENOSYS",
		"chroot": "EPERM", "setuid": "EPERM", "mknod": "EPERM",
		"socket-inet": "EAFNOSUPPORT", "socket-inet6": "EAFNOSUPPORT", "socket-raw": "EAFNOSUPPORT",
		"socket-packet":  "EAFNOSUPPORT",
		"socket-netlink": "EAFNOSUPPORT", "socket-vsock": "EAFNOSUPPORT", "socket-alg": "EAFNOSUPPORT",
		"write-root": "EROFS", "write-usr": "EROFS", "write-in": "EROFS", "write-dev": "EROFS",
		"write-gate": "EACCES", "read-gate": "EACCES",
		"write-sysctl": "EACCES|EROFS", "sysrq": "EACCES|ENOENT|masked", "kcore": "EACCES|ENOENT|empty", "write-masked": "masked",
		"init-mem":     "ENOENT",
		"init-environ": "ENOENT", "init-fd": "ENOENT",
		"init-root": "ENOENT", "kill-init": "EPERM", "sys": "ENOENT", "exec-tmp": "EACCES", "exec-out": "EACCES",
		"exec-shm": "EACCES",
	}
	for name, w := range want {
		if !slices.Contains(strings.Split(w, "|"), got[name]) {
			t.Errorf("%s: %q, want %s", name, got[name], w)
		}
	}
	for name, g := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s", name, g)
		}
	}
}

func TestNothingIsHandedIn(t *testing.T) {
	e := open(t)
	r := run(t, e, newTask("fds"))
	out := r.stdout(t)
	fds, mounts, _ := strings.Cut(out, "\n1 ")
	_ = fds
	for _, line := range strings.Split(out, "\n") {
		name, target, _ := strings.Cut(line, " ")
		switch {
		case len(name) > 1 || name == "":
		case name == "0" && target == "/dev/null", target == "", strings.HasPrefix(target, "pipe:"),
			strings.HasPrefix(target, "anon_inode:"), strings.HasSuffix(target, "/fd"):
		default:
			t.Errorf("descriptor %s is %s", name, target)
		}
	}
	for _, line := range strings.Split(mounts, "\n") {
		f := strings.Fields(line)
		if len(f) < 6 || !strings.HasPrefix(f[4], "/") {
			continue
		}
		for _, option := range []string{"nosuid", "nodev"} {
			// /dev needs devices; what hides /proc is empty and read-only.
			devices := option == "nodev" && (f[4] == "/dev" || strings.HasPrefix(f[3], "/null"))
			masked := strings.HasPrefix(f[4], "/proc/") && strings.HasPrefix(f[5], "ro")
			// In a user namespace the six are those of the host, one by one.
			node := slices.Contains([]string{"/full", "/null", "/random", "/tty", "/urandom", "/zero"}, f[3]) &&
				strings.Contains(line, "- devtmpfs ")
			if !strings.Contains(f[5], option) && !devices && !masked && !node {
				t.Errorf("%s is mounted without %s: %s", f[4], option, line)
			}
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestUnavailable(t *testing.T) {
	e := open(t)
	task := newTask("true")
	task.Language = "cobol"
	if _, err := e.Identity(t.Context(), task); !errors.Is(err, ErrUnavailable) {
		t.Errorf("unknown language: %v", err)
	}
	task = newTask("true")
	task.Network = schemas.NetworkAllowlist
	if _, err := e.Identity(t.Context(), task); !errors.Is(err, ErrUnavailable) {
		t.Errorf("egress: %v", err)
	}
	if err := e.Prepare(t.Context(), task); !errors.Is(err, ErrUnavailable) {
		t.Errorf("egress: %v", err)
	}
	task = newTask("true")
	task.Backend, task.Argv = schemas.BackendMonty, nil
	if _, err := e.Identity(t.Context(), task); !errors.Is(err, ErrUnavailable) {
		t.Errorf("monty without an image: %v", err)
	}
	// An image that is configured and missing is no fact about the request.
	cfg := testConfig()
	cfg.Node, cfg.RunDir = "lacking", filepath.Join(world.dir, "run3")
	cfg.Images = map[string]string{"gone": "sha256:" + strings.Repeat("0", 64)}
	lacking, err := Open(t.Context(), cfg)
	must(t, "Open", err)
	defer func() {
		must(t, "Close", lacking.Close())
		must(t, "Dismantle", Dismantle(cfg.RunDir))
	}()
	task = newTask("true")
	task.Language = "gone"
	if id, err := lacking.Identity(t.Context(), task); err != nil || id.Image != cfg.Images["gone"] {
		t.Errorf("identity with a missing image: %+v, %v", id, err)
	}
	if err := lacking.Prepare(t.Context(), task); !errors.Is(err, executors.ErrNoImage) ||
		errors.Is(err, ErrUnavailable) || !strings.Contains(executors.HintOf(err), "deploy/images/build") {
		t.Errorf("a missing image: %v", err)
	}
	task = newTask("true")
	task.Limits.Pids = 0
	if err := e.Prepare(t.Context(), task); err == nil || !strings.Contains(err.Error(), "pids") {
		t.Errorf("a limit of zero: %v", err)
	}
	task = newTask("true")
	task.ID = "../x"
	if err := e.Prepare(t.Context(), task); err == nil {
		t.Error("an id that is a path was taken")
	}
	if _, err := e.Wait(t.Context(), "j0"); !errors.Is(err, ErrNoTask) {
		t.Errorf("waiting for nothing: %v", err)
	}
	if err := e.Start(t.Context(), "j0"); !errors.Is(err, ErrNoTask) {
		t.Errorf("starting nothing: %v", err)
	}
	if err := e.Cleanup(t.Context(), "j0"); err != nil {
		t.Errorf("cleaning up nothing: %v", err)
	}
}
