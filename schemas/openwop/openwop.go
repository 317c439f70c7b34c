// Package openwop has the types of OpenWOP 1.11.0 that a node gives away: tool descriptors, run
// events, what reads answer. Every type is closed: it has no field into which the words of a
// request or of a sandbox fit, and an Event takes only the payloads of this package.
//
// The schemas of the text leave some payloads open: a key "body" would be valid there. These types
// are what keeps events free of content.
package openwop

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Names that this node uses in OpenWOP's name spaces. None lies under core.* or openwop.*, but for
// AgentID, which the text reserves for tool calls that no agent made.
const (
	ProtocolVersion = "1.0"
	WorkflowID      = "private.threegate.tool-exec"
	NodeID          = "exec"
	NodeTypePrefix  = "private.threegate.exec."
	ToolPrefix      = "x-host-threegate-exec:"
	ArtifactType    = "x-host-threegate.output"
	AgentID         = "core.system"
)

//go:embed json/*.schema.json
var schemaFiles embed.FS

const schemaSuffix = ".schema.json"

// SchemaNames lists the JSON Schemas of this package, sorted.
func SchemaNames() []string {
	files, _ := fs.Glob(schemaFiles, "json/*"+schemaSuffix) // the pattern is sound
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(f, "json/"), schemaSuffix))
	}
	slices.Sort(names)
	return names
}

// Schema returns a JSON Schema (draft 2020-12) of SchemaNames.
func Schema(name string) ([]byte, error) {
	if !slices.Contains(SchemaNames(), name) {
		return nil, fmt.Errorf("there is no OpenWOP schema %q", name)
	}
	return schemaFiles.ReadFile("json/" + name + schemaSuffix)
}

// Source is the surface that backs a tool.
type Source string

// SourceHostExtension is the only source that a tool of the tier exec may have.
const SourceHostExtension Source = "host-extension"

// SafetyTier is what a tool does to data.
type SafetyTier string

// TierExec is arbitrary code, also where it is contained.
const TierExec SafetyTier = "exec"

// Egress is a tool's way to the network.
type Egress string

// The ways of this node's tools.
const (
	EgressNone      Egress = "none"
	EgressHostOwned Egress = "host-owned"
)

// Approval says whether a person must approve each call.
type Approval string

// ApprovalAlways is the only one that this node has.
const ApprovalAlways Approval = "always"

// ReplayPolicy says what a second call would give.
type ReplayPolicy string

// ReplayNonDeterministic is what nobody proved to be otherwise.
const ReplayNonDeterministic ReplayPolicy = "non-deterministic"

// ToolDescriptor describes one tool. It is no way to call it.
type ToolDescriptor struct {
	ToolID       string       `json:"toolId"`
	Source       Source       `json:"source"`
	SafetyTier   SafetyTier   `json:"safetyTier"`
	Title        string       `json:"title,omitempty"`
	Description  string       `json:"description,omitempty"`
	Egress       Egress       `json:"egress,omitempty"`
	Approval     Approval     `json:"approval,omitempty"`
	ReplayPolicy ReplayPolicy `json:"replayPolicy,omitempty"`
}

// Event is a RunEventDoc: one thing that happened in a run.
type Event struct {
	EventID   string    `json:"eventId"`
	RunID     string    `json:"runId"`
	Type      EventType `json:"type"`
	Payload   Payload   `json:"payload"`
	Timestamp time.Time `json:"timestamp"`
	// Sequence counts the events of a run from 0.
	Sequence int64  `json:"sequence"`
	NodeID   string `json:"nodeId,omitempty"`
}

// Terminal reports whether nothing follows in the run.
func (e Event) Terminal() bool { return e.Type == RunCompleted || e.Type == RunFailed }

// RunStatus is how a run is.
type RunStatus string

// The states of runs that this node tells of: a run begins when its start is on record.
const (
	StatusRunning   RunStatus = "running"
	StatusCompleted RunStatus = "completed"
	StatusFailed    RunStatus = "failed"
)

// RunSnapshot is how a run stands.
type RunSnapshot struct {
	RunID       string     `json:"runId"`
	WorkflowID  string     `json:"workflowId"`
	Status      RunStatus  `json:"status"`
	StartedAt   time.Time  `json:"startedAt"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`
	Error       *RunError  `json:"error,omitempty"`
}

// ErrorEnvelope is the answer to every request that gets no other.
type ErrorEnvelope struct {
	Error   string        `json:"error"`
	Message string        `json:"message"`
	Details *ErrorDetails `json:"details,omitempty"`
}

// ErrorDetails has what a caller can choose from.
type ErrorDetails struct {
	Supported []string `json:"supported"`
}

// AuditVerifyResult is what a check of the record found, in the terms of the audit profile.
type AuditVerifyResult struct {
	FromSeq int64 `json:"fromSeq"`
	ToSeq   int64 `json:"toSeq"`
	// ChainValid: every entry holds the hash of the one before, and every checkpoint is right.
	ChainValid       bool         `json:"chainValid"`
	CheckpointsValid bool         `json:"checkpointsValid"`
	Checkpoints      []Checkpoint `json:"checkpoints"`
	Anomalies        []Anomaly    `json:"anomalies"`
}

// Checkpoint is a signature under all entries after the checkpoint before it, up to AtSequence.
type Checkpoint struct {
	ID         string `json:"checkpoint"`
	AtSequence int64  `json:"atSequence"`
	// MerkleRoot is in hex; Signature, in base64, is Ed25519's over its 32 bytes.
	MerkleRoot string `json:"merkleRoot"`
	Signature  string `json:"signature"`
}

// Anomaly is an entry that does not follow on.
type Anomaly struct {
	AtSeq            int64  `json:"atSeq"`
	ExpectedPrevHash string `json:"expectedPrevHash"`
	ActualPrevHash   string `json:"actualPrevHash"`
}
