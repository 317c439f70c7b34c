// Package executors defines what a backend is told and what it answers. The
// contract itself, gate.Executor, is declared by its consumer.
//
// Everything that comes out of a sandbox is hostile: sizes are bounded while
// reading, names are validated, nothing is followed or interpreted. No type of
// containerd or of the OCI leaves this folder.
package executors

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/threegate/tool-exec/schemas"
)

// Task is all that a backend needs to run one job, once.
type Task struct {
	// ID is the job's id: unique for ever, fixed width, [a-z0-9-].
	ID       string          `json:"id"`
	Backend  schemas.Backend `json:"backend"`
	Language string          `json:"language"`
	// Argv is run as it is, by no shell (ERA). Of a Monty task it is the image's own driver of the interpreter, for a
	// program that calls tools; without it the program has none, and Language means nothing.
	Argv []string `json:"argv,omitempty"`
	// Code and InputsJSON are the program and its variables (Monty).
	Code       string `json:"code,omitempty"`
	InputsJSON []byte `json:"inputs_json,omitempty"`
	// InputsDir is a host folder that the gate owns; it becomes /in, read-only.
	InputsDir string `json:"inputs_dir"`
	// GivenDir is another one, whose files lie in /in as well: what the node adds to the inputs of the request.
	GivenDir string `json:"given_dir,omitempty"`
	// Trees are files of InputsDir, by their paths below it, that are tars (see package intree): in their
	// places /in has the folders that they hold.
	Trees []string `json:"trees,omitempty"`
	// Work are the inputs, by their paths below /in, that are copied to schemas.WorkDir, where Argv begins then (ERA).
	Work []string `json:"work,omitempty"`
	// Network is none or allowlist; Domains are the node's allowed domains.
	Network schemas.Network `json:"network"`
	Domains []string        `json:"domains,omitempty"`
	Limits  Limits          `json:"limits"`
}

// BackendPosture runs the node's self-test in any of its images: no request can ask for it. Of a Task it reads id,
// network, domains and limits only.
const BackendPosture schemas.Backend = "posture"

// Limits bound one run. Every field but CPUTime must be above zero.
type Limits struct {
	MilliCPU    int           `json:"milli_cpu"`
	MemoryBytes int64         `json:"memory_bytes"` // program, /out and /tmp together; no swap
	Time        time.Duration `json:"time"`         // wall clock
	// CPUTime bounds the processor time of each process. At 0, or above it, the
	// bound is what MilliCPU gives in Time.
	CPUTime     time.Duration `json:"cpu_time,omitempty"`
	Pids        int           `json:"pids"`
	OpenFiles   int           `json:"open_files"`
	OutBytes    int64         `json:"out_bytes"` // size of /out
	OutFiles    int           `json:"out_files"` // inodes of /out
	TmpBytes    int64         `json:"tmp_bytes"` // size of /tmp
	StdoutBytes int64         `json:"stdout_bytes"`
	StderrBytes int64         `json:"stderr_bytes"`
}

// State is where a task stands with its backend.
type State string

// The states of a task.
const (
	StateAbsent  State = "absent"  // the backend knows nothing of it
	StateCreated State = "created" // all is made, no instruction of it ran
	StateRunning State = "running"
	StateExited  State = "exited" // ended; its traces wait to be collected
	// StateUnstarted: its sandbox is no more, and it is certain that no instruction
	// of the task ran or ever will. Anything less certain is StateExited.
	StateUnstarted State = "unstarted"
)

// Identity is what would run a task, or what ran it: it goes into provenance.
type Identity struct {
	Backend string `json:"backend"` // "ERA/1", "monty 0.0.23"
	Runtime string `json:"runtime"` // "containerd 1.6.20, io.containerd.runc.v2, runc 1.1.5"
	Image   string `json:"image"`   // "sha256:..."
}

// Outcome is how a task ended. It is an outcome also when the program failed, was killed or could not be started; a
// fault of the node's own is an error instead.
type Outcome struct {
	ExitCode int `json:"exit_code"`
	// Cause is what ended the program, as far as the sandbox knows: CauseNone if it ended by itself. The gate decides
	// the rest when it collects the run: see schemas.CauseOf.
	Cause schemas.Cause `json:"cause"`
	// LimitsHit names every limit that was touched, also when it did not end the run.
	LimitsHit       []schemas.Cause `json:"limits_hit,omitempty"`
	StartedAt       time.Time       `json:"started_at"`
	FinishedAt      time.Time       `json:"finished_at"`
	Wall            time.Duration   `json:"wall"`
	CPU             time.Duration   `json:"cpu"`
	PeakMemoryBytes int64           `json:"peak_memory_bytes"`
	// Detail is one line of ours, never of the sandbox ("exec: not found").
	Detail   string   `json:"detail,omitempty"`
	Identity Identity `json:"identity"`
	// NetworkDestinations are the hosts, as host:port, to which a connection was opened.
	NetworkDestinations []string `json:"network_destinations,omitempty"`
	// NetworkRefused has a line for each destination that was refused or cut off, and why.
	NetworkRefused []string `json:"network_refused,omitempty"`
	// NetworkFailed has a line for each allowed destination that was not reached. It is told because a name carries
	// data out even if it is only looked up.
	NetworkFailed []string `json:"network_failed,omitempty"`
	// NetworkMore counts what had no room in the three lists.
	NetworkMore NetworkMore `json:"network_more,omitzero"`
}

// NetworkMore counts destinations that an Outcome does not list.
type NetworkMore struct {
	Destinations int `json:"destinations,omitempty"`
	Refused      int `json:"refused,omitempty"`
	Failed       int `json:"failed,omitempty"`
}

// Collected is what was taken out of a sandbox, as files of the gate's own.
type Collected struct {
	Stdout Stream `json:"stdout"`
	Stderr Stream `json:"stderr"`
	// Timeline is set if the task told of its tool calls; the file is there then.
	Timeline *schemas.ToolCalls `json:"timeline,omitempty"`
	// Files are the regular files found below /out, sorted by path.
	Files []File `json:"files"`
	// Refused are entries that were left behind, with the reason.
	Refused []Refused `json:"refused,omitempty"`
}

// Stream is one captured stream.
type Stream struct {
	// Total counts the bytes that the program wrote, Kept those that were kept.
	Total  int64  `json:"total"`
	Kept   int64  `json:"kept"`
	SHA256 string `json:"sha256"` // of the kept bytes
}

// File is one collected output file.
type File struct {
	// Path is relative to /out, cleaned, valid UTF-8, without "..".
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Refused is an entry of /out that was not collected.
type Refused struct {
	// Path is quoted and bounded: it may have held anything.
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// ErrUnavailable says that this node has no such backend, language or network. Trying the same request again does not
// help.
var ErrUnavailable = errors.New("not available on this node")

// ErrNoImage says that an image which the configuration names is not there. The request is not at fault: the job
// waits until somebody puts the image there.
var ErrNoImage = errors.New("image is not there")

// ErrNotStarted says that a task that was to start never did, for certain: no
// instruction of it ran or ever will. It can be prepared anew.
var ErrNotStarted = errors.New("nothing of the request was run")

// WithHint adds to an error what an operator can do about it.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &hinted{err, hint}
}

// HintOf is what the outermost WithHint of an error says, or "".
func HintOf(err error) string {
	if m, ok := errors.AsType[*hinted](err); ok {
		return m.hint
	}
	return ""
}

type hinted struct {
	err  error
	hint string
}

func (m *hinted) Error() string { return m.err.Error() }
func (m *hinted) Unwrap() error { return m.err }

// FindProgram finds a program of the host where root would find it, too: in $PATH, then in the folders of the system's
// own programs. A name with a slash is a path.
func FindProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil || filepath.Base(name) != name {
		return path, err
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if path, serr := exec.LookPath(filepath.Join(dir, name)); serr == nil {
			return path, nil
		}
	}
	return "", err
}

// The main thread of a process can't end with a goroutine, and /proc/self tells of it. So
// the main goroutine keeps it: no other ever runs there, or changes its namespaces.
func init() { runtime.LockOSThread() }

// OnOwnThread calls f on a thread of its own, which ends when f returns. So whatever f changes of its thread (working
// folder, namespaces) is gone afterwards.
func OnOwnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends
		done <- f()
	}()
	return <-done
}
