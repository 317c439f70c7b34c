package schemas

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// ResultVersions are the schema versions of a result that this build reads.
var ResultVersions = []string{"1"}

// Fixed values of a result's front matter.
const (
	ResultType = "tool_result"
	Executor   = "tool-exec"
)

// The artifacts that hold a stream which does not fit into the result.
const (
	StdoutArtifact = "_stdout.txt"
	StderrArtifact = "_stderr.txt"
)

// The artifacts that hold a stream of which the result shows codes in place of some bytes. They are
// the stream, byte for byte.
const (
	StdoutRawArtifact = "_stdout.raw"
	StderrRawArtifact = "_stderr.raw"
)

// StreamArtifacts are all names of artifacts that hold streams. No request may declare an output of
// these names.
var StreamArtifacts = []string{StdoutArtifact, StderrArtifact, StdoutRawArtifact, StderrRawArtifact}

// Result is one tool result. Everything that came out of a sandbox (streams,
// output names, descriptions) is hostile data to the last byte.
type Result struct {
	ResultType    string
	SchemaVersion string
	ResultID      string
	CreatedUTC    time.Time
	RequestID     string
	Executor      string
	Backend       Backend
	// ExitCode is the program's own, 128+N when signal N ended it, 124 when its
	// time was up, and -1 when it is not known (interrupted).
	ExitCode            int
	RuntimeSec          float64
	NetworkUsed         Network
	NetworkDestinations []string
	Artifacts           []Artifact
	// StdoutSHA256 and StderrSHA256 are of the streams as they are delivered: of one of which something is withheld
	// with its markers.
	StdoutSHA256 string
	StderrSHA256 string
	// Fence is random for each result: 16 hex digits that stand at both ends of each
	// stream, so that nothing in a stream can pass for its end. Without it they are not
	// marked so.
	Fence string

	Summary    Summary
	Provenance []Field
	Outputs    []Output
	Stdout     Stream
	Stderr     Stream
	Safety     Safety
}

// Artifact is one file that is delivered with the result.
type Artifact struct {
	// Path is relative to the result's artifacts folder.
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Summary is the section "## Summary".
type Summary struct {
	// WhatRan is one line.
	WhatRan string
	// Outcome is one line: whether it succeeded, and if not, the cause.
	Outcome string
	// Cause is Outcome in one word, for machines.
	Cause Cause
	// Outputs is one line: what was produced.
	Outputs string
}

// Field is one "- Name: value" line of "## Provenance".
type Field struct {
	Name  string
	Value string
}

// Names of the provenance fields, in the order in which they are written.
// ProvCommand (or ProvCode for Monty), ProvBackend and ProvLimits are required
// by the normative text, the others by this node.
const (
	ProvCommand       = "Command"
	ProvCode          = "Code sha256"
	ProvBackend       = "Backend"
	ProvRuntime       = "Runtime"
	ProvImage         = "Image"
	ProvLimits        = "Limits"
	ProvUsage         = "Usage"
	ProvStarted       = "Started"
	ProvFinished      = "Finished"
	ProvRequestedBy   = "Requested by"
	ProvApprovedBy    = "Approved by"
	ProvApprovedUTC   = "Approved"
	ProvRequestSHA256 = "Request sha256"
	ProvNode          = "Node"
	ProvProfile       = "Tool profile"
	ProvRegistry      = "Registry sha256"
	ProvRecheck       = "Second run"
	ProvReplaces      = "Replaces" // the id of the result that this one takes the place of
)

// Output is one produced file in "## Outputs".
type Output struct {
	// Path is absolute, below /out/.
	Path        string
	SHA256      string
	Description string
	// Partial is in how many places something of the file is withheld.
	Partial int
}

// Stream is what "## Stdout" or "## Stderr" shows.
type Stream struct {
	// Text is the shown part, raw: the renderer makes it visible and fences it.
	Text string
	// Withheld are the places of Text at which something is withheld, in order.
	Withheld []Withheld
	// Truncated says that Text is not the whole stream; Note then says how much
	// there was and which artifact holds the rest.
	Truncated bool
	Note      string
}

// Withheld is text that a rule keeps out of a result. A marker stands in its place.
type Withheld struct {
	// Rule is the rule that it breaks.
	Rule string
	// First and Last are its lines in the whole stream, from 1; 0 in a text of one line.
	First, Last int
	// Bytes is its length where a marker of version 0.9 tells it. Others don't: of a password it says much.
	Bytes int
	// At is the place in what is left of the text.
	At int
}

// MarkerStart is how a marker begins. In text of others the bracket is spelled ⟦27E6⟧.
const MarkerStart = "⟦withheld"

// Marker is what a result shows in the place of the text. It has no colon, comma or quote, so that it can stand in a
// value of most formats.
func (w Withheld) Marker() string {
	lines := ""
	switch {
	case w.First == 0:
	case w.First == w.Last:
		lines = fmt.Sprintf("line %d", w.First)
	default:
		lines = fmt.Sprintf("lines %d-%d", w.First, w.Last)
	}
	if w.Bytes > 0 {
		if lines != "" {
			lines = " " + lines + ","
		}
		return fmt.Sprintf("%s: %s,%s %d bytes⟧", MarkerStart, w.Rule, lines, w.Bytes)
	}
	if lines != "" {
		lines = " - " + lines
	}
	why := "breaks a rule"
	if r, ok := RuleByID(w.Rule); ok && r.Marker != "" {
		why = r.Marker
	}
	return fmt.Sprintf("%s - %s - %s%s⟧", MarkerStart, why, w.Rule, lines)
}

const (
	markerRule  = `([a-z][a-z0-9._-]{1,60})`
	markerLines = `lines? ([1-9]\d{0,11})(?:-([1-9]\d{0,11}))?`
)

var marker = regexp.MustCompile(MarkerStart + `(?: - [a-z][a-z ]{1,80} - ` + markerRule + `(?: - ` + markerLines + `)?` +
	`|: ` + markerRule + `,(?: ` + markerLines + `,)? ([1-9]\d{0,11}) bytes)⟧`)

// FindMarker finds the first marker in s, also one of version 0.9: Marker gives s[from:to] of what it returns.
func FindMarker(s string) (w Withheld, from, to int, ok bool) {
	m := marker.FindStringSubmatchIndex(s)
	if m == nil {
		return w, 0, 0, false
	}
	part := func(i int) string { return s[max(m[2*i], 0):max(m[2*i+1], 0)] }
	number := func(i int) int {
		n, _ := strconv.Atoi(part(i)) // at most twelve digits
		return n
	}
	w = Withheld{Rule: part(1) + part(4), First: number(2) + number(5), Last: number(3) + number(6), Bytes: number(7)}
	if w.Last == 0 {
		w.Last = w.First
	}
	return w, m[0], m[1], true
}

// SpansSuffix makes the name of the artifact that says where a result holds words of
// others: it follows the result's id.
const SpansSuffix = ".spans.json"

// Spans is the content of that artifact.
type Spans struct {
	Version  int    `json:"version"`
	ResultID string `json:"result_id"`
	// Bytes is the length of the result's document.
	Bytes int `json:"bytes"`
	// Spans are in order and don't overlap. All that lies in none is the gate's own.
	Spans []ForeignSpan `json:"spans"`
	// Withheld are the markers in files of which a part is withheld.
	Withheld []MarkedPlace `json:"withheld,omitempty"`
	// Released are false alarms about the document or its artifacts, as a person of the node said on
	// record: whoever judges the document again leaves them out.
	Released []Release `json:"released,omitempty"`
}

// MarkedPlace is a marker in an artifact: what stood there is withheld.
type MarkedPlace struct {
	// Path is that of the artifact, From and To bound the marker in its bytes.
	Path string `json:"path"`
	From int    `json:"from"`
	To   int    `json:"to"`
	// Rule is the rule that what stood there breaks.
	Rule string `json:"rule"`
}

// SpansVersion is the version of Spans that this build writes.
const SpansVersion = 1

// ForeignSpan is a place of a result's document that holds words of others: data, never
// words of the gate.
type ForeignSpan struct {
	// From and To bound its bytes in the document.
	From int `json:"from"`
	To   int `json:"to"`
	// In is the field or section that it belongs to.
	In string `json:"in"`
	// By is whose words they are.
	By Author `json:"by"`
}

// Author is who chose the words of a span.
type Author string

// The authors. A span that holds words of the sandbox and others is the sandbox's.
const (
	BySandbox Author = "sandbox"
	ByRequest Author = "request"
)

// Safety is the section "## Safety Notes".
type Safety struct {
	// Untrusted is the statement that output is no instruction.
	Untrusted string
	// Unexpected is "None observed" or the anomalies, one each.
	Unexpected []string
	// Network is "none used" or the destinations.
	Network string
}
