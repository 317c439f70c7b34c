package job

// ForkerMode makes threegate-init a helper of the gate's that starts process 1 of
// sandboxes: a process so small that copying its page tables costs nothing, and with no
// descriptor that anybody would miss. It ends with the gate's end of its socket.
const ForkerMode = "forker"

// ForkerFD is its socket, of packets: a Birth each, with its descriptors.
const ForkerFD = 3

// Descriptors that come with a Birth, in this order.
const (
	BirthReply  = iota // a pipe that gets one Born
	BirthMounts        // the mount namespace that the new one begins as
	BirthOrders        // a pipe that tells the new process, by a byte, that its mounts are there
	BirthReady         // a pipe that it writes to, see ReadyFD
	BirthGroup         // the control group in the hierarchy of v2, if Unified
)

// ReadyFD is where a process 1 writes a byte once its /proc is mounted, and one when it
// waits for its job; or else "!", what it could not do, and a byte with the error's number.
const ReadyFD = 4

// MadeMode makes threegate-init the second half of such a process 1: the first is a
// program of system calls, see cmd/threegate-init.
const MadeMode = "made"

const (
	// MaxBirthBytes bounds a Birth.
	MaxBirthBytes = 64 << 10
	// MaxBornBytes bounds a Born, and what is written to ReadyFD: a pipe takes it at once.
	MaxBornBytes = 4 << 10
)

// Birth is what a process 1 is to be born as.
type Birth struct {
	// Group is its control group in every hierarchy of v1.
	Group   string   `json:"group"`
	Unified bool     `json:"unified,omitempty"`
	UIDs    []IDs    `json:"uids"`
	GIDs    []IDs    `json:"gids"`
	Env     []string `json:"env"`
	// What it does to itself, and nobody else can do to it.
	Hostname string  `json:"hostname"`
	Limits   []Limit `json:"limits"`
	// Filter is the seccomp filter, as an array of struct sock_filter.
	Filter []byte `json:"filter"`
}

// Limit is a resource limit, by its name in the OCI configuration.
type Limit struct {
	Name string `json:"name"`
	Soft uint64 `json:"soft"`
	Hard uint64 `json:"hard"`
}

// IDs is a row of a mapping.
type IDs struct {
	Inside int `json:"inside"`
	Host   int `json:"host"`
	Size   int `json:"size"`
}

// Born is the answer: the pid of the process, a child of the gate's, or what went wrong;
// or both, and then the process is to be ended.
type Born struct {
	Pid   int    `json:"pid,omitempty"`
	Error string `json:"error,omitempty"`
}
