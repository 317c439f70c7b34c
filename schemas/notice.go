package schemas

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// NoticeVersion is the version of the notice's form.
const NoticeVersion = 1

// Notice is the gate's own word to CORE about a request of which no result comes, or whose result was taken back:
// constants, ids of bounded grammar, rule ids and digests. It never holds a byte of what was refused.
type Notice struct {
	Version int `json:"notice_version"`
	// RequestID is the request's id. Where none could be read it is empty, and FileName is the
	// name of the request's file without ".md"; where that is no name of a request either, both are.
	RequestID string `json:"request_id,omitempty"`
	FileName  string `json:"file_name,omitempty"`
	// RequestSHA256 is the digest of the request's bytes, if they could be read.
	RequestSHA256 string `json:"request_sha256,omitempty"`
	// Job is the id under which the node keeps the item.
	Job        string      `json:"job"`
	Stage      NoticeStage `json:"stage"`
	CreatedUTC time.Time   `json:"created_utc"`
	// ResultID and ResultSHA256 name the result that a person took back.
	ResultID     string `json:"result_id,omitempty"`
	ResultSHA256 string `json:"result_sha256,omitempty"`
	// Rules are the rules that refused, each with the constant words that say what to do.
	Rules []NoticeRule `json:"rules"`
}

// NoticeRule is one reason.
type NoticeRule struct {
	Rule string `json:"rule"`
	Hint string `json:"mend"`
}

// NoticeStage says where a request came to its end.
type NoticeStage string

// The stages.
const (
	StageRefused       NoticeStage = "refused"        // the request broke a rule; nothing of it ran
	StageExpired       NoticeStage = "expired"        // its approval is too old; nothing of it ran
	StageCancelled     NoticeStage = "cancelled"      // a person cancelled it; nothing of it ran
	StageInterrupted   NoticeStage = "interrupted"    // what the node held of it was damaged
	StageResultRefused NoticeStage = "result-refused" // it ran, and its result may not leave
	StageRejected      NoticeStage = "rejected"       // a person looked at what was held, and rejected it
	StageRecalled      NoticeStage = "recalled"       // a person took the result back that CORE got
	// StageHeld is no end: a person may still release the request, or its result. Another answer follows.
	StageHeld NoticeStage = "held"
)

// Subject is what the notice is about, and names its file: the request's id, the name of its
// file, or the job.
func (n *Notice) Subject() string { return cmp.Or(n.RequestID, n.FileName, n.Job) }

// Encode writes the notice as the file that CORE reads.
func (n *Notice) Encode() ([]byte, error) {
	b, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write a notice: %w", err)
	}
	return append(b, '\n'), nil
}
