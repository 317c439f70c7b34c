package validate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/document"
)

// Request reads a tool request and judges it. The request is nil exactly if a
// finding blocks. name is the file's name or path, or "" if there is none. All
// findings are returned, sorted; none repeats a secret of the document.
//
// What only the node knows is judged by Inputs and Signature.
func Request(name string, raw []byte, p Policy) (*schemas.Request, []schemas.Finding) {
	limit := p.MaxRequestBytes
	if limit <= 0 {
		limit = DefaultPolicy(p.Now).MaxRequestBytes
	}
	doc, fs := document.Parse(raw, limit)
	if doc == nil {
		return nil, p.severities(scrub(raw, fs))
	}
	rr := &requestReader{reader: reader{name, doc, doc.Report(), p}, req: &schemas.Request{}}
	rr.rep.AddAll(fs)
	rr.front()
	rr.sections()
	rr.agreement()
	rr.hidden()
	rr.prose()
	clean := rr.secrets()
	fs = p.severities(clean(rr.rep.Findings()))
	if schemas.VerdictOf(fs) == schemas.VerdictReject {
		return nil, fs
	}
	return rr.req, fs
}

// reader is what a request and a result are read with.
type reader struct {
	name string // of the file, or ""
	doc  *document.Document
	rep  *document.Report
	p    Policy
}

// at reports a finding at an offset of the document.
func (rr *reader) at(rule string, offset int, hint, format string, args ...any) {
	rr.rep.At(rule, offset, fmt.Sprintf(format, args...), hint)
}

// key reports a finding at the value of a front matter key.
func (rr *reader) key(rule, key, hint, format string, args ...any) {
	rr.rep.Add(rr.keyFinding(rule, key, hint, format, args...))
}

func (rr *reader) keyFinding(rule, key, hint, format string, args ...any) schemas.Finding {
	line, col := rr.doc.Front.Pos()
	if v, ok := rr.doc.Front.Get(key); ok {
		line, col = v.Line, v.Column
	}
	return schemas.Finding{Rule: rule, Line: line, Column: col, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// schema checks the type and the version that a document of a kind says it has, and returns them.
func (rr *reader) schema(kind, want string, versions []string) (name, version string) {
	name, ok := rr.doc.Front.String(rr.rep, kind+"_type")
	if ok && name != want {
		rr.key(kind+".type", kind+"_type", "write "+kind+"_type: "+want, "%s_type is %s, not %s", kind,
			document.Quote(name), want)
	}
	version, ok = rr.doc.Front.Scalar(rr.rep, "schema_version")
	if ok && !slices.Contains(versions, version) {
		known := strings.Join(versions, ", ")
		rr.key(kind+".version", "schema_version",
			"write schema_version: \""+known+"\", or use a node that knows this version",
			"schema_version %s is not known (known: %s; schema changes require a version bump)",
			document.Quote(version), known)
	}
	return name, version
}

type requestReader struct {
	reader
	req *schemas.Request

	listed []place // of the section of inputs
	// badInput says that the path of a declared input was refused.
	badInput bool
	// strict are where a character that only looks like another one changes what runs, who
	// approved or which file is meant.
	strict []span
	// stated are pieces of text for people, with their places.
	stated   []statement
	commands []span
}

// place is a path with where it stands.
type place struct {
	path        string
	line        int
	column      int
	description string
}

// statement is text for people. If line is above 0, it stands as a value of
// the front matter there.
type statement struct {
	text         string
	offset       int
	line, column int
}

// span is a stretch of the document.
type span struct{ start, end int }

// bodyLine is one line of a section that is not blank.
type bodyLine struct {
	text   string // without blanks at its end
	offset int
}

// bodyLines are the lines of a section that are not blank.
func bodyLines(s *document.Section) []bodyLine {
	var out []bodyLine
	at := s.BodyOffset
	for _, l := range strings.SplitAfter(string(s.Body), "\n") {
		if strings.TrimSpace(l) != "" {
			out = append(out, bodyLine{strings.TrimRight(l, " \t\n"), at})
		}
		at += len(l)
	}
	return out
}

var (
	// noneRe matches what says that a list is empty.
	noneRe = regexp.MustCompile(`(?i)^(?:(?:none|nothing|not applicable|n/?a)(?:[ ,;:.(–—-][^/]*)?` +
		`|no (?:input|output)?\s?(?:files?|inputs?|outputs?)\b.*)\.?$`)
	// streamRe matches what says that a list is no list of all: streams are delivered anyway.
	streamRe = regexp.MustCompile(`(?i)^(?:no other (?:files?|inputs?|outputs?)\b.*` +
		`|(?:only )?std(?:out|err)(?: and std(?:out|err))?(?: only)?(?:[ .:,;(–—-].*)?)\.?$`)
)

var markup = strings.NewReplacer("*", "", "`", "", "__", "")

// plain takes the characters for emphasis and code off a short text.
func plain(s string) string { return strings.TrimSpace(markup.Replace(s)) }

// RequestID reads the id that a request names, also of one that Request
// refuses, so that a refusal can be found by it. It is "" unless it is well
// formed; nothing is reported of the rest of the document.
func RequestID(raw []byte, p Policy) string {
	doc, _ := document.Parse(raw, p.MaxRequestBytes)
	if doc == nil || doc.Front == nil {
		return ""
	}
	id, ok := doc.Front.String(document.NewReport(nil), "request_id")
	if !ok || len(id) > maxRequestID || !safeID.MatchString(id) {
		return ""
	}
	return id
}
