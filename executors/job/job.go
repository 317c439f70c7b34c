// Package job is the agreement between the host side of the container executor
// and threegate-init, process 1 of every sandbox: the files of the folder that
// both see, on the host a task's box, inside /gate.
//
// The folder is mode 0700 root and tmpfs. The payload runs under another uid
// and never gets near it, so what lies here was written by the gate or by
// threegate-init; a reader still bounds what it reads. No text that the payload
// chose is ever stored in these files, streams excepted.
package job

import (
	"syscall"
	"time"
)

// Where the folder and init itself lie inside a sandbox.
const (
	Dir      = "/gate"
	InitPath = "/gate-init"
	// OutDir is the payload's own folder.
	OutDir = "/out"
)

// Names inside the folder.
const (
	// SpecFile is written by the host before the start (atomically, by rename).
	SpecFile = "job.json"
	// NudgeFile, a named pipe, is there if the sandbox was made ahead of need:
	// init waits on it until there is a SpecFile, and again until there is a BeginFile.
	NudgeFile = "nudge"
	// BeginFile lets the job begin, in a sandbox with a NudgeFile; in others it begins by itself.
	BeginFile = "begin"
	// AheadFile, if present, says what init makes ready before there is a SpecFile. It is
	// written by the host (by rename) to a sandbox that it has found sound.
	AheadFile = "ahead.json"
	// DoneFile, a named pipe, gets a byte once ResultFile is there.
	DoneFile = "done"
	// StdinFile, if present, is the payload's standard input, else /dev/null is.
	StdinFile = "stdin"
	// StartedFile is written before the first instruction of the payload, or before one
	// that was started ahead may begin the job. Without it, a FailureFile says that nothing
	// of the request ran.
	StartedFile = "started.json"
	// StdoutFile and StderrFile are the kept bytes of the streams.
	StdoutFile = "stdout"
	StderrFile = "stderr"
	// ResultFile is written, by rename, once nothing of the payload lives any more, or, if
	// it says so, is halted and about to go.
	ResultFile = "result.json"
	// FailureFile holds one line saying why init could not do its work.
	FailureFile = "failure"
)

// MaxFileBytes bounds every JSON file of the folder.
const MaxFileBytes = 16 << 20

// LastWordFD is where a payload says its last word, see Ahead.
const LastWordFD = 3

// Payload identity inside a user namespace, and in /etc/passwd. Without one each
// run has an id of its own. It is init that asks: the payload is who owns /out.
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
	// ExitInit is init's own when it could not do its work; there may be no result then.
	ExitInit = 125
)

// Arguments that make threegate-init something else than process 1 of a sandbox.
const (
	MontyMode = "monty" // the Monty driver; a path that follows is an interpreter to start before the job comes
	// MontyLastWord, behind that path, tells it that it has LastWordFD.
	MontyLastWord = "last-word"
	PostureMode   = "posture" // the self-test
	TrialMode     = "trial"   // what a user namespace must allow, see package sandbox
)

// Spec is job.json: what init runs and within which bounds.
type Spec struct {
	ID   string   `json:"id"`
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	// Time is the wall clock limit, counted from the start of the payload.
	Time        time.Duration `json:"time"`
	StdoutBytes int64         `json:"stdout_bytes"`
	StderrBytes int64         `json:"stderr_bytes"`
	// CPUSeconds, if above 0, lowers the cpu time limit of each process, which a
	// sandbox made ahead of need has only in general.
	CPUSeconds uint64 `json:"cpu_seconds,omitempty"`
	// HostKernel makes init refuse to start the payload unless it sees a seccomp
	// filter in force and a root that is ro, nosuid and nodev. Runtimes with a
	// kernel of their own do not show these.
	HostKernel bool `json:"host_kernel"`
}

// Ahead is ahead.json: what is made ready before anything of a request is known. It
// serves one job.
type Ahead struct {
	// Argv is a payload that gets all that it needs of a request on its standard input: it
	// is started, runs as any payload does, and serves a job whose Argv is For and whose Env
	// is its own. It has its input once the job is there. Without one only what each job needs
	// is made ready.
	For  []string `json:"for,omitempty"`
	Argv []string `json:"argv,omitempty"`
	Env  []string `json:"env,omitempty"`
	// Word is what init writes behind the input once the job may begin. The input's end alone
	// says nothing: it also comes when init dies.
	Word string `json:"word,omitempty"`
	// LastWord gives Argv a descriptor, LastWordFD. It writes its exit code there, one byte,
	// once it has written all that it will, and waits to be killed: the end of a process takes
	// the kernel longer.
	LastWord   bool `json:"last_word,omitempty"`
	HostKernel bool `json:"host_kernel"` // as in Spec
}

// Started is started.json.
type Started struct {
	At time.Time `json:"at"`
	// Monotonic is CLOCK_MONOTONIC at the start, which host and sandbox share:
	// the host's own deadline is counted from it.
	Monotonic time.Duration `json:"monotonic"`
}

// Result is result.json: how the payload ended.
type Result struct {
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
	// Halted: it has said how it ends and was stopped, OutDir was empty then, and it goes with
	// init: what of it might still run, as a program can have itself go on, leaves nothing that
	// is collected. CPU and MaxRSS are not known; the control group counts them, with OwnCPU,
	// which is what init used.
	Halted bool          `json:"halted,omitempty"`
	OwnCPU time.Duration `json:"own_cpu,omitempty"`
	Stdout Stream        `json:"stdout"`
	Stderr Stream        `json:"stderr"`
}

// Stream counts one stream: bytes written by the payload, bytes kept.
type Stream struct {
	Total int64 `json:"total"`
	Kept  int64 `json:"kept"`
}
