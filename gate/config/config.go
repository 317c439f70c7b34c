// Package config reads threegate.yaml: strictly, with a default that is safe
// for every key, and remembering where each value came from.
package config

import (
	"cmp"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
)

// FileName is the configuration's name in a node's folder.
const FileName = "threegate.yaml"

// Version is the version of the registry format that this build reads.
const Version = 1

// Config is the whole effective configuration. Relative paths are relative to
// the node's folder until Load has made them absolute.
type Config struct {
	Version     int          `yaml:"version"`
	Node        NodeSettings `yaml:"node"`
	Inboxes     []Inbox      `yaml:"inboxes"`
	CoreInbound CoreInbound  `yaml:"core_inbound"`
	CoreNotices CoreNotices  `yaml:"core_notices"`
	Access      Access       `yaml:"access"`
	Network     Network      `yaml:"network"`
	// ShellAllow, when present, are regular expressions of which one must match the command line.
	ShellAllow []string    `yaml:"shell_allow"`
	Validators []Validator `yaml:"validators"`
	Approvals  Approvals   `yaml:"approvals"`
	Limits     Limits      `yaml:"limits"`
	Backends   Backends    `yaml:"backends"`
	Slots      Slots       `yaml:"slots"`
	Containerd Containerd  `yaml:"containerd"`
	Results    Results     `yaml:"results"`
	Posture    Posture     `yaml:"posture"`
	Metrics    Metrics     `yaml:"metrics"`
	Hooks      []Hook      `yaml:"hooks"`
	Tools      Tools       `yaml:"tools"`
}

// NodeSettings names the node and bounds its work.
type NodeSettings struct {
	// Name appears in provenance.
	Name string `yaml:"name"`
	// Origin is the name of the node's record among all logs that a witness signs. Empty is Name.
	Origin string `yaml:"origin"`
	// Concurrency is how many jobs run at once.
	Concurrency int `yaml:"concurrency"`
	// Sweep is how often inboxes are read whatever the watcher says.
	Sweep time.Duration `yaml:"sweep"`
	// WaitForWriters is how long a request that somebody still writes is waited for.
	WaitForWriters time.Duration `yaml:"wait_for_writers"`
	// Drain is how long SIGTERM waits for running jobs; those left are re-attached by the next start.
	Drain time.Duration `yaml:"drain"`
}

// LogOrigin is the name under which checkpoints of the node's record are signed.
func (c *Config) LogOrigin() string { return cmp.Or(c.Node.Origin, c.Node.Name) }

// Inbox is one drop zone.
type Inbox struct {
	Name string `yaml:"name"`
	Path string `yaml:"path"`
}

// CoreInbound is CORE's folder.
type CoreInbound struct {
	Path string `yaml:"path"`
	// Owner and Group get results, artifacts and notices: names or numbers. Empty leaves what the
	// system gives.
	Owner string `yaml:"owner"`
	Group string `yaml:"group"`
	// Mode is that of their files, in octal digits. Their folders have x where it has r.
	Mode string `yaml:"mode"`
}

// FileMode is Mode as a number, or an error if it is none that files of CORE's can have.
func (c CoreInbound) FileMode() (fs.FileMode, error) {
	m, err := strconv.ParseUint(c.Mode, 8, 12)
	if err != nil || m&^0o664 != 0 || m&0o400 == 0 {
		return 0, fmt.Errorf("%q is not a mode for files that CORE reads", c.Mode)
	}
	return fs.FileMode(m), nil
}

// CoreNotices is the folder in which CORE is told of requests that get no result.
type CoreNotices struct {
	Enabled bool   `yaml:"enabled"`
	Path    string `yaml:"path"`
}

// Access names groups, by name or number, whose members use the node without root.
type Access struct {
	// People may read the record and give orders. If it is empty, the group of the approvers or auditors has this
	// right, whichever is set.
	People string `yaml:"people"`
	// Approvers may put requests into inboxes.
	Approvers string `yaml:"approvers"`
	// Auditors may read what lies in quarantine and in the archive, and order about it.
	Auditors string `yaml:"auditors"`
}

// All is the group that holds the members of all the others.
func (a Access) All() string { return cmp.Or(a.People, a.Approvers, a.Auditors) }

// Network is the egress allowlist.
type Network struct {
	AllowedDomains []string `yaml:"allowed_domains"`
}

// Validator raises the level of a rule.
type Validator struct {
	Rule        string           `yaml:"rule"`
	Enforcement schemas.Severity `yaml:"enforcement"`
}

// Approvals says what counts as approved.
type Approvals struct {
	Approvers []string `yaml:"approvers"`
	// Forbidden are patterns of names that machines have.
	Forbidden         []string      `yaml:"forbidden"`
	MaxAge            time.Duration `yaml:"max_age"`
	AllowSelfApproval bool          `yaml:"allow_self_approval"`
	RequireSignature  bool          `yaml:"require_signature"`
	// RequirePlan wants a signed plan of what would run.
	RequirePlan bool `yaml:"require_plan"`
	// MinApprovers is how many distinct persons approve a request, by its risk level.
	MinApprovers validate.MinApprovers `yaml:"min_approvers"`
	// AllowedSigners is the path of an OpenSSH allowed_signers file.
	AllowedSigners string `yaml:"allowed_signers"`
}

// Limits are the node's maxima and the limits that no request names.
type Limits struct {
	CPU        string `yaml:"cpu"` // cores or millicores, as in a request
	MemoryMB   int    `yaml:"memory_mb"`
	TimeSec    int    `yaml:"time_sec"`
	CPUTimeSec int    `yaml:"cpu_time_sec"` // of each process; 0: what cpu and time give
	Pids       int    `yaml:"pids"`
	OpenFiles  int    `yaml:"open_files"`
	OutMB      int    `yaml:"out_mb"`
	OutFiles   int    `yaml:"out_files"`
	TmpMB      int    `yaml:"tmp_mb"`
	StreamKB   int    `yaml:"stream_kb"` // each of stdout and stderr
	RequestKB  int    `yaml:"request_kb"`
	InputsMB   int    `yaml:"inputs_mb"` // all inputs of a request together
	InputFiles int    `yaml:"input_files"`
	Outputs    int    `yaml:"outputs"`
}

// Backends says what runs a request.
type Backends struct {
	// Images is an OCI image layout folder that holds the pinned images.
	Images string `yaml:"images"`
	// Init is the program threegate-init, with threegate-payload beside it; empty means those that came with threegate.
	Init  string `yaml:"init"`
	ERA   ERA    `yaml:"era"`
	Monty Monty  `yaml:"monty"`
}

// ERA maps a request's language to an image.
type ERA struct {
	Languages map[string]Language `yaml:"languages"`
}

// Language is one ERA language.
type Language struct {
	// Image is a manifest digest, "sha256:...".
	Image string `yaml:"image"`
	// ExecTmp lets runs execute what they write to /tmp.
	ExecTmp bool `yaml:"exec_tmp"`
}

// Monty is the Monty backend; without an image it is off.
type Monty struct {
	Image string `yaml:"image"`
}

// Slots are sandboxes made before a request needs them, each for one run.
type Slots struct {
	// MemoryMB bounds what idle ones use together; 0 means none are made.
	MemoryMB int `yaml:"memory_mb"`
}

// Containerd says which containerd is used.
type Containerd struct {
	// Address of a host's containerd; empty means a private one, started by the node.
	Address   string `yaml:"address"`
	Namespace string `yaml:"namespace"`
	// Runtime is containerd's runtime handler.
	Runtime string `yaml:"runtime"`
	// RuntimeBinary overrides the OCI runtime below the runc shim (crun, runsc).
	RuntimeBinary string `yaml:"runtime_binary"`
	// Cgroup holds the control groups of all sandboxes.
	Cgroup string `yaml:"cgroup"`
	// UserNamespace says whether a host that gives sandboxes none is refused.
	UserNamespace UserNamespace `yaml:"user_namespace"`
	// Root and State are the private containerd's folders.
	Root  string `yaml:"root"`
	State string `yaml:"state"`
}

// UserNamespace is what a node does on a host that gives sandboxes no user namespace.
type UserNamespace string

// The ways.
const (
	UserNamespaceRequired UserNamespace = "required" // it does not start
	UserNamespaceOptional UserNamespace = "optional" // it does without
)

// Posture says when the node tests its own containment.
type Posture struct {
	// AtStart: a node whose test fails does not start.
	AtStart bool `yaml:"at_start"`
	// Every is the interval of further tests, 0 for none. While one fails nothing
	// is taken in and nothing is started.
	Every time.Duration `yaml:"every"`
}

// Metrics says where a monitoring system can ask how the node is.
type Metrics struct {
	// Listen is a loopback address with its port, or unix:PATH; empty: nowhere.
	Listen string `yaml:"listen"`
}

// Results says what may be delivered.
type Results struct {
	// Judgement says what becomes of a result of which a rule withholds a part.
	Judgement   Judgement `yaml:"judgement"`
	StreamLines int       `yaml:"stream_lines"`
	// ArtifactTypes are the types of files that may be delivered (schemas.ArtifactTypes).
	ArtifactTypes []string `yaml:"artifact_types"`
	// External are filters of the operator's that judge results, too.
	External []External `yaml:"external"`
}

// External is a filter of the operator's (docs/extending.md): one that listens on a Unix socket,
// or a program that is started for each question.
type External struct {
	Name    string   `yaml:"name"`
	Socket  string   `yaml:"socket,omitempty"`
	Command []string `yaml:"command,omitempty"`
	// Timeout bounds one question; 0 means DefaultFilterTimeout.
	Timeout time.Duration `yaml:"timeout,omitempty"`
}

// DefaultFilterTimeout is how long a filter may take for one question.
const DefaultFilterTimeout = 10 * time.Second

// Judgement is what a node does where a rule withholds a part of a result. There is no
// third way: what refuses a result is never withheld, what is withheld never delivered.
type Judgement string

// The judgements.
const (
	JudgementDefault Judgement = "default" // the part is withheld, the rest delivered
	JudgementStrict  Judgement = "strict"  // the whole result is refused
)

// Default is the configuration of a fresh node.
func Default() Config {
	return Config{
		Version: Version,
		Node: NodeSettings{Name: "tool-exec", Concurrency: 2, Sweep: 5 * time.Second, WaitForWriters: 30 * time.Second,
			Drain: 30 * time.Second},
		Inboxes:     []Inbox{{Name: "default", Path: "inbox/default"}},
		CoreInbound: CoreInbound{Path: "core-inbound", Mode: "0640"},
		CoreNotices: CoreNotices{Enabled: true, Path: "core-notices"},
		Network:     Network{AllowedDomains: []string{}},
		Validators:  []Validator{},
		Approvals: Approvals{Approvers: []string{}, Forbidden: validate.DefaultForbidden(),
			MaxAge: schemas.DefaultApprovalAge, MinApprovers: validate.MinApprovers{Low: 1, Medium: 1, High: 1}},
		Limits: Limits{CPU: schemas.DefaultCPU, MemoryMB: schemas.DefaultMemoryMB, TimeSec: schemas.DefaultTimeSec,
			Pids: 128, OpenFiles: 1024, OutMB: 64, OutFiles: 4096, TmpMB: 64, StreamKB: 5 * 1024,
			RequestKB: schemas.DefaultRequestKB, InputsMB: schemas.DefaultInputsMB,
			InputFiles: schemas.DefaultInputFiles, Outputs: schemas.DefaultOutputs},
		Backends: Backends{Images: "/var/lib/threegate/images", ERA: ERA{Languages: map[string]Language{}}},
		Slots:    Slots{MemoryMB: 256},
		Containerd: Containerd{Namespace: "threegate", Runtime: "io.containerd.runc.v2", Cgroup: "/threegate",
			UserNamespace: UserNamespaceRequired, Root: "containerd", State: ""},
		Results: Results{Judgement: JudgementDefault, StreamLines: schemas.DefaultStreamLines,
			ArtifactTypes: schemas.DefaultArtifactTypes(), External: []External{}},
		Hooks: []Hook{},
		Tools: Tools{Profiles: map[string]Profile{}},
	}
}
