// Package job is the agreement between the host side of the container executor
// and threegate-init, process 1 of every sandbox: the files of the folder that
// both see, on the host in the gate folder of a run, inside /gate.
//
// The folder is a tmpfs that only process 1 and the host's root get at. The payload
// runs under another uid, so what lies here was written by the gate or by
// threegate-init; a reader still bounds what it reads. No text that the payload
// chose is ever stored in these files, streams excepted.
package job

import (
	"slices"
	"syscall"
	"time"
)

// Where the folder and the node's two programs lie inside a sandbox.
const (
	Dir         = "/gate"
	InitPath    = "/gate-init"
	PayloadPath = "/gate-payload"
	// OutDir is the payload's own folder.
	OutDir = "/out"
)

// Names inside the folder, in the order in which they come.
const (
	// StartPipe, a named pipe, gets a byte from the host once there is a PayloadFile.
	// Where there is none init looks for the file again and again.
	StartPipe = "start"
	// DonePipe, a named pipe, gets a byte from init once there is a ReadyFile, and
	// one once there is an ExitFile.
	DonePipe = "done"
	// ReadyFile is there once init has given up its rights and waits.
	ReadyFile = "ready"
	// StdinFile, if present, is the payload's standard input, else /dev/null is.
	StdinFile = "stdin"
	// PayloadFile says what to run: it starts as soon as the host has put the file here, by rename.
	PayloadFile = "payload.json"
	// StartedFile is written before the first instruction of the payload. Without it, a
	// FailureFile says that nothing of the request ran.
	StartedFile = "started.json"
	// StdoutFile and StderrFile are the kept bytes of the streams.
	StdoutFile = "stdout"
	StderrFile = "stderr"
	// TimelineFile is what the payload wrote to TimelineFD, if it got that.
	TimelineFile = "timeline"
	// ExitFile says how the payload ended. It is written, by rename, once nothing of the payload lives any more.
	ExitFile = "exit.json"
	// FailureFile holds one line saying why init could not do its work.
	FailureFile = "failure"
)

// TimelineFD is the payload's descriptor for a timeline, if Payload.TimelineBytes is above 0.
const TimelineFD = 3

// MaxFileBytes bounds every JSON file of the folder.
const MaxFileBytes = 16 << 20

// Payload identity inside a user namespace, and in /etc/passwd. Without one each run has ids of its own: init takes
// those of the owner of /out.
const (
	PayloadUID = 64017
	PayloadGID = 64017
)

// Allowances of init, added to the limits of the payload.
const (
	// InitPids is how many threads init may have (it makes them before the payload starts).
	InitPids = 16
	// InitMemoryBytes is what init itself may use.
	InitMemoryBytes = 8 << 20
)

// Exit codes of a run that the payload did not choose.
const (
	ExitTime       = 124
	ExitNotExec    = 126
	ExitNotFound   = 127
	ExitSignalBase = 128
	// CPUHardLater is by how many seconds SIGKILL comes after SIGXCPU.
	CPUHardLater = 2
	// ExitInit is init's own when it could not do its work; there may be no ExitFile then.
	ExitInit = 125
)

// TrialMode, as the argument of threegate-init, tries in a user namespace what a sandbox needs of it. Without an
// argument threegate-init is process 1.
const TrialMode = "trial"

// Modes of threegate-payload, its first argument.
const (
	// MontyMode runs the code of a Monty request; its job comes on stdin.
	MontyMode = "monty"
	// PostureMode is the self-test.
	PostureMode = "posture"
	// WorkMode makes the working folder of a run and becomes its program.
	WorkMode = "work"
)

// WorkEnd divides the paths of WorkArgv from the command.
const WorkEnd = "--"

// WorkArgv is the command line that copies the paths, which are relative to /in, to the new folder work, and then
// runs argv there.
func WorkArgv(work string, paths, argv []string) []string {
	return slices.Concat([]string{PayloadPath, WorkMode, work}, paths, []string{WorkEnd}, argv)
}

// Payload is payload.json: what init runs and within which bounds.
type Payload struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	// Time is the wall clock limit, counted from the start of the payload.
	Time        time.Duration `json:"time"`
	StdoutBytes int64         `json:"stdout_bytes"`
	StderrBytes int64         `json:"stderr_bytes"`
	// TimelineBytes, if above 0, gives the payload TimelineFD, and is how much of what it writes there is kept.
	TimelineBytes int64 `json:"timeline_bytes,omitempty"`
	// CPUSeconds, if above 0, lowers the cpu time limit of each process, which a slot
	// has only in general.
	CPUSeconds uint64 `json:"cpu_seconds,omitempty"`
	// HostKernel makes init refuse to start the payload unless it sees a seccomp
	// filter in force and a root that is ro, nosuid and nodev. Runtimes with a
	// kernel of their own do not show these.
	HostKernel bool `json:"host_kernel"`
}

// Started is started.json.
type Started struct {
	At time.Time `json:"at"`
	// Monotonic is CLOCK_MONOTONIC at the start, which host and sandbox share:
	// the host's own deadline is counted from it.
	Monotonic time.Duration `json:"monotonic"`
}

// Exit is exit.json: how the payload ended.
type Exit struct {
	// ExitCode is the payload's, or one of the constants above.
	ExitCode int `json:"exit_code"`
	// Signal is the number of the signal that ended the main process, or 0.
	Signal     int           `json:"signal,omitempty"`
	StartedAt  time.Time     `json:"started_at"`
	FinishedAt time.Time     `json:"finished_at"`
	Wall       time.Duration `json:"wall"`
	// CPU is user and system time of the payload and all of its children.
	CPU time.Duration `json:"cpu"`
	// MaxRSS is the largest resident set of a single process, in bytes.
	MaxRSS int64 `json:"max_rss"`
	// TimedOut: the wall clock limit ended it. Stopped: the host asked for the end.
	TimedOut bool `json:"timed_out,omitempty"`
	Stopped  bool `json:"stopped,omitempty"`
	// StartErrno is set when the payload could not be executed.
	StartErrno syscall.Errno `json:"start_errno,omitempty"`
	Stdout     Stream        `json:"stdout"`
	Stderr     Stream        `json:"stderr"`
	Timeline   Stream        `json:"timeline,omitzero"`
}

// Stream counts one stream: bytes written by the payload, bytes kept.
type Stream struct {
	Total int64 `json:"total"`
	Kept  int64 `json:"kept"`
}
