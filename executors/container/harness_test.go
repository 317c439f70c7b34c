package container

import (
	"archive/tar"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	containerdclient "github.com/containerd/containerd/v2/client"
	"go.uber.org/goleak"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/containerd"
	"github.com/threegate/tool-exec/executors/image"
	"github.com/threegate/tool-exec/schemas"
)

// binaryVar may name another containerd than that in PATH to test with.
const binaryVar = "THREEGATE_TEST_CONTAINERD"

// runtimeVar may name another runtime than runc to test with.
const runtimeVar = "THREEGATE_TEST_RUNTIME"

// slotsVar makes the tests run with slots.
const slotsVar = "THREEGATE_TEST_SLOTS"

// testSlots is how many there are then.
const testSlots = 2

// world is what all tests of this package share: a private containerd, an image
// that holds nothing but the hostile program, and the folders of one node.
var world struct {
	dir, init, hostile, layout, image string
}

func TestMain(m *testing.M) {
	code, err := inWorld(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "container executor tests:", err)
		code = 1
	}
	os.Exit(code)
}

// inWorld builds the world, runs the tests and takes the world down again.
func inWorld(m *testing.M) (code int, err error) {
	// Not t.TempDir: a socket's path must be short.
	world.dir, err = os.MkdirTemp("/tmp", "tg")
	if err != nil {
		return 1, err
	}
	if err := os.Chmod(world.dir, passMode); err != nil {
		return 1, err
	}
	world.init = filepath.Join(world.dir, "threegate-init")
	world.hostile = filepath.Join(world.dir, "hostile")
	visitor := filepath.Join(world.dir, "visitor")
	if msg, err := exec.Command("make", "-C", "../..", "build").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("make build: %w\n%s", err, msg)
	}
	for i, p := range Programs(world.init) {
		if err := copyFile(p.Path, Programs("../../bin/threegate-init")[i].Path); err != nil {
			return 1, err
		}
	}
	for out, build := range map[string][]string{
		world.hostile: {"test", "-c", "-trimpath", "-ldflags", "-s -w", "-o", world.hostile, "./internal/hostile"},
		visitor:       {"test", "-c", "-trimpath", "-ldflags", "-s -w", "-o", visitor, "./internal/visitor"},
	} {
		cmd := exec.Command("go", build...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if msg, err := cmd.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("build %s: %w\n%s", out, err, msg)
		}
	}
	if err := packImage(world.hostile, visitor); err != nil {
		return 1, err
	}
	code = m.Run()
	if code == 0 && os.Getenv(slotsVar) == "" {
		// All once more, each task in a slot.
		again := exec.Command(os.Args[0], os.Args[1:]...)
		again.Env = append(os.Environ(), slotsVar+"=1")
		again.Stdout, again.Stderr = os.Stdout, os.Stderr
		if err := again.Run(); err != nil {
			return 1, fmt.Errorf("with slots: %w", err)
		}
	}

	// Whatever the tests did: no container, no daemon, no mount may be left.
	e, err := Open(context.Background(), testConfig())
	if err != nil {
		return 1, err
	}
	left, err := e.List(context.Background())
	if err != nil {
		return 1, err
	}
	for _, id := range left {
		if err := e.Cleanup(context.Background(), id); err != nil {
			return 1, err
		}
	}
	if err := e.Shutdown(context.Background()); err != nil {
		return 1, err
	}
	if err := Dismantle(testConfig().RunDir); err != nil {
		return 1, err
	}
	if err := goleak.Find(); err != nil && code == 0 {
		return 1, err
	}
	if code == 0 && len(left) > 0 {
		return 1, fmt.Errorf("tasks were left behind: %v", left)
	}
	return code, os.RemoveAll(world.dir)
}

// packImage makes an image of the two programs and a few files that can't be executed.
func packImage(hostile, visitor string) error {
	program, err := os.ReadFile(hostile)
	if err != nil {
		return err
	}
	visits, err := os.ReadFile(visitor)
	if err != nil {
		return err
	}
	path := filepath.Join(world.dir, "root.tar")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	tw := tar.NewWriter(f)
	for _, e := range []struct {
		name, body string
		mode       int64
	}{
		{"usr/", "", 0o755}, {"usr/bin/", "", 0o755}, {"etc/", "", 0o755},
		{"etc/passwd", "root:x:0:0:the image's own:/root:/bin/sh\n", 0o644},
		{"usr/bin/hostile", string(program), 0o755},
		{"usr/bin/visitor", string(visits), 0o755},
		{"usr/bin/data", "no program\n", 0o644},
		{"usr/bin/garbage", "\x7fELFnot", 0o755},
		{"usr/bin/orphaned-script", "#!/no/such/interpreter\n", 0o755},
	} {
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.body)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := tw.Write([]byte(e.body)); err != nil {
			return err
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	world.layout = filepath.Join(world.dir, "images")
	world.image, err = image.Pack(path, "hostile", image.Config{Version: "1",
		Env: []string{"IMAGE=yes", "HOME=/nowhere", "LANG=xx", "TMPDIR=/"}}, world.layout)
	return err
}

func testConfig() Config {
	c := Config{
		Node: "test", RunDir: filepath.Join(world.dir, "run"), InitPath: world.init, ImagesDir: world.layout,
		Images: map[string]string{"hostile": world.image}, RuntimeBinary: os.Getenv(runtimeVar),
		Containerd: containerd.Config{Private: containerd.Private{
			Root: filepath.Join(world.dir, "root"), State: filepath.Join(world.dir, "s"),
			Binary: os.Getenv(binaryVar)}},
	}
	if os.Getenv(slotsVar) != "" {
		c.Slots = Slots{MemoryBytes: testSlots * SlotCost, Limits: newTask().Limits}
	}
	return c
}

// awaitSlots waits until all slots are there.
func awaitSlots(t testing.TB, e *Executor) {
	t.Helper()
	if os.Getenv(slotsVar) == "" {
		return
	}
	e.awaitSlots(t, testSlots)
}

func open(t testing.TB) *Executor {
	t.Helper()
	e, err := Open(t.Context(), testConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	awaitSlots(t, e)
	return e
}

var counter atomic.Int64

// idPrefix tells the tasks of this process from those of other tests on this host.
var idPrefix = fmt.Sprintf("j%07d", os.Getpid())

// newTask is a hostile command with ordinary limits.
func newTask(argv ...string) executors.Task {
	return executors.Task{
		ID: fmt.Sprintf("%s%019d", idPrefix, time.Now().UnixNano()+counter.Add(1)), Backend: schemas.BackendERA,
		Language: "hostile",
		Argv:     append([]string{"hostile"}, argv...), Network: schemas.NetworkNone,
		Limits: executors.Limits{
			MilliCPU: 1000, MemoryBytes: 128 << 20, Time: 5 * time.Minute, Pids: 32, OpenFiles: 64,
			OutBytes: 4 << 20, OutFiles: 100, TmpBytes: 8 << 20, StdoutBytes: 1 << 20, StderrBytes: 1 << 20,
		},
	}
}

// ran is all that came of a task.
type ran struct {
	executors.Outcome
	executors.Collected
	dir string // where it was collected
}

func (r ran) stdout(t *testing.T) string { return r.file(t, "stdout") }
func (r ran) stderr(t *testing.T) string { return r.file(t, "stderr") }

func (r ran) file(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// run takes a task through its whole life.
func run(t *testing.T, e *Executor, task executors.Task) ran {
	t.Helper()
	ctx := t.Context()
	if err := e.Prepare(ctx, task); err != nil {
		t.Fatal("Prepare:", err)
	}
	if err := e.Start(ctx, task.ID); err != nil {
		t.Fatal("Start:", err)
	}
	return finish(t, e, task.ID)
}

// finish waits for a started task, collects it and cleans up.
func finish(t *testing.T, e *Executor, id string) ran {
	t.Helper()
	ctx := t.Context()
	var r ran
	var err error
	if r.Outcome, err = e.Wait(ctx, id); err != nil {
		t.Fatal("Wait:", err)
	}
	r.dir = t.TempDir()
	if r.Collected, err = e.Collect(ctx, id, r.dir); err != nil {
		t.Fatal("Collect:", err)
	}
	if err := e.Cleanup(ctx, id); err != nil {
		t.Fatal("Cleanup:", err)
	}
	if state, err := e.State(ctx, id); err != nil || state != executors.StateAbsent {
		t.Fatalf("after Cleanup the state is %q, %v", state, err)
	}
	return r
}

// traces counts what tasks could leave on the host.
func traces(t *testing.T) map[string]int {
	t.Helper()
	count := map[string]int{}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	count["mounts"] = strings.Count(string(mounts), world.dir+"/run/boxes")
	groups, err := filepath.Glob("/sys/fs/cgroup/*/threegate/" + idPrefix + "*")
	if err != nil {
		t.Fatal(err)
	}
	unified, err := filepath.Glob("/sys/fs/cgroup/threegate/" + idPrefix + "*")
	if err != nil {
		t.Fatal(err)
	}
	count["cgroups"] = len(groups) + len(unified)
	runDirs, err := os.ReadDir(filepath.Join(world.dir, "run", runDirsDir))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	count["boxes"] = len(runDirs)
	bundles, err := filepath.Glob(filepath.Join(world.dir, "s", "io.containerd.runtime.v2.task", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	count["bundles"] = len(bundles)
	states, err := filepath.Glob(filepath.Join(world.dir, "s", "runtime", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	count["runtime states"] = len(states)
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range procs {
		line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		groups, _ := os.ReadFile(filepath.Join(p, "cgroup"))
		switch {
		case strings.Contains(string(groups), idPrefix):
			count["processes"]++
		case strings.Contains(string(line), "containerd-shim") && strings.Contains(string(line), world.dir):
			count["shims"]++
		}
	}
	return count
}

// nothingLeft compares traces with those of before. containerd finishes some of
// its own removal after the fact when a shim had died.
func nothingLeft(t *testing.T, before map[string]int) {
	t.Helper()
	var after map[string]int
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if after = traces(t); equalCounts(before, after) {
			return
		}
	}
	t.Errorf("left behind: %v before, %v after", before, after)
}

func equalCounts(a, b map[string]int) bool {
	for k := range b {
		if a[k] != b[k] {
			return false
		}
	}
	return len(a) >= len(b)
}

func deleteTask(t *testing.T, task containerdclient.Task) {
	t.Helper()
	if _, err := task.Delete(t.Context(), containerdclient.WithProcessKill); err != nil {
		t.Fatal(err)
	}
}

// removeContainer takes a task's container away and leaves its run folder.
func removeContainer(t *testing.T, e *Executor, id string) {
	t.Helper()
	deleteTask(t, mustTask(t, e, id))
	cont, err := e.loadContainer(t.Context(), e.containerOf(id))
	must(t, "container", err)
	must(t, "delete", cont.Delete(t.Context()))
}

// mustTask is what containerd runs for a task.
func mustTask(t *testing.T, e *Executor, id string) containerdclient.Task {
	t.Helper()
	cont, err := e.loadContainer(t.Context(), e.containerOf(id))
	must(t, "container", err)
	task, err := loadTask(t.Context(), cont)
	if task == nil || err != nil {
		t.Fatalf("task: %v, %v", task, err)
	}
	return task
}
