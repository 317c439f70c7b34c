package validate

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/text"
)

// The sections of a result, in their order.
const (
	sectionSummary    = "Summary"
	sectionProvenance = "Provenance"
	sectionOutputs    = "Outputs"
	sectionStdout     = "Stdout"
	sectionStderr     = "Stderr"
	sectionSafety     = "Safety Notes"
)

var resultSections = []string{sectionSummary, sectionProvenance, sectionOutputs, sectionStdout, sectionStderr,
	sectionSafety}

// Labels of the lines that the renderer writes and the parser reads.
const (
	labelWhatRan     = "What ran"
	labelOutcome     = "Outcome"
	labelCause       = "Cause"
	labelProduced    = "Outputs"
	labelDescription = "Description"
	labelPartial     = "Partial"
	labelUntrusted   = "Untrusted Output Statement"
	labelUnexpected  = "Unexpected behavior"
	labelNetwork     = "Network confirmation"
	labelTruncated   = "Truncated"
	labelNote        = "Note"
	labelEnd         = "End"

	noOutputs = "None."
	noNewline = "No newline at the end."
)

// ErrUnrenderable says that a result holds what a result document has no way
// to write, because of a mistake of the program that made it.
var ErrUnrenderable = errors.New("result can't be written")

// RenderResult writes r as the document that the result schema demands. Streams
// and one-line texts may hold any bytes: none can end a section, start a tag or
// steer a terminal, and Result reads every one of them back. What has the form of a
// marker in a one-line text is written as one: words of others come from Words.
// Fields with a form (ids, digests, enums, provenance names) must have it: else
// ErrUnrenderable. It tells where the document holds words of others; the places do not depend on
// what the digests are.
func RenderResult(r *schemas.Result) ([]byte, []schemas.ForeignSpan, error) {
	if r == nil {
		return nil, nil, fmt.Errorf("%w: it is nil", ErrUnrenderable)
	}
	if r.Fence != "" && !fenceTag.MatchString(r.Fence) {
		return nil, nil, fmt.Errorf("%w: the fence is marked %q", ErrUnrenderable, r.Fence)
	}
	w := &resultWriter{}
	w.front(r)
	w.section(sectionSummary)
	w.foreignLine(sectionSummary, schemas.ByRequest, "- "+labelWhatRan+":", r.Summary.WhatRan)
	w.bullet(labelOutcome, r.Summary.Outcome)
	if c := r.Summary.Cause; !slices.Contains(schemas.Causes, c) {
		w.fail("the cause is %q", c)
	} else if c != schemas.CauseNone {
		w.bullet(labelCause, string(c))
	}
	w.foreignLine(sectionSummary, schemas.ByRequest, "- "+labelProduced+":", r.Summary.Outputs)
	w.section(sectionProvenance)
	for i, f := range r.Provenance {
		w.field(i, f)
	}
	w.section(sectionOutputs)
	for i, o := range r.Outputs {
		if !sha256Hex.MatchString(o.SHA256) {
			w.fail("outputs[%d]: sha256 is %q", i, o.SHA256)
		}
		if o.Path == "" {
			w.fail("outputs[%d]: the path is empty", i)
		}
		w.output(o)
	}
	if len(r.Outputs) == 0 {
		w.line(noOutputs)
	}
	w.section(sectionStdout)
	w.stream(sectionStdout, r.Stdout, r.Fence)
	w.section(sectionStderr)
	w.stream(sectionStderr, r.Stderr, r.Fence)
	w.section(sectionSafety)
	w.bullet(labelUntrusted, r.Safety.Untrusted)
	w.unexpected(r.Safety.Unexpected)
	w.foreignLine(sectionSafety, schemas.BySandbox, "- "+labelNetwork+":", r.Safety.Network)
	if w.err != nil {
		return nil, nil, w.err
	}
	return []byte(w.b.String()), w.spans, nil
}

// SetLastDigest writes the digest of the last artifact into a document of RenderResult.
func SetLastDigest(doc []byte, sha256 string) {
	// Values of the front matter are quoted and hold no newline.
	end := bytes.Index(doc, []byte("\"\nstdout_sha256: "))
	copy(doc[end-len(sha256):end], sha256)
}

type resultWriter struct {
	b     strings.Builder
	spans []schemas.ForeignSpan
	err   error
}

// foreign writes s, words of by, and notes where they stand.
func (w *resultWriter) foreign(in string, by schemas.Author, s string) {
	from := w.b.Len()
	w.b.WriteString(s)
	if s != "" {
		w.spans = append(w.spans, schemas.ForeignSpan{From: from, To: w.b.Len(), In: in, By: by})
	}
}

// foreignLine writes a line that ends with words of by.
func (w *resultWriter) foreignLine(in string, by schemas.Author, label, words string) {
	w.b.WriteString(label)
	if words = inline(words); words != "" {
		w.b.WriteByte(' ')
		w.foreign(in, by, words)
	}
	w.line("")
}

// fromRequest are the fields of the provenance that hold words of the request.
var fromRequest = []string{schemas.ProvCommand, schemas.ProvRequestedBy, schemas.ProvApprovedBy}

func (w *resultWriter) field(i int, f schemas.Field) {
	if !fieldName.MatchString(f.Name) {
		w.fail("provenance[%d]: the name %q is not of the form %s", i, f.Name, fieldName)
	}
	switch {
	case f.Name == schemas.ProvCommand && f.Value != "":
		w.b.WriteString("- " + f.Name + ": ")
		w.foreign(sectionProvenance, schemas.ByRequest, codeSpan(f.Value))
		w.line("")
	case slices.Contains(fromRequest, f.Name):
		w.foreignLine(sectionProvenance, schemas.ByRequest, "- "+f.Name+":", f.Value)
	default:
		w.bullet(f.Name, f.Value)
	}
}

func (w *resultWriter) output(o schemas.Output) {
	w.b.WriteString("- ")
	w.foreign(sectionOutputs, schemas.ByRequest, inline(o.Path))
	w.line(" sha256: " + o.SHA256)
	w.foreignLine(sectionOutputs, schemas.ByRequest, "  "+labelDescription+":", o.Description)
	if o.Partial > 0 {
		w.line("  " + labelPartial + ": places withheld: " + strconv.Itoa(o.Partial))
	}
}

// fail keeps the first mistake.
func (w *resultWriter) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%w: %s", ErrUnrenderable, fmt.Sprintf(format, args...))
	}
}

func (w *resultWriter) line(s string) {
	w.b.WriteString(s)
	w.b.WriteByte('\n')
}

func (w *resultWriter) section(title string) {
	w.line("\n## " + title + "\n")
}

func (w *resultWriter) bullet(label, value string) {
	w.line("- " + label + ":" + spaced(inline(value)))
}

func spaced(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

func (w *resultWriter) front(r *schemas.Result) {
	w.line("---")
	w.line("result_type: " + w.word("result_type", r.ResultType))
	w.line("schema_version: " + w.word("schema_version", r.SchemaVersion))
	w.key("result_id", "", schemas.ByRequest, r.ResultID)
	w.line("created_utc: " + w.quoted("created_utc", w.time(r.CreatedUTC)))
	w.key("request_id", "", schemas.ByRequest, r.RequestID)
	w.line("executor: " + w.quoted("executor", r.Executor))
	w.line("backend: " + w.quoted("backend", string(r.Backend)))
	w.line("exit_code: " + strconv.Itoa(r.ExitCode))
	w.line("runtime_sec: " + w.seconds(r.RuntimeSec))
	w.line("network_used: " + w.quoted("network_used", string(r.NetworkUsed)))
	w.list("network_destinations", len(r.NetworkDestinations), func(i int) {
		w.key("network_destinations", "  - ", schemas.BySandbox, r.NetworkDestinations[i])
	})
	w.list("artifacts", len(r.Artifacts), func(i int) {
		w.key("artifacts", "  - path: ", schemas.ByRequest, r.Artifacts[i].Path)
		w.line("    sha256: " + w.quoted("artifacts", r.Artifacts[i].SHA256))
	})
	w.line("stdout_sha256: " + w.quoted("stdout_sha256", r.StdoutSHA256))
	w.line("stderr_sha256: " + w.quoted("stderr_sha256", r.StderrSHA256))
	w.line("---")
}

// key writes a line of the front matter whose value are words of by.
func (w *resultWriter) key(key, before string, by schemas.Author, value string) {
	if before == "" {
		before = key + ": "
	}
	w.b.WriteString(before)
	w.foreign(key, by, w.quoted(key, value))
	w.line("")
}

func (w *resultWriter) list(key string, n int, item func(int)) {
	if n == 0 {
		w.line(key + ": []")
		return
	}
	w.line(key + ":")
	for i := range n {
		item(i)
	}
}

// nameForm is that of a provenance name: nothing that could be taken for the end of it or
// for Markdown.
const nameForm = `[A-Za-z][A-Za-z0-9]{0,31}(?: [A-Za-z0-9]{1,32}){0,4}`

var fieldName = regexp.MustCompile(`^` + nameForm + `$`)

var plainWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.]{0,63}$`)

func (w *resultWriter) word(key, s string) string {
	if !plainWord.MatchString(s) {
		w.fail("%s is %q", key, s)
	}
	return s
}

// quoted writes a string as YAML has it in double quotes, which knows the escapes of Go.
func (w *resultWriter) quoted(key, s string) string {
	if !utf8.ValidString(s) {
		w.fail("%s is not UTF-8: %q", key, s)
	}
	return strconv.Quote(s)
}

func (w *resultWriter) time(t time.Time) string {
	t = t.UTC()
	if y := t.Year(); y < 1 || y > 9999 {
		w.fail("created_utc has the year %d", y)
	}
	return t.Format(time.RFC3339Nano)
}

func (w *resultWriter) seconds(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		w.fail("runtime_sec is %v", f)
	}
	return strconv.FormatFloat(math.Abs(f), 'g', -1, 64) // no "-0"
}

// unexpected writes statements that may name what the sandbox named.
func (w *resultWriter) unexpected(notes []string) {
	label := "- " + labelUnexpected + ":"
	if len(notes) == 0 {
		w.fail("safety notes: nothing is said about unexpected behavior; say %q if there was none", noneObserved)
	} else if len(notes) > 1 {
		w.line(label)
		label = "  -"
	}
	for _, n := range notes {
		switch n {
		case "":
			w.fail("safety notes: an empty statement of unexpected behavior")
		case noneObserved:
			w.line(label + " " + n)
		default:
			w.foreignLine(sectionSafety, schemas.BySandbox, label, n)
		}
	}
}

const noneObserved = "None observed"

// fenceTag is the form of what marks both ends of a stream.
var fenceTag = regexp.MustCompile(`^[0-9a-f]{16}$`)

// stream writes a stream inside of a fence that it can't close, with tag at its ends.
func (w *resultWriter) stream(title string, s schemas.Stream, tag string) {
	var parts []string // text and markers in turn
	at := 0
	for _, m := range s.Withheld {
		if m.At < at || m.At > len(s.Text) {
			w.fail("%s: something is withheld at %d", title, m.At)
			return
		}
		marker := m.Marker()
		found, _, n, ok := schemas.FindMarker(marker)
		if found.At = m.At; !ok || n != len(marker) || found != m || m.First > m.Last {
			w.fail("%s: %q is no marker", title, marker)
		}
		parts = append(parts, text.Visible(s.Text[at:m.At]), marker)
		at = m.At
	}
	parts = append(parts, text.Visible(s.Text[at:]))
	shown := strings.Join(parts, "")
	if tag != "" && strings.Contains(shown, tag) {
		w.fail("%s holds %s, which marks its ends", title, tag)
	}
	fence := ticksAround(shown, 3)
	w.line(fence + "text" + spaced(tag))
	for i, part := range parts {
		if i%2 == 0 {
			w.foreign(title, schemas.BySandbox, part)
		} else {
			w.b.WriteString(part)
		}
	}
	cut := shown != "" && !strings.HasSuffix(shown, "\n")
	if cut {
		w.line("")
	}
	w.line(fence)
	if tag != "" || cut || s.Truncated || s.Note != "" {
		w.line("")
	}
	if tag != "" {
		w.line(labelEnd + ": " + tag)
	}
	if cut {
		w.line(noNewline)
	}
	switch {
	case s.Truncated:
		w.line(labelTruncated + ":" + spaced(inline(s.Note)))
	case s.Note != "":
		w.line(labelNote + ": " + inline(s.Note))
	}
}

// ticksAround are more backticks than stand together in s, and at least n.
func ticksAround(s string, n int) string {
	for run := range strings.FieldsFuncSeq(s, func(r rune) bool { return r != '`' }) {
		n = max(n, len(run)+1)
	}
	return strings.Repeat("`", n)
}

// active are the characters that make Markdown or HTML do something.
const active = "`*_[]<>~\\&|"

// starter matches what makes a block at the start of a list item's text.
var starter = regexp.MustCompile(`^(?:[-+#=]|\d{1,9}[.)]|` + "```" + `|~~~)`)

// inline writes s, any bytes, as part of one line of Markdown: as it is where
// nothing in it could act, otherwise as a code span. Markers stay markers. parseInline
// is its inverse.
func inline(s string) string {
	v := markersShown(text.VisibleLine(s))
	if v == "" || !strings.ContainsAny(v, active) && !strings.Contains(v, "://") && !strings.Contains(v, "www.") &&
		!starter.MatchString(v) {
		return v
	}
	return ticked(v)
}

// codeSpan writes s, any bytes, as a code span on one line. A marker in it is none.
func codeSpan(s string) string { return ticked(text.VisibleLine(s)) }

func ticked(v string) string {
	if v == "" {
		return ""
	}
	ticks := ticksAround(v, 1)
	if v[0] == '`' || v[len(v)-1] == '`' {
		v = " " + v + " "
	}
	return ticks + v + ticks
}

// escapedMarker is how a marker begins where a text of others holds one.
const escapedMarker = "⟦27E6⟧withheld"

// markersShown makes markers of what VisibleLine escapedMarker of them.
func markersShown(v string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(v, escapedMarker)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if _, from, to, ok := schemas.FindMarker(schemas.MarkerStart + rest); ok && from == 0 {
			n := to - len(schemas.MarkerStart)
			b.WriteString(schemas.MarkerStart + rest[:n])
			v = rest[n:]
		} else {
			b.WriteString(escapedMarker)
			v = rest
		}
	}
}

// parseInline reads what inline or codeSpan wrote, or a plain text of someone
// else's.
func parseInline(s string) (string, error) {
	v := strings.Trim(s, " \t") // not TrimSpace: wider spaces belong to the value
	in, isSpan := cutSpan(v)
	if isSpan {
		v = in
	}
	if strings.Contains(v, schemas.MarkerStart) {
		spelled := strings.ReplaceAll(v, schemas.MarkerStart, escapedMarker)
		if markersShown(spelled) == v {
			v = spelled
		}
	}
	return text.RawLine(v)
}

// cutSpan returns the content of v if all of v is one code span.
func cutSpan(v string) (string, bool) {
	ticks := v[:len(v)-len(strings.TrimLeft(v, "`"))]
	in, ok := strings.CutSuffix(v[len(ticks):], ticks)
	if ticks == "" || in == "" || !ok || strings.HasSuffix(in, "`") {
		return "", false
	}
	for run := range strings.FieldsFuncSeq(in, func(r rune) bool { return r != '`' }) {
		if len(run) == len(ticks) { // it would end the span early
			return "", false
		}
	}
	if len(in) > 2 && in[0] == ' ' && in[len(in)-1] == ' ' && strings.TrimSpace(in) != "" {
		in = in[1 : len(in)-1]
	}
	return in, true
}
