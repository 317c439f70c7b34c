package direct

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/moby/sys/mountinfo"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
)

func must(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// bed is a policy with all that it names, without an image.
func bed(t testing.TB) sandbox.Policy {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tgd")
	must(t, "folder", err)
	must(t, "folder", os.Chmod(dir, 0o755))
	init := filepath.Join(dir, "init")
	cmd := exec.Command("go", "build", "-o", init, "../../cmd/threegate-init")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	must(t, string(out), err)
	root := filepath.Join(dir, "root")
	for _, d := range []string{"dev/shm", "proc", "sys", "in", "out", "tmp", "gate", "etc"} {
		must(t, d, os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	must(t, "init's place", os.WriteFile(filepath.Join(root, "gate-init"), nil, 0o644))
	must(t, "root", unix.Mount(root, root, "", unix.MS_BIND, ""))
	must(t, "root", unix.Mount("", root, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""))
	box := filepath.Join(dir, "box")
	const first = sandbox.FirstHostID + 77
	for _, d := range []string{"gate", "in", "out", "tmp", "shm"} {
		must(t, d, os.MkdirAll(filepath.Join(box, d), 0o755))
	}
	must(t, "gate", os.Chmod(filepath.Join(box, "gate"), 0o700))
	must(t, "nudge", unix.Mkfifo(filepath.Join(box, "gate", job.NudgeFile), 0o600))
	for _, d := range []string{"gate", "gate/" + job.NudgeFile} {
		must(t, d, os.Chown(filepath.Join(box, d), first, first))
	}
	must(t, "out", os.Chown(filepath.Join(box, "out"), first+1, first+1))
	host, err := sandbox.Probe()
	must(t, "host", err)
	p := sandbox.Policy{
		Root: root, Init: init, Gate: box + "/gate", In: box + "/in", Out: box + "/out", Tmp: box + "/tmp", Shm: box + "/shm",
		CgroupsPath: "/threegate/" + filepath.Base(dir), FirstID: first, Mapped: true,
		MilliCPU: 1000, MemoryBytes: 32 << 20, Pids: 32, OpenFiles: 64, FileBytes: 1 << 20, CPUTime: time.Hour, SwapControl: host.SwapControl,
	}
	t.Cleanup(func() {
		must(t, "kill", cgroup.Kill(cgroup.Root, p.CgroupsPath))
		must(t, "remove the group", cgroup.Remove(cgroup.Root, p.CgroupsPath))
		must(t, "unmount", unix.Unmount(root, 0))
		must(t, "remove", os.RemoveAll(dir))
	})
	return p
}

func maker(t testing.TB) *Maker {
	t.Helper()
	host, err := sandbox.Probe()
	must(t, "host", err)
	m, err := NewMaker(host)
	must(t, "maker", err)
	t.Cleanup(func() { must(t, "close", m.Close()) })
	return m
}

// made gives a sandbox, and says why there is none.
func made(t testing.TB, m *Maker, p sandbox.Policy) *Sandbox {
	t.Helper()
	s, err := m.Make(t.Context(), p)
	if err != nil {
		why, _ := os.ReadFile(filepath.Join(p.Gate, job.FailureFile))
		t.Fatalf("%v: %s", err, why)
	}
	return s
}

// Process 1 waits, is ended by a signal, and its parent knows how.
func TestMake(t *testing.T) {
	p := bed(t)
	s := made(t, maker(t), p)
	found, err := Find(p.CgroupsPath, s.Pid)
	if err != nil || found == nil {
		t.Fatalf("it is not found: %v, %v", found, err)
	}
	defer found.Forget()
	if other, err := Find(p.CgroupsPath, os.Getpid()); other != nil || err != nil {
		t.Errorf("a process of another group is taken for it: %v, %v", other, err)
	}
	must(t, "signal", found.Signal(unix.SIGKILL))
	for _, x := range []*Sandbox{s, found} {
		<-x.Ended()
		st, known, err := x.Exit()
		if err != nil || known != (x == s) || known && st.Signal() != unix.SIGKILL {
			t.Errorf("its end: %v, known %v, %v", st, known, err)
		}
	}
	s.Forget()
	must(t, "a signal after the end", s.Signal(unix.SIGKILL))
	if again, err := Find(p.CgroupsPath, s.Pid); again != nil || err != nil {
		t.Errorf("it is found after its end: %v, %v", again, err)
	}
}

// A policy that sandboxes must not have makes none.
func TestMakeRefuses(t *testing.T) {
	p := bed(t)
	m := maker(t)
	for name, change := range map[string]func(p *sandbox.Policy){
		"no user namespace":    func(p *sandbox.Policy) { p.Mapped = false },
		"ids of the host":      func(p *sandbox.Policy) { p.FirstID = 1000 },
		"a folder of the host": func(p *sandbox.Policy) { p.Out = "/etc" },
		"a root to write to":   func(p *sandbox.Policy) { p.Root = filepath.Dir(p.Root) },
		"no memory":            func(p *sandbox.Policy) { p.MemoryBytes = 0 },
	} {
		bad := p
		change(&bad)
		if s, err := m.Make(t.Context(), bad); err == nil {
			t.Errorf("%s: it was made", name)
			s.Forget()
		}
	}
}

// Check sees every difference between the sandbox and what it must be, whichever of
// the two has it.
func TestCheckSees(t *testing.T) {
	p := bed(t)
	s := made(t, maker(t), p)
	defer s.Forget()
	for name, tt := range map[string]struct {
		change func(p *sandbox.Policy, spec *specs.Spec, s *Sandbox)
		want   string
	}{
		"as it is":   {func(*sandbox.Policy, *specs.Spec, *Sandbox) {}, ""},
		"identity":   {func(p *sandbox.Policy, _ *specs.Spec, _ *Sandbox) { p.FirstID++ }, "Uid of a thread"},
		"mapping":    {func(_ *sandbox.Policy, spec *specs.Spec, _ *Sandbox) { spec.Linux.UIDMappings[1].HostID++ }, "uid_map"},
		"oom score":  {func(_ *sandbox.Policy, spec *specs.Spec, _ *Sandbox) { *spec.Process.OOMScoreAdj++ }, "memory is short"},
		"program":    {func(p *sandbox.Policy, _ *specs.Spec, _ *Sandbox) { p.Init = "/bin/sh" }, "process 1 is not /bin/sh"},
		"root":       {func(p *sandbox.Policy, _ *specs.Spec, _ *Sandbox) { p.Root = p.Out }, "/ is not"},
		"another in": {func(p *sandbox.Policy, _ *specs.Spec, _ *Sandbox) { p.In = p.Tmp }, "/in is not"},
		"no mount": {func(_ *sandbox.Policy, spec *specs.Spec, _ *Sandbox) {
			spec.Mounts = append(spec.Mounts, specs.Mount{Destination: "/more", Type: "bind", Options: []string{"ro"}})
		}, "/more is mounted 0 times"},
		"a mount too many": {func(_ *sandbox.Policy, spec *specs.Spec, _ *Sandbox) {
			spec.Mounts = slices.DeleteFunc(spec.Mounts, func(m specs.Mount) bool { return m.Destination == sandbox.TmpDir })
		}, `there is a mount on "/tmp"`},
		"mount options": {func(_ *sandbox.Policy, spec *specs.Spec, _ *Sandbox) {
			for i := range spec.Mounts {
				if spec.Mounts[i].Destination == sandbox.OutDir {
					spec.Mounts[i].Options = append(spec.Mounts[i].Options, "ro")
				}
			}
		}, "/out is not ro"},
		"not masked": {func(_ *sandbox.Policy, spec *specs.Spec, _ *Sandbox) {
			spec.Linux.MaskedPaths = append(spec.Linux.MaskedPaths, "/proc/uptime", "/proc/tty")
		}, "/proc/uptime is mounted 0 times"},
		"not read-only": {func(_ *sandbox.Policy, spec *specs.Spec, _ *Sandbox) {
			spec.Linux.ReadonlyPaths = append(spec.Linux.ReadonlyPaths, "/proc/self")
		}, "/proc/self can be written to"},
		"group":  {func(p *sandbox.Policy, _ *specs.Spec, _ *Sandbox) { p.CgroupsPath += "x" }, "it is in the group"},
		"memory": {func(p *sandbox.Policy, _ *specs.Spec, _ *Sandbox) { p.MemoryBytes++ }, "other limits"},
		"files": {func(_ *sandbox.Policy, spec *specs.Spec, _ *Sandbox) {
			for i := range spec.Process.Rlimits {
				spec.Process.Rlimits[i].Hard++
			}
		}, "RLIMIT_NOFILE is"},
		"a process of the host": {func(_ *sandbox.Policy, _ *specs.Spec, s *Sandbox) { s.Pid = os.Getpid() }, "namespace is the host's"},
	} {
		t.Run(name, func(t *testing.T) {
			q := p
			spec, err := sandbox.Spec(p)
			must(t, "spec", err)
			x := &Sandbox{Pid: s.Pid, ended: s.ended}
			tt.change(&q, spec, x)
			err = Check(q, spec, x)
			if tt.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if tt.want != "" && (!errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("want %q in: %v", tt.want, err)
			}
		})
	}
}

// Where files in /tmp may be executed, and where they may not, is seen from outside.
func TestCheckSeesExecTmp(t *testing.T) {
	m := maker(t)
	for _, is := range []bool{false, true} {
		p := bed(t)
		p.ExecTmp = is
		s := made(t, m, p) // which was checked
		q := p
		q.ExecTmp = !is
		spec, err := sandbox.Spec(q)
		must(t, "spec", err)
		if err := Check(q, spec, s); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), "/tmp is noexec or not") {
			t.Errorf("executable: %v, and not what was meant: %v", is, err)
		}
		s.Forget()
	}
}

// What a sandbox has besides is seen, too.
func TestCheckSeesWhatIsThere(t *testing.T) {
	p := bed(t)
	spec, err := sandbox.Spec(p)
	must(t, "spec", err)
	s := made(t, maker(t), p)
	defer s.Forget()
	mnt, err := os.Open(procFile(s.Pid, "ns/mnt"))
	must(t, "namespace", err)
	defer mnt.Close()
	must(t, "mount", onThread(func() error {
		if err := unix.Setns(int(mnt.Fd()), unix.CLONE_NEWNS); err != nil {
			return err
		}
		return unix.Mount("/out", "/etc", "", unix.MS_BIND, "")
	}))
	if err := Check(p, spec, s); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), `there is a mount on "/etc"`) {
		t.Errorf("a mount of the host's: %v", err)
	}
	must(t, "show processes", onThread(func() error {
		if err := unix.Setns(int(mnt.Fd()), unix.CLONE_NEWNS); err != nil {
			return err
		}
		return unix.Mount("", "/proc", "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "hidepid=off")
	}))
	if err := Check(p, spec, s); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), "/proc is not hidepid=invisible") {
		t.Errorf("a /proc that shows all processes: %v", err)
	}
	if host, err := sandbox.Probe(); err == nil && host.SwapControl {
		swap := filepath.Join(cgroup.Root, "memory", p.CgroupsPath, "memory.memsw.limit_in_bytes")
		must(t, "allow swap", os.WriteFile(swap, []byte("1073741824"), 0))
		if err := Check(p, spec, s); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), "other limits") {
			t.Errorf("a group that may swap: %v", err)
		}
	}
	other := exec.Command("sleep", "60")
	must(t, "start", other.Start())
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	must(t, "move", os.WriteFile(filepath.Join(cgroup.Root, "pids", p.CgroupsPath, "cgroup.procs"), []byte(strconv.Itoa(other.Process.Pid)), 0))
	if err := Check(p, spec, s); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), "others are in its group") {
		t.Errorf("another process in the group: %v", err)
	}
	must(t, "move back", os.WriteFile(filepath.Join(cgroup.Root, "pids", "cgroup.procs"), []byte(strconv.Itoa(other.Process.Pid)), 0))
	must(t, "a thread of ours", onThread(func() error {
		if err := cgroup.EnterThread(cgroup.Root, p.CgroupsPath); err != nil {
			return err
		}
		if err := Check(p, spec, s); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), "others are in its group") {
			t.Errorf("a thread of ours in the group: %v", err)
		}
		return nil
	}))
	must(t, "kill", s.Signal(unix.SIGKILL))
	<-s.Ended()
	if err := Check(p, spec, s); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), "it has ended") {
		t.Errorf("one that has ended: %v", err)
	}
}

// What process 1 has open lies on mounts of its own: the host's /dev/null has the same
// name as the sandbox's, and another mount.
func TestCheckSeesDescriptors(t *testing.T) {
	s := made(t, maker(t), bed(t))
	defer s.Forget()
	f, err := os.Open(procFile(s.Pid, "mountinfo"))
	must(t, "mounts", err)
	defer f.Close()
	list, err := mountinfo.GetMountsFromReader(f, nil)
	must(t, "mounts", err)
	ids := map[string]bool{}
	for _, m := range list {
		ids[strconv.Itoa(m.ID)] = true
	}
	c, err := look(s.Pid)
	must(t, "look", err)
	defer c.close()
	if c.descriptors(ids); c.errs != nil {
		t.Errorf("its own: %v", errors.Join(c.errs...))
	}
	cmd := exec.Command("sleep", "60") // has /dev/null open, on the host's mount
	must(t, "start", cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	c, err = look(cmd.Process.Pid)
	must(t, "look", err)
	defer c.close()
	if c.descriptors(ids); !strings.Contains(fmt.Sprint(c.errs), "descriptor 0 lies outside of its mounts") {
		t.Errorf("/dev/null of the host: %v", c.errs)
	}
}

// A gate that systemd has given a filter of its own does not take that for the sandbox's.
func TestCheckSeesMissingFilter(t *testing.T) {
	p := bed(t)
	spec, err := sandbox.Spec(p)
	must(t, "spec", err)
	s := made(t, maker(t), p)
	defer s.Forget()
	must(t, "check under a filter", onThread(func() error {
		allow := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
		prog := unix.SockFprog{Len: 1, Filter: &allow[0]}
		// Of this thread only, which ends.
		if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
			return err
		}
		// One filter was the gate's then, and none is the sandbox's.
		if err := Check(p, spec, s); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), "Seccomp_filters of a thread") {
			t.Errorf("no filter but the gate's: %v", err)
		}
		return nil
	}))
}

func BenchmarkMake(b *testing.B) {
	p := bed(b)
	host, err := sandbox.Probe()
	must(b, "host", err)
	m, err := NewMaker(host)
	must(b, "maker", err)
	group := p.CgroupsPath
	var before, after, kids0, kids1 unix.Rusage
	must(b, "usage", unix.Getrusage(unix.RUSAGE_SELF, &before))
	must(b, "usage", unix.Getrusage(unix.RUSAGE_CHILDREN, &kids0))
	var make, end time.Duration
	n := 0
	for b.Loop() {
		n++
		began := time.Now()
		s, err := m.Make(b.Context(), p)
		must(b, "make", err)
		made := time.Now()
		must(b, "signal", s.Signal(unix.SIGKILL))
		<-s.Ended()
		s.Forget()
		must(b, "kill", cgroup.Kill(cgroup.Root, group))
		must(b, "remove", cgroup.Remove(cgroup.Root, group))
		make += made.Sub(began)
		end += time.Since(made)
	}
	must(b, "close", m.Close()) // the forker is a child that has ended then
	must(b, "usage", unix.Getrusage(unix.RUSAGE_SELF, &after))
	must(b, "usage", unix.Getrusage(unix.RUSAGE_CHILDREN, &kids1))
	cpu := func(u unix.Rusage) float64 { return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6 }
	b.ReportMetric(float64(make.Microseconds())/1000/float64(n), "make-ms")
	b.ReportMetric(float64(end.Microseconds())/1000/float64(n), "end-ms")
	b.ReportMetric((cpu(after)-cpu(before))/float64(n), "cpu-ms")
	b.ReportMetric((cpu(kids1)-cpu(kids0))/float64(n), "children-cpu-ms")
}
