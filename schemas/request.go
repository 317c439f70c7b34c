package schemas

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// RequestVersions are the schema versions of a request that this build reads.
var RequestVersions = []string{"1"}

// RequestType is the only value of request_type.
const RequestType = "tool_request"

// Backend names what executes a request.
type Backend string

// The backends of schema version 1. A request without one means BackendERA.
const (
	BackendERA   Backend = "ERA"
	BackendMonty Backend = "monty"
)

// PlainMonty says whether a Monty program of this language has no tools. Any other language is an image that has them,
// or a profile.
func PlainMonty(language string) bool { return language == "python" || language == "monty" }

// Network says what a run may reach.
type Network string

// The networks of schema version 1.
const (
	NetworkNone      Network = "none"
	NetworkAllowlist Network = "allowlist"
)

// Request is a tool request whose document has been parsed. Only a Request that
// came without a blocking finding may be executed.
type Request struct {
	RequestType   string
	SchemaVersion string
	// RequestID is unique for ever and safe as a path component.
	RequestID   string
	CreatedUTC  time.Time
	RequestedBy string
	ApprovedBy  string
	ApprovedUTC time.Time
	Purpose     string
	Backend     Backend
	Language    string
	Network     Network
	// MilliCPU is cpu_limit in thousandths of a core.
	MilliCPU      int
	MemoryLimitMB int
	TimeLimitSec  int
	// Inputs are the declared input files, sorted as declared.
	Inputs []Input

	// Command is the command line as written (ERA), Argv its literal words.
	Command string
	Argv    []string
	// Code is the program (Monty), exactly the bytes inside the fence.
	Code string
	// InputsJSON is the one JSON object of "## Inputs (JSON)" (Monty), or nil.
	InputsJSON jsontext.Value

	Outputs []OutputExpectation
	// Documentation says that the run brings text which holds orders to readers, as
	// manuals do: more of a stream may be withheld then before the result is refused.
	Documentation bool
	Risk          Risk
}

// Input is one declared input file.
type Input struct {
	// Path is absolute, below /in/.
	Path string `json:"path"`
	// SHA256 is lower-case hex.
	SHA256 string `json:"sha256"`
	// Unpack is UnpackTar if the file is a tar and Path the folder that it holds, or empty.
	Unpack string `json:"unpack,omitempty"`
	// CopyTo is WorkDir if the program gets a copy there that it may change, or empty.
	CopyTo string `json:"copy_to,omitempty"`
	// Description is the text after the path in "## Input Files".
	Description string `json:"description,omitempty"`
}

// UnpackTar is the only kind of folder tree.
const UnpackTar = "tar"

// WorkDir is the working folder of a run that asks for one.
const WorkDir = "/tmp/work"

// Work are the paths of inputs that are copied to WorkDir, below /in/.
func (r *Request) Work() []string {
	return r.below(func(in Input) bool { return in.CopyTo != "" })
}

// Trees are the paths of inputs that are folder trees, below /in/.
func (r *Request) Trees() []string {
	return r.below(func(in Input) bool { return in.Unpack != "" })
}

func (r *Request) below(which func(Input) bool) (paths []string) {
	for _, in := range r.Inputs {
		if which(in) {
			paths = append(paths, strings.TrimPrefix(in.Path, "/in/"))
		}
	}
	return paths
}

// OutputExpectation is one declared output file.
type OutputExpectation struct {
	// Path is absolute, below /out/.
	Path        string `json:"path"`
	Description string `json:"description,omitempty"`
}

// Risk is the section "## Risk Assessment".
type Risk struct {
	Level            string // low, medium or high
	Justification    string
	DataSensitivity  string // public, internal or confidential
	NetworkRationale string
}
