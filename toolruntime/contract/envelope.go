// Package contract is what a client, a host and a tool agree on: messages as strict JSON, with their error codes
// (sections 2 and 3 of the Tool Runtime specification), the schemas of arguments and results, plans of calls, and the
// record of calls that were made.
//
// What is decoded is hostile. Keys have exactly one spelling, none is unknown or given twice,
// text is valid UTF-8, and a line holds one value.
package contract

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// MaxLine bounds one envelope on the wire, in bytes.
const MaxLine = 24 << 20

// ToolRequest asks for one call of a tool.
type ToolRequest struct {
	Type      string         `json:"type"`
	Tool      string         `json:"tool"`
	Args      jsontext.Value `json:"args"`
	RequestID string         `json:"request_id"`
	SessionID string         `json:"session_id"`
	Timestamp int64          `json:"timestamp" jsonschema:"seconds since 1970"`
}

// ToolResponse is what came of one call. Data is the tool's result; a call that failed may
// have one too.
type ToolResponse struct {
	Type       string         `json:"type"`
	OK         bool           `json:"ok"`
	Tool       string         `json:"tool"`
	RequestID  string         `json:"request_id"`
	DurationMS int64          `json:"duration_ms"`
	Data       jsontext.Value `json:"data"`
	Errors     []Error        `json:"errors"`
}

// EventMessage tells how a call goes on. Metrics are figures of the session so far.
type EventMessage struct {
	Type      string             `json:"type"`
	Event     string             `json:"event"`
	RequestID string             `json:"request_id"`
	Progress  Progress           `json:"progress"`
	Metrics   map[string]float64 `json:"metrics,omitzero"`
}

// Progress is how far a call has come.
type Progress struct {
	Pct     int    `json:"pct"`
	Message string `json:"message"`
}

// ErrorMessage answers a line that is no request.
type ErrorMessage struct {
	Type      string `json:"type"`
	Code      Code   `json:"code"`
	Message   string `json:"message"`
	RequestID string `json:"request_id"`
}

// Heartbeat says that its sender lives.
type Heartbeat struct {
	Type      string `json:"type"`
	SessionID string `json:"session_id"`
	Timestamp int64  `json:"timestamp" jsonschema:"seconds since 1970"`
}

// ToolCancel asks for the end of a call that waits or runs, whose answer then is E_TIMEOUT. The specification has no
// envelope for it.
type ToolCancel struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id" jsonschema:"that of the ToolRequest"`
	SessionID string `json:"session_id"`
	Timestamp int64  `json:"timestamp" jsonschema:"seconds since 1970"`
}

const (
	idPattern   = `^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`
	toolPattern = `^[a-z][a-z_]{0,63}$`
)

// Schemas are the JSON Schemas of all messages, by type.
var Schemas = map[string]*Schema{
	"ToolRequest": message[ToolRequest](func(s *jsonschema.Schema) { s.Properties["args"].Type = "object" },
		Pattern("tool", toolPattern), Pattern("request_id", idPattern), Pattern("session_id", idPattern),
		Between("timestamp", 0, 1<<53)),
	"ToolResponse": message[ToolResponse](func(s *jsonschema.Schema) {
		s.Properties["data"].Types = []string{"object", "null"}
	}),
	"EventMessage": message[EventMessage](),
	"ErrorMessage": message[ErrorMessage](ErrorCodes),
	"ToolCancel": message[ToolCancel](Pattern("request_id", idPattern), Pattern("session_id", idPattern),
		Between("timestamp", 0, 1<<53)),
	"Heartbeat": message[Heartbeat](Pattern("session_id", idPattern), Between("timestamp", 0, 1<<53)),
}

func message[T any](adjust ...Adjust) *Schema {
	name := reflect.TypeFor[T]().Name()
	return NewSchema[T](name, nil, append(adjust, OneOf("type", name))...)
}

// ErrorCodes lists the codes that a property code may have.
func ErrorCodes(s *jsonschema.Schema) {
	for _, c := range Codes {
		s.Properties["code"].Enum = append(s.Properties["code"].Enum, string(c.Code))
	}
}

// Decode reads one envelope: a *ToolRequest, *ToolResponse, *ToolCancel, *EventMessage, *ErrorMessage or
// *Heartbeat. An error is an *Error with E_VALIDATION_FAIL.
func Decode(line []byte) (any, error) {
	var kind struct {
		Type string         `json:"type"`
		Rest jsontext.Value `json:",inline"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return nil, Errorf(Validation, "no JSON object of one spelling: %v", err)
	}
	targets := map[string]any{"ToolRequest": &ToolRequest{}, "ToolResponse": &ToolResponse{},
		"ToolCancel":   &ToolCancel{},
		"EventMessage": &EventMessage{}, "ErrorMessage": &ErrorMessage{}, "Heartbeat": &Heartbeat{}}
	v, ok := targets[kind.Type]
	if !ok {
		return nil, Errorf(Validation, "no envelope has the type %q", kind.Type)
	}
	if err := Schemas[kind.Type].Decode(line, v); err != nil {
		return nil, Errorf(Validation, "%s: %v", kind.Type, err)
	}
	return v, nil
}

// Encode writes an envelope as one line of JSON. Bytes that are no UTF-8 become U+FFFD.
func Encode(v any) ([]byte, error) {
	b, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

var id = regexp.MustCompile(idPattern)

// RequestIDOf finds the request id of a line that may be anything, to answer it. It is empty
// where there is none.
func RequestIDOf(line []byte) string {
	var v struct {
		RequestID string `json:"request_id"`
	}
	if json.Unmarshal(line, &v) != nil || !id.MatchString(v.RequestID) {
		return ""
	}
	return v.RequestID
}

// ArgsHash is the SHA-256 of arguments as RFC 8785 JSON, in hex.
func ArgsHash(args jsontext.Value) (string, error) {
	canonical := args.Clone()
	if err := canonical.Canonicalize(); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(canonical)), nil
}
