package validate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/code"
	"github.com/threegate/tool-exec/validate/document"
	"github.com/threegate/tool-exec/validate/reach"
	"github.com/threegate/tool-exec/validate/secrets"
	"github.com/threegate/tool-exec/validate/text"
)

// hidden reports what a reader does not see as what it is.
func (rr *requestReader) hidden() {
	end := -1 // of the last mark: a run of them is one finding
	written := map[rune]bool{}
	for m := range text.Suspects(string(rr.doc.Text)) {
		written[m.Rune] = true
		follows := m.Offset == end
		end = m.Offset + max(1, utf8.RuneLen(m.Rune))
		like := m.Kind == text.KindConfusable || m.Kind == text.KindSpace
		if follows && m.Kind != text.KindConfusable || m.Kind == text.KindControl || m.Kind == text.KindInvalid {
			continue // what is no text is reported as that
		}
		f := schemas.Finding{Rule: "sec.hidden", Message: "a character that is not seen as what it is: " + m.Name,
			Hint: "remove it, or type an ordinary space or letter"}
		if m.Kind == text.KindConfusable {
			f.Message = fmt.Sprintf("%s looks like %q", m.Name, m.Looks)
		}
		if like && !within(rr.strict, m.Offset) { // in text for people it does no harm
			f.Severity = schemas.SeverityWarning
		}
		f.Line, f.Column = rr.doc.Pos(m.Offset)
		rr.rep.Add(f)
	}
	for _, key := range []string{"requested_by", "approved_by", "purpose"} {
		rr.escaped(key, written)
	}
	rr.gap()
	for _, c := range rr.commands {
		rr.lookalikes(c)
	}
	lastLine := 0
	for _, h := range rr.doc.Hidden {
		line, _ := rr.doc.Pos(h.Offset)
		tag := h.Kind != document.HiddenComment && h.Kind != document.HiddenDefinition
		if line == lastLine || tag && within(rr.commands, h.Offset) { // of a command the raw line counts
			continue
		}
		lastLine = line // one finding a line
		rr.at("sec.hidden", h.Offset, "remove it, or write it as plain text or in backticks",
			"there is HTML, a comment or a link definition (%s) that a rendered view does not show as it is written",
			h.Kind)
	}
}

// escaped reports a hidden character that only YAML's escapes brought into the
// text of a key: who reads the file sees letters there, who reads the value nothing.
// Other keys hold none: each has a form of its own.
func (rr *requestReader) escaped(key string, written map[rune]bool) {
	if rr.doc.Front == nil {
		return
	}
	value, _ := rr.doc.Front.Plain(key)
	for m := range text.Suspects(value) {
		if m.Kind != text.KindConfusable && m.Kind != text.KindSpace && !written[m.Rune] {
			rr.key("sec.hidden", key, "remove the escape",
				"%s holds, by an escape, a character that is not seen as what it is: %s", key, m.Name)
			return
		}
	}
}

func within(spans []span, offset int) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.start <= offset && offset < s.end })
}

// lookalikes reports what in a command only looks plain: signs outside of quotes, and words
// of foreign letters where a program, an option or a file is named. text.Suspects sees only
// words that mix both.
func (rr *requestReader) lookalikes(c span) {
	quote := rune(0)
	for i, r := range string(rr.doc.Text[c.start:c.end]) {
		sign, like := text.Punctuation(r)
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case like:
			rr.at("sec.hidden", c.start+i, "type the plain character; one that is meant goes in quotes",
				"%s only looks like %q", text.Name(r), sign)
			return
		}
	}
	for i, word := range rr.req.Argv {
		if strings.HasPrefix(word, "-") {
			word, _, _ = strings.Cut(word, "=")
		} else if i > 0 && !strings.ContainsAny(word, "./") || strings.ContainsAny(word, " ()") {
			continue
		}
		for letters := range strings.FieldsFuncSeq(word, func(r rune) bool { return !unicode.IsLetter(r) }) {
			if !strings.ContainsFunc(letters, isPlain) {
				rr.at("sec.hidden", c.start, "type plain letters",
					"the word %s is made of letters that look like Latin ones", document.Quote(letters))
				return
			}
		}
	}
}

// isPlain says whether a letter does not look like a Latin one, or is one.
func isPlain(r rune) bool {
	_, like := text.Confusable(r)
	return !like
}

// A reader takes a wider gap for the end of a line, or of the text.
const (
	maxBlanks     = 100
	maxBlankLines = 40
)

// gap reports the first text that blanks push out of a reader's sight.
func (rr *requestReader) gap() {
	blanks, lines := 0, 0
	for i, b := range rr.doc.Text {
		switch b {
		case ' ':
			blanks++
		case '\t':
			blanks += 8
		case '\n':
			blanks = 0
			lines++
		default:
			if blanks > maxBlanks || lines > maxBlankLines {
				rr.at("sec.hidden", i, "take the blanks out", "text behind a gap in which a reader sees its end")
				return
			}
			blanks, lines = 0, 0
		}
	}
}

// maxProseBytes bounds the text for people: nobody who approves a request reads more.
const maxProseBytes = 128 << 10

// prose looks for instructions in text for people.
func (rr *requestReader) prose() {
	size := 0
	for _, s := range rr.stated {
		place := func(offset int) (int, int) {
			if s.line > 0 {
				return s.line, s.column
			}
			return rr.doc.Pos(s.offset + offset)
		}
		if size += len(s.text); size > maxProseBytes {
			line, column := place(0)
			rr.rep.AtLine("doc.size", line, column,
				fmt.Sprintf("the text for people has more than the %d bytes that are allowed", maxProseBytes),
				"say in a few sentences what is done and why, and pass data as input files")
			return
		}
		report := func(rule string, from, to int, message, hint string) {
			b := matched([]byte(s.text), from, to)
			if rr.p.IsReleased(rule, b) {
				return
			}
			line, column := place(from)
			rr.rep.Add(schemas.Finding{Rule: rule, Line: line, Column: column, Message: message, Hint: hint,
				Span: schemas.SpanOf(rule, b)})
		}
		for _, found := range reach.InstallsInProse(s.text) {
			report("sec.packages", found.Offset, found.End,
				"the text asks to install packages: "+document.Quote(strings.Join(strings.Fields(found.Text), " ")),
				"remove it; ask for an image that holds the package already")
		}
		for _, ref := range reach.Paths(s.text, reach.Prose) {
			code.PathNote(ref, func(rule, message, hint string) { report(rule, ref.Offset, ref.End, message, hint) })
		}
	}
}

// secrets scans the text. The function it returns takes the secrets that were found out of findings.
func (rr *requestReader) secrets() func([]schemas.Finding) []schemas.Finding {
	src := rr.doc.Text
	all, ms := rr.p.secrets(src)
	rr.rep.AddAll(secretFindings(src, ms, rr.doc.Pos))
	red := secrets.NewRedactor(src, all)
	if joined := unquoted(src); len(joined.Text) < len(src) {
		more, left := rr.p.secrets(joined.Text)
		for _, m := range left {
			if from, to := joined.Origin(m.Offset), joined.Origin(m.End-1)+1; to-from > m.End-m.Offset {
				m.Offset, m.End = from, to
				rr.rep.AddAll(secretFindings(src, []secrets.Match{m}, rr.doc.Pos))
			}
		}
		for _, m := range more {
			red.Add(string(joined.Text[m.Offset:m.End]))
		}
	}
	return red.Findings
}

// seam is where a shell or Python joins two quoted pieces.
var seam = regexp.MustCompile(`[\w!-/:;=?@^~]["'][ \t]*(?:\+[ \t]*)?(?:\\?\n[ \t]*)?(?:\+[ \t]*)?["'][\w!-/:;=?@^~]`)

// unquoted is src with its quoted pieces joined, as programs read them.
func unquoted(src []byte) *text.Mapped {
	m := &text.Mapped{}
	at := 0
	for _, ix := range seam.FindAllIndex(src, -1) {
		m.Add(src[at:ix[0]+1], at)
		at = ix[1] - 1
	}
	m.Add(src[at:], at)
	return m
}
