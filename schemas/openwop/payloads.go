package openwop

// EventType is a RunEventDoc's type: the names of version 1, in this one place. (Version 2 of
// the protocol renames some.)
type EventType string

// The types that a node emits.
const (
	RunStarted      EventType = "run.started"
	RunCompleted    EventType = "run.completed"
	RunFailed       EventType = "run.failed"
	NodeStarted     EventType = "node.started"
	NodeCompleted   EventType = "node.completed"
	NodeFailed      EventType = "node.failed"
	ToolCalled      EventType = "agent.toolCalled"
	ToolReturned    EventType = "agent.toolReturned"
	ArtifactCreated EventType = "artifact.created"
	CapBreached     EventType = "cap.breached"
)

// Emitted lists them.
var Emitted = []EventType{RunStarted, RunCompleted, RunFailed, NodeStarted, NodeCompleted, NodeFailed, ToolCalled,
	ToolReturned, ArtifactCreated, CapBreached}

// Payload is what an event carries. Only the types of this package are payloads, and each belongs
// to one EventType.
type Payload interface{ EventType() EventType }

// RunStartedPayload begins a run. Its inputs are left out for good.
type RunStartedPayload struct {
	WorkflowID string `json:"workflowId"`
}

// RunCompletedPayload ends a run whose result was delivered. The outputs are left out for good.
type RunCompletedPayload struct {
	DurationMS int64 `json:"durationMs"`
}

// RunFailedPayload ends any other run.
type RunFailedPayload struct {
	Error        RunError `json:"error"`
	FailedNodeID string   `json:"failedNodeId"`
	DurationMS   int64    `json:"durationMs"`
}

// RunError says why. The message is a constant of its code.
type RunError struct {
	Code    ErrorCode `json:"code"`
	Message string    `json:"message"`
}

// NodeStartedPayload begins the only node of a run. Attempt is above 0 if a start was taken back,
// of which nothing ran.
type NodeStartedPayload struct {
	NodeID  string `json:"nodeId"`
	TypeID  string `json:"typeId"`
	Attempt int    `json:"attempt"`
}

// NodeCompletedPayload ends it.
type NodeCompletedPayload struct {
	NodeID     string `json:"nodeId"`
	DurationMS int64  `json:"durationMs"`
}

// NodeFailedPayload ends it, too.
type NodeFailedPayload struct {
	NodeID   string   `json:"nodeId"`
	Error    RunError `json:"error"`
	Attempts int      `json:"attempts"`
}

// Transport is how a tool was called.
type Transport string

// TransportNative is by no protocol.
const TransportNative Transport = "native"

// ToolCalledPayload is one execution. ArgsHash is the digest of the request's bytes; the
// arguments themselves are left out for good.
type ToolCalledPayload struct {
	AgentID   string    `json:"agentId"`
	ToolName  string    `json:"toolName"`
	CallID    string    `json:"callId"`
	ArgsHash  string    `json:"argsHash,omitempty"`
	Transport Transport `json:"transport"`
}

// ToolStatus is how a call ended.
type ToolStatus string

// The ways.
const (
	ToolOK    ToolStatus = "ok"
	ToolError ToolStatus = "error"
)

// ToolReturnedPayload is the end of the call of the same CallID.
type ToolReturnedPayload struct {
	AgentID    string     `json:"agentId"`
	ToolName   string     `json:"toolName"`
	CallID     string     `json:"callId"`
	Status     ToolStatus `json:"status"`
	DurationMS int64      `json:"durationMs"`
}

// ArtifactCreatedPayload is one delivered file: no name, no digest.
type ArtifactCreatedPayload struct {
	ArtifactID   string `json:"artifactId"`
	ArtifactType string `json:"artifactType"`
	NodeID       string `json:"nodeId"`
}

// CapKind is a limit of OpenWOP's. Memory, CPU time, processes and disk have none.
type CapKind string

// CapRunDuration is the wall clock limit.
const CapRunDuration CapKind = "run-duration"

// CapBreachedPayload says that a run ran into a limit, in milliseconds.
type CapBreachedPayload struct {
	Kind     CapKind `json:"kind"`
	Limit    int64   `json:"limit"`
	Observed int64   `json:"observed"`
	NodeID   string  `json:"nodeId"`
}

// EventType implements Payload.
func (RunStartedPayload) EventType() EventType { return RunStarted }

// EventType implements Payload.
func (RunCompletedPayload) EventType() EventType { return RunCompleted }

// EventType implements Payload.
func (RunFailedPayload) EventType() EventType { return RunFailed }

// EventType implements Payload.
func (NodeStartedPayload) EventType() EventType { return NodeStarted }

// EventType implements Payload.
func (NodeCompletedPayload) EventType() EventType { return NodeCompleted }

// EventType implements Payload.
func (NodeFailedPayload) EventType() EventType { return NodeFailed }

// EventType implements Payload.
func (ToolCalledPayload) EventType() EventType { return ToolCalled }

// EventType implements Payload.
func (ToolReturnedPayload) EventType() EventType { return ToolReturned }

// EventType implements Payload.
func (ArtifactCreatedPayload) EventType() EventType { return ArtifactCreated }

// EventType implements Payload.
func (CapBreachedPayload) EventType() EventType { return CapBreached }

// ErrorCode is why a run or node failed.
type ErrorCode string

// The codes: run_timeout is OpenWOP's, the others are this host's.
const (
	CodeTimeout        ErrorCode = "run_timeout"
	CodeCPU            ErrorCode = "x-host-threegate.cpu_limit"
	CodeMemory         ErrorCode = "x-host-threegate.memory_limit"
	CodePids           ErrorCode = "x-host-threegate.process_limit"
	CodeDisk           ErrorCode = "x-host-threegate.disk_limit"
	CodeInterrupted    ErrorCode = "x-host-threegate.interrupted"
	CodeCancelled      ErrorCode = "x-host-threegate.cancelled"
	CodeNotStarted     ErrorCode = "x-host-threegate.not_started"
	CodeResultRejected ErrorCode = "x-host-threegate.result_rejected"
	CodeFailed         ErrorCode = "x-host-threegate.failed"
)

// messages are constant: nothing of a request or a run gets into one.
var messages = map[ErrorCode]string{
	CodeTimeout:        "the run reached its wall clock limit",
	CodeCPU:            "the run reached its limit of processor time",
	CodeMemory:         "the run reached its memory limit",
	CodePids:           "the run reached its limit of processes",
	CodeDisk:           "the run filled the room for its files",
	CodeCancelled:      "a person cancelled the request, and the node ended the run",
	CodeInterrupted:    "the node or its sandbox went down during the run; it is not run again",
	CodeNotStarted:     "the program could not be started",
	CodeResultRejected: "the result was refused and lies in quarantine",
	CodeFailed:         "the run failed",
}

// NewError is the error of a code.
func NewError(c ErrorCode) RunError { return RunError{Code: c, Message: messages[c]} }
