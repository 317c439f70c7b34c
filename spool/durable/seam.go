package durable

// Op is the kind of one filesystem step.
type Op string

// The kinds of steps.
const (
	OpMkdir   Op = "mkdir"
	OpCreate  Op = "create"
	OpWrite   Op = "write"
	OpSync    Op = "fsync"
	OpClose   Op = "close"
	OpRename  Op = "rename"
	OpRemove  Op = "remove"
	OpSyncDir Op = "fsyncdir"
	OpOpen    Op = "open"
)

// Step is one filesystem step about to be taken.
type Step struct {
	// Name is stable: the caller's purpose and the kind, "claim.intent.fsync".
	Name string
	Op   Op
	// Path is the file or folder that changes; To is the target of a rename.
	Path, To string
	// Torn, set for writes and for removals of trees, takes the step only in
	// part. It is for fault injection.
	Torn func() error
}

// Seam stands before every step. It must either call apply once and return its
// error, or, to inject a fault, do otherwise. It is called by several
// goroutines. A nil Seam applies every step.
type Seam func(s Step, apply func() error) error

func (m Seam) do(s Step, apply func() error) error {
	if m == nil {
		return apply()
	}
	return m(s, apply)
}
