package container

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/schemas"
)

// limitRow is a limit: what a task asks for, what the kernel says, and what comes
// of a program that goes beyond.
type limitRow struct {
	name, asked string
	// applied reads the limit back while the sandbox exists, and want is what it says then.
	applied func(t *testing.T, k kernel) string
	want    string
	// late: a slot is told with its payload.
	late   bool
	argv   []string // the program that goes beyond
	change func(*executors.Limits)
	// observed says how far it came, and whether that is within the limit.
	observed func(t *testing.T, r ran) (string, bool)
	code     int
	cause    schemas.Cause
	hit      []schemas.Cause
}

// kernel is where a sandbox's limits are read back.
type kernel struct {
	group  string // its control group
	pid    uint32 // process 1
	runDir runDir
}

func (k kernel) group1(t *testing.T, v1, v2 string) string {
	t.Helper()
	path := filepath.Join(cgroup.Root, filepath.Dir(v1), k.group, filepath.Base(v1))
	if cgroup.Unified(cgroup.Root) {
		path = filepath.Join(cgroup.Root, k.group, v2)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

func (k kernel) rlimit(t *testing.T, resource int) string {
	t.Helper()
	var r unix.Rlimit
	if err := unix.Prlimit(int(k.pid), resource, nil, &r); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(r.Cur)
}

func (k kernel) tmpfs(t *testing.T, dir string) (bytes, inodes string) {
	t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs(k.runDir.path(dir), &fs); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(int64(fs.Blocks) * fs.Bsize), fmt.Sprint(fs.Files)
}

// peakSlack: what the kernel can't refuse to itself may go beyond for an instant.
const peakSlack = 1 << 20

// patience bounds a wait for what must come; it decides no outcome.
const patience = 2 * time.Minute

// wallSlack is how much later than its limit a run that never ends by itself may be
// seen to end on a busy machine.
const wallSlack = patience

func limitRows() []limitRow {
	const C0 = schemas.CauseNone
	one := func(c schemas.Cause) []schemas.Cause { return []schemas.Cause{c} }
	kept := func(which string) func(*testing.T, ran) (string, bool) {
		return func(_ *testing.T, r ran) (string, bool) {
			s := r.Stdout
			if which == "stderr" {
				s = r.Stderr
			}
			return fmt.Sprintf("kept %d of %d bytes", s.Kept, s.Total), s.Kept == 1<<20 && s.Total == 40*4096*16
		}
	}
	size := func(name string, limit int64) func(*testing.T, ran) (string, bool) {
		return func(_ *testing.T, r ran) (string, bool) {
			for _, f := range r.Files {
				if f.Path == name {
					return fmt.Sprintf("%d bytes, kept", f.Size), f.Size <= limit && f.Size > limit*9/10
				}
			}
			return "nothing was kept", false
		}
	}
	says := func(want string) func(*testing.T, ran) (string, bool) {
		return func(t *testing.T, r ran) (string, bool) {
			got := strings.TrimSpace(r.stdout(t) + r.stderr(t))
			return got, strings.Contains(got, want)
		}
	}
	return []limitRow{
		{"memory", "128 MiB", func(t *testing.T, k kernel) string {
			return k.group1(t, "memory/memory.limit_in_bytes", "memory.max")
		}, fmt.Sprint(128<<20 + job.InitMemoryBytes), false, []string{"alloc", "512"}, nil,
			func(_ *testing.T, r ran) (string, bool) {
				return fmt.Sprintf("peak %d MiB", r.PeakMemoryBytes>>20),
					r.PeakMemoryBytes <= 128<<20+job.InitMemoryBytes+peakSlack
			}, 137, schemas.CauseMemory, one(schemas.CauseMemory)},
		{"swap", "none", func(t *testing.T, k kernel) string {
			if cgroup.Unified(cgroup.Root) {
				return k.group1(t, "", "memory.swap.max")
			}
			// With memory: what swap could hold beyond it is nothing.
			return k.group1(t, "memory/memory.memsw.limit_in_bytes", "")
		}, map[bool]string{true: "0",
			false: fmt.Sprint(128<<20 + job.InitMemoryBytes)}[cgroup.Unified(cgroup.Root)], false,
			[]string{"alloc", "512"}, nil,
			func(_ *testing.T, r ran) (string, bool) {
				return fmt.Sprintf("ended at %d MiB", r.PeakMemoryBytes>>20),
					r.PeakMemoryBytes <= 128<<20+job.InitMemoryBytes+peakSlack
			}, 137, schemas.CauseMemory, one(schemas.CauseMemory)},
		{"cpu", "0.25 cores", func(t *testing.T, k kernel) string {
			if cgroup.Unified(cgroup.Root) {
				return k.group1(t, "", "cpu.max")
			}
			return k.group1(t, "cpu/cpu.cfs_quota_us", "") + " " + k.group1(t, "cpu/cpu.cfs_period_us", "")
		}, "6250 25000", false, []string{"spin"}, func(l *executors.Limits) {
			l.MilliCPU, l.Time = 250,
				2*time.Second
		}, func(_ *testing.T, r ran) (string, bool) {
			return fmt.Sprintf("%.2f s of cpu in %.2f s", r.CPU.Seconds(), r.Wall.Seconds()), r.CPU < r.Wall/4+r.Wall/10
		}, 124, schemas.CauseTime, one(schemas.CauseTime)},
		{name: "cpu time", asked: "1 s", applied: func(t *testing.T,
			k kernel) string {
			return k.rlimit(t, unix.RLIMIT_CPU)
		}, want: "1", late: true,
			argv: []string{"burn"}, change: func(l *executors.Limits) {
				l.CPUTime, l.Time = time.Second,
					time.Minute
			}, observed: func(_ *testing.T, r ran) (string, bool) {
				return fmt.Sprintf("%.2f s of cpu", r.CPU.Seconds()), r.CPU > 700*time.Millisecond &&
					r.CPU < 2*time.Second
			}, code: 152, cause: schemas.CauseCPU, hit: one(schemas.CauseCPU)},
		{"wall clock", "1 s", nil, "", false, []string{"stubborn"},
			func(l *executors.Limits) { l.Time = time.Second }, func(_ *testing.T, r ran) (string, bool) {
				return fmt.Sprintf("%.2f s", r.Wall.Seconds()), r.Wall >= time.Second && r.Wall < time.Second+wallSlack
			}, 124, schemas.CauseTime, one(schemas.CauseTime)},
		{"processes", "32", func(t *testing.T, k kernel) string { return k.group1(t, "pids/pids.max", "pids.max") },
			fmt.Sprint(32 + job.InitPids), false, []string{"forks"}, nil, func(t *testing.T, r ran) (string, bool) {
				n := strings.Count(r.stdout(t), "ready")
				return fmt.Sprintf("%d programs of several threads", n),
					strings.Contains(r.Detail, "32 processes") && n > 0 && n < 32
			}, 1, schemas.CauseProcesses, one(schemas.CauseProcesses)},
		{"open files", "64", func(t *testing.T, k kernel) string { return k.rlimit(t, unix.RLIMIT_NOFILE) }, "64",
			false, []string{"openfiles"}, nil, says("64 too many open files"), 1, C0, nil},
		{"size of /out", "4 MiB", func(t *testing.T, k kernel) string { s, _ := k.tmpfs(t, outDir); return s },
			fmt.Sprint(4 << 20),
			false, []string{"fill", "/out/big"}, nil, size("big", 4<<20), 1, schemas.CauseDisk, one(schemas.CauseDisk)},
		{"files in /out", "100", func(t *testing.T, k kernel) string { _, n := k.tmpfs(t, outDir); return n },
			fmt.Sprint(100 + 1),
			false, []string{"inodes", "/out"}, nil, says("100"), 1, schemas.CauseDisk, one(schemas.CauseDisk)},
		{"size of /tmp", "8 MiB", func(t *testing.T, k kernel) string { s, _ := k.tmpfs(t, scratchDir); return s },
			fmt.Sprint(8 << 20),
			false, []string{"fill", "/tmp/big"}, nil, says("no space left"), 1, schemas.CauseDisk,
			one(schemas.CauseDisk)},
		{"files in /tmp", "2048", func(t *testing.T, k kernel) string { _, n := k.tmpfs(t, scratchDir); return n },
			fmt.Sprint(2048 + scratchInodes),
			false, []string{"inodes", "/tmp"}, nil, says("2048"), 1, schemas.CauseDisk, one(schemas.CauseDisk)},
		{"size of /dev/shm", "with /tmp", func(t *testing.T, k kernel) string {
			s,
				_ := k.tmpfs(t, scratchDir)
			return s
		}, fmt.Sprint(8 << 20),
			false, []string{"fill", "/dev/shm/big"}, nil, says("no space left"), 1, schemas.CauseDisk,
			one(schemas.CauseDisk)},
		{"locked memory", "64 KiB", func(t *testing.T, k kernel) string { return k.rlimit(t, unix.RLIMIT_MEMLOCK) },
			fmt.Sprint(64 << 10),
			false, []string{"lock"}, nil, says("locked 65536"), 1, C0, nil},
		{"timers, signals", "1024", func(t *testing.T,
			k kernel) string {
			return k.rlimit(t, unix.RLIMIT_SIGPENDING)
		}, "1024",
			false, []string{"timers"}, nil, says("1024 resource temporarily"), 1, C0, nil},
		{"core dumps", "none", func(t *testing.T, k kernel) string { return k.rlimit(t, unix.RLIMIT_CORE) }, "0",
			false, []string{"dump"}, nil, func(_ *testing.T, r ran) (string, bool) {
				return fmt.Sprintf("%d files were left", len(r.Files)), len(r.Files) == 0
			}, 134, schemas.CauseSignal, nil},
		{"one file's size", "9 MiB", func(t *testing.T, k kernel) string { return k.rlimit(t, unix.RLIMIT_FSIZE) },
			fmt.Sprint(8<<20 + fileSlack),
			false, []string{"grow", "/tmp/big"}, nil, says("grew to 9437184"), 153, schemas.CauseDisk,
			one(schemas.CauseDisk)},
		{"stdout", "1 MiB", nil, "", false, []string{"flood", "stdout", "40"}, nil, kept("stdout"), 0, C0,
			one(schemas.CauseOutput)},
		{"stderr", "1 MiB", nil, "", false, []string{"flood", "stderr", "40"}, nil, kept("stderr"), 0, C0,
			one(schemas.CauseOutput)},
	}
}

// TestLimitsTable goes beyond every limit: asked for, applied as the kernel reads
// it back, observed, and the cause that is reported.
func TestLimitsTable(t *testing.T) {
	e := open(t)
	var table strings.Builder
	fmt.Fprintf(&table, "%-16s %-11s %-14s %-34s %-7s %s\n", "limit", "asked for", "applied", "observed", "cause",
		"limits touched")
	for _, row := range limitRows() {
		t.Run(row.name, func(t *testing.T) {
			task := newTask(row.argv...)
			if row.change != nil {
				row.change(&task.Limits)
			}
			must(t, "Prepare", e.Prepare(t.Context(), task))
			applied := "by init"
			if row.late {
				must(t, "Start", e.Start(t.Context(), task.ID))
			}
			if row.applied != nil {
				b, err := e.runDirOf(task.ID)
				must(t, "box", err)
				live := mustTask(t, e, task.ID)
				k := kernel{group: e.cgroupOf(e.containerOf(task.ID)), pid: live.Pid(), runDir: b}
				for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
					if applied = row.applied(t, k); applied == row.want || !row.late || time.Now().After(end) {
						break
					}
				}
				if applied != row.want {
					t.Errorf("the kernel has %s, want %s", applied, row.want)
				}
			}
			must(t, "Start", e.Start(t.Context(), task.ID))
			r := finish(t, e, task.ID)
			seen, ok := row.observed(t, r)
			if !ok {
				t.Errorf("observed: %s", seen)
			}
			if r.ExitCode != row.code || r.Cause != row.cause || !slices.Equal(r.LimitsHit, row.hit) {
				t.Errorf("got %d %s %v, want %d %s %v", r.ExitCode, r.Cause, r.LimitsHit, row.code, row.cause, row.hit)
			}
			if r.PeakMemoryBytes <= 0 || r.CPU <= 0 || r.Wall <= 0 || r.FinishedAt.Before(r.StartedAt) {
				t.Errorf("not told: peak memory %d, cpu %v, wall %v", r.PeakMemoryBytes, r.CPU, r.Wall)
			}
			first, _, _ := strings.Cut(seen, "\n")
			fmt.Fprintf(&table, "%-16s %-11s %-14s %-34s %-7s %v\n", row.name, row.asked, applied, first, r.Cause,
				r.LimitsHit)
		})
	}
	t.Logf("limits:\n%s", table.String())
}

// What a program left before it hit a limit is collected whole, whichever limit that
// was and however it ended.
func TestKeptBeforeALimit(t *testing.T) {
	e := open(t)
	for _, tt := range []struct {
		argv   string
		change func(*executors.Limits)
		cause  schemas.Cause
		hit    schemas.Cause
	}{
		{"alloc 512", func(*executors.Limits) {}, schemas.CauseMemory, schemas.CauseMemory},
		{"stubborn", func(l *executors.Limits) { l.Time = 4 * time.Second }, schemas.CauseTime, schemas.CauseTime},
		{"burn", func(l *executors.Limits) { l.CPUTime = time.Second }, schemas.CauseCPU, schemas.CauseCPU},
		{"forks", func(*executors.Limits) {}, schemas.CauseProcesses, schemas.CauseProcesses},
		{"fill /out/big", func(*executors.Limits) {}, schemas.CauseDisk, schemas.CauseDisk},
		{"inodes /out", func(*executors.Limits) {}, schemas.CauseDisk, schemas.CauseDisk},
		{"fill /tmp/big", func(*executors.Limits) {}, schemas.CauseDisk, schemas.CauseDisk},
		{"flood stdout 40", func(*executors.Limits) {}, schemas.CauseNone, schemas.CauseOutput},
		{"flood stderr 40", func(*executors.Limits) {}, schemas.CauseNone, schemas.CauseOutput},
	} {
		t.Run(tt.argv, func(t *testing.T) {
			task := newTask(append([]string{"after"}, strings.Fields(tt.argv)...)...)
			tt.change(&task.Limits)
			r := run(t, e, task)
			if r.Cause != tt.cause || !slices.Contains(r.LimitsHit, tt.hit) {
				t.Errorf("%s %v, want %s %s: %s", r.Cause, r.LimitsHit, tt.cause, tt.hit, r.Detail)
			}
			if !slices.ContainsFunc(r.Files, func(f executors.File) bool { return f.Path == "before.txt" }) ||
				r.file(t, "out/before.txt") != "before" {
				t.Errorf("what was written to /out before is lost: %v", r.Files)
			}
			if !strings.HasPrefix(r.stdout(t), "before\n") || !strings.HasPrefix(r.stderr(t), "before too\n") {
				t.Errorf("what was printed before is lost: stdout %.40q, stderr %.40q", r.stdout(t), r.stderr(t))
			}
		})
	}
}

// The deadline, and what was written before it, do not need the gate: init holds
// it alone, and the next gate finds all of it done.
func TestDeadlineWithoutGate(t *testing.T) {
	first := open(t)
	task := newTask("sleep", "60000")
	task.Limits.Time = 4 * time.Second
	must(t, "Prepare", first.Prepare(t.Context(), task))
	b, err := first.runDirOf(task.ID)
	must(t, "box", err)
	must(t, "Start", first.Start(t.Context(), task.ID))
	must(t, "Close", first.Close())
	var res job.Exit
	end := time.Now().Add(task.Limits.Time + patience)
	for ; time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = b.read(filepath.Join(gateDir, job.ExitFile), &res); err == nil {
			break
		}
	}
	must(t, "result without a gate", err)
	if !res.TimedOut || res.Wall < task.Limits.Time {
		t.Errorf("without a gate it ended like this: %+v", res)
	}
	r := finish(t, open(t), task.ID)
	if r.Cause != schemas.CauseTime || r.stdout(t) != "before\n" {
		t.Errorf("%s %s, stdout %q", r.Cause, r.Detail, r.stdout(t))
	}
}

// A clock that is not the host's says nothing about the host's deadline.
func TestTimeLeft(t *testing.T) {
	now := monotonic()
	for name, tt := range map[string]struct {
		told, started time.Duration // 0: not there
		want          time.Duration // 0: not known
	}{
		"nothing":          {0, 0, 0},
		"told":             {now - time.Second, 0, 9 * time.Second},
		"started":          {0, now - 2*time.Second, 8 * time.Second},
		"both":             {now - 5*time.Second, now - 2*time.Second, 8 * time.Second},
		"another's clock":  {now - time.Second, 40 * time.Millisecond, 9 * time.Second},
		"that clock alone": {now - time.Second, 1, 9 * time.Second},
	} {
		b := runDir(t.TempDir())
		must(t, "mkdir", os.Mkdir(b.path(gateDir), 0o700))
		if tt.told > 0 {
			must(t, "told", b.write(startFile, startRecord{Monotonic: tt.told}))
		}
		if tt.started > 0 {
			must(t, "started", b.write(filepath.Join(gateDir, job.StartedFile), job.Started{Monotonic: tt.started}))
		}
		left, known := b.timeLeft(10 * time.Second)
		passed := monotonic() - now
		if left -= deadlineGrace; known != (tt.want > 0) || known && (left > tt.want || left < tt.want-passed) {
			t.Errorf("%s: %v %v, want %v", name, left, known, tt.want)
		}
	}
}

// Two runs share nothing that the kernel counts for a user.
func TestRunsHaveIDsOfTheirOwn(t *testing.T) {
	e := open(t)
	seen := map[uint32]bool{}
	var tasks []executors.Task
	for range 2 {
		task := newTask("stubborn")
		must(t, "Prepare", e.Prepare(t.Context(), task))
		must(t, "Start", e.Start(t.Context(), task.ID))
		tasks = append(tasks, task)
		b, err := e.runDirOf(task.ID)
		must(t, "box", err)
		live := mustTask(t, e, task.ID)
		for _, path := range []string{b.path(outDir), fmt.Sprintf("/proc/%d", live.Pid())} {
			var st unix.Stat_t
			must(t, path, unix.Stat(path, &st))
			if st.Uid < 2_000_000_000 || seen[st.Uid] {
				t.Errorf("%s is of user %d: not this run's alone", path, st.Uid)
			}
			seen[st.Uid] = true
		}
		own, err := os.Readlink("/proc/self/ns/user")
		must(t, "namespace", err)
		its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", live.Pid()))
		must(t, "namespace", err)
		if own == its {
			t.Error("process 1 is in the host's user namespace")
		}
	}
	for _, task := range tasks {
		must(t, "Kill", e.Kill(t.Context(), task.ID))
		finish(t, e, task.ID)
	}
}
