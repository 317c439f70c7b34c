package container

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/monty"
	"github.com/threegate/tool-exec/schemas"
)

// TestJudge goes through what can be known of an end; cases that need a broken
// host or a tie between two limits can't be had in a container test.
func TestJudge(t *testing.T) {
	type causes = []schemas.Cause
	oom := cgroup.Usage{OOMKills: 1, MemoryPeak: 1 << 20, CPU: time.Second}
	pids := cgroup.Usage{PidsMax: 3}
	task := executors.Task{Backend: schemas.BackendMonty}
	tests := []struct {
		name  string
		ev    evidence
		code  int
		cause schemas.Cause
		hit   causes
	}{
		{"success", evidence{exit: &job.Exit{}}, 0, schemas.CauseNone, nil},
		{"failure", evidence{exit: &job.Exit{ExitCode: 3}}, 3, schemas.CauseNone, nil},
		{"success after a child was killed for memory", evidence{exit: &job.Exit{}, usage: oom}, 0,
			schemas.CauseNone, causes{schemas.CauseMemory}},
		{"failure after a child was killed for memory", evidence{exit: &job.Exit{ExitCode: 1}, usage: oom}, 1,
			schemas.CauseMemory, causes{schemas.CauseMemory}},
		{"time goes before memory", evidence{exit: &job.Exit{ExitCode: 124, Signal: 9, TimedOut: true}, usage: oom},
			124, schemas.CauseTime, causes{schemas.CauseTime, schemas.CauseMemory}},
		{"memory goes before signal", evidence{exit: &job.Exit{ExitCode: 137, Signal: 9}, usage: oom}, 137,
			schemas.CauseMemory, causes{schemas.CauseMemory}},
		{"refused forks, yet success", evidence{exit: &job.Exit{}, usage: pids}, 0, schemas.CauseNone,
			causes{schemas.CauseProcesses}},
		{"refused forks", evidence{exit: &job.Exit{ExitCode: 1}, usage: pids}, 1, schemas.CauseProcesses,
			causes{schemas.CauseProcesses}},
		{"cpu time by hand", evidence{exit: &job.Exit{ExitCode: 152, Signal: int(unix.SIGXCPU)}}, 152,
			schemas.CauseSignal, nil},
		{"cpu time", evidence{exit: &job.Exit{ExitCode: 152, Signal: int(unix.SIGXCPU), CPU: time.Hour}}, 152,
			schemas.CauseCPU, causes{schemas.CauseCPU}},
		{"file size", evidence{exit: &job.Exit{ExitCode: 153, Signal: int(unix.SIGXFSZ)}}, 153, schemas.CauseDisk,
			causes{schemas.CauseDisk}},
		{"full, yet success", evidence{exit: &job.Exit{}, outFull: true}, 0, schemas.CauseNone,
			causes{schemas.CauseDisk}},
		{"full", evidence{exit: &job.Exit{ExitCode: 1}, outFull: true, tmpFull: true}, 1, schemas.CauseDisk,
			causes{schemas.CauseDisk}},
		{"output cut", evidence{exit: &job.Exit{Stdout: job.Stream{Total: 9, Kept: 4}}}, 0, schemas.CauseNone,
			causes{schemas.CauseOutput}},
		{"not found", evidence{exit: &job.Exit{ExitCode: 127, StartErrno: unix.ENOENT}}, 127, schemas.CauseStart, nil},
		{"not startable within its processes", evidence{exit: &job.Exit{ExitCode: 126, StartErrno: unix.EAGAIN},
			usage: pids}, 126, schemas.CauseStart, nil},
		{"stopped by the node", evidence{exit: &job.Exit{ExitCode: 137, Signal: 9, Stopped: true},
			end: &endRecord{}}, exitUnknown, schemas.CauseInterrupted, nil},
		{"stopped at the host's deadline", evidence{exit: &job.Exit{ExitCode: 137, Signal: 9, Stopped: true},
			end: &endRecord{Deadline: true}}, 124, schemas.CauseTime, causes{schemas.CauseTime}},
		{"ended by itself while it was being stopped", evidence{exit: &job.Exit{ExitCode: 5}, end: &endRecord{}}, 5,
			schemas.CauseNone, nil},
		{"interpreter's time", evidence{task: task, exit: &job.Exit{ExitCode: monty.ExitTime}}, monty.ExitTime,
			schemas.CauseTime, causes{schemas.CauseTime}},
		{"interpreter's memory", evidence{task: task, exit: &job.Exit{ExitCode: monty.ExitMemory}},
			monty.ExitMemory, schemas.CauseMemory, causes{schemas.CauseMemory}},
		{"interpreter not found", evidence{task: task, exit: &job.Exit{ExitCode: monty.ExitNotFound}}, monty.ExitNotFound,
			schemas.CauseStart, nil},
		{"interpreter not executable", evidence{task: task, exit: &job.Exit{ExitCode: monty.ExitNotExecutable}},
			monty.ExitNotExecutable, schemas.CauseStart, nil},
		{"interpreter broken", evidence{task: task, exit: &job.Exit{ExitCode: monty.ExitInterpreter}}, monty.ExitInterpreter,
			schemas.CauseNone, nil},
		{"exception", evidence{task: task, exit: &job.Exit{ExitCode: monty.ExitException}}, monty.ExitException,
			schemas.CauseNone, nil},
		{"the same codes mean nothing of an ERA program", evidence{exit: &job.Exit{ExitCode: monty.ExitTime}},
			monty.ExitTime, schemas.CauseNone, nil},
		{"init killed for memory", evidence{usage: oom}, 137, schemas.CauseMemory, causes{schemas.CauseMemory}},
		{"init killed at the host's deadline", evidence{end: &endRecord{Deadline: true}}, 124, schemas.CauseTime,
			causes{schemas.CauseTime}},
		{"killed by the node", evidence{end: &endRecord{}}, exitUnknown, schemas.CauseInterrupted, nil},
		{"killed from outside", evidence{ended: time.Now()}, exitUnknown, schemas.CauseInterrupted, nil},
		{"init failed", evidence{failure: "the sandbox has no seccomp filter"}, exitUnknown,
			schemas.CauseInterrupted, nil},
		{"nothing is known", evidence{}, exitUnknown, schemas.CauseInterrupted, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := judge(tt.ev)
			if out.ExitCode != tt.code || out.Cause != tt.cause || !slices.Equal(out.LimitsHit, tt.hit) {
				t.Errorf("got %d %s %v, want %d %s %v", out.ExitCode, out.Cause, out.LimitsHit, tt.code, tt.cause,
					tt.hit)
			}
			if !slices.Contains(schemas.Causes, out.Cause) {
				t.Errorf("unknown cause %q", out.Cause)
			}
			if out.Cause != schemas.CauseNone && out.Detail == "" {
				t.Error("no detail")
			}
			if strings.ContainsAny(out.Detail, "\n\r") {
				t.Errorf("detail %q is not one line", out.Detail)
			}
		})
	}
}

func TestJudgeTimes(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	out := judge(evidence{started: &job.Started{At: at}, ended: at.Add(3 * time.Second)})
	if !out.StartedAt.Equal(at) || out.Wall != 3*time.Second {
		t.Errorf("%+v", out)
	}
	out = judge(evidence{told: &startRecord{At: at}, ended: at})
	if !out.StartedAt.Equal(at) || !out.FinishedAt.Equal(at) || out.Wall != 0 {
		t.Errorf("%+v", out)
	}
}
