package validate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/content"
	"github.com/threegate/tool-exec/validate/secrets"
	"github.com/threegate/tool-exec/validate/text"
)

const ruleSecrets = "secrets.scan"

// maxSecretFindings bounds how many secrets are reported one by one.
const maxSecretFindings = 100

// secretFindings are the findings for ms in b, placed by at.
func secretFindings(b []byte, ms []secrets.Match, at func(offset int) (line, column int)) []schemas.Finding {
	var fs []schemas.Finding
	for _, m := range ms[:min(len(ms), maxSecretFindings)] {
		f := schemas.Finding{Rule: ruleSecrets, Message: fmt.Sprintf("a secret (%s): %s", m.Rule, m.Masked),
			Hint: "remove it, and replace the secret where it is used: it has been exposed",
			Span: schemas.SpanOf(ruleSecrets, matched(b, m.Offset, m.End))}
		if m.Decoded != "" {
			f.Message = fmt.Sprintf("a secret (%s) encoded as %s: %s", m.Rule, m.Decoded, m.Masked)
		}
		if m.Rule == secrets.RuleUnscannable {
			f.Message, f.Hint = "the text can't be searched for secrets in reasonable time: "+m.Masked, lessText
			f.Span = ""
		}
		f.Line, f.Column = at(m.Offset)
		fs = append(fs, f)
	}
	return fs
}

// lessText says how to mend what is too much to be judged.
const lessText = "deliver less text, or without such encodings"

// hitFinding is the finding for a hit in b.
func hitFinding(b []byte, h content.Hit) schemas.Finding {
	r, _ := schemas.RuleByID(h.Rule)
	f := schemas.Finding{Rule: h.Rule, Message: h.What, Hint: r.Hint,
		Span: schemas.SpanOf(h.Rule, matched(b, h.Offset, h.End))}
	if h.Rule == content.RuleUnread {
		f.Hint = lessText
	}
	if h.Encoding != "" {
		f.Message += ", encoded as " + h.Encoding
	}
	return f
}

// content reports what a result must not hold, in its text with the visible codes turned
// back. The function it returns takes the secrets that were found out of findings.
func (rr *resultReader) content() (clean func([]schemas.Finding) []schemas.Finding) {
	view := text.Loose(rr.doc.Text)
	all, ms := rr.p.secrets(view.Text)
	hits := rr.p.hits(view.Text)
	red := secrets.NewRedactor(view.Text, all)
	for _, m := range all { // as the document spells them
		from, to := view.Origin(m.Offset), min(len(rr.doc.Text), view.Origin(m.End))
		red.Add(string(rr.doc.Text[from:max(from, to)]))
	}
	var places []span
	if len(hits) > 0 && !content.Full(hits) && rr.res.Backend == schemas.BackendERA {
		places = rr.commandLines()
	}
	hits = slices.DeleteFunc(hits, func(h content.Hit) bool { return named(h, places, view.Origin) })
	rr.found(view.Text, ms, hits, func(offset int) (int, int) { return rr.doc.Pos(view.Origin(offset)) })
	rr.escaped(red)
	return red.Findings
}

// found reports secrets and other hits in b, one for each rule and line.
func (rr *resultReader) found(b []byte, ms []secrets.Match, hits []content.Hit, pos func(offset int) (int, int)) {
	rr.rep.AddAll(secretFindings(b, ms, pos))
	var fs []schemas.Finding
	for _, h := range hits {
		f := hitFinding(b, h)
		f.Line, f.Column = pos(h.Offset)
		same := func(o schemas.Finding) bool { return o.Rule == f.Rule && o.Line == f.Line }
		if at := slices.IndexFunc(fs, same); at < 0 {
			fs = append(fs, f)
		} else {
			fs[at].AlsoOf(f)
		}
	}
	rr.rep.AddAll(fs)
}

// escaped looks at the values of the front matter where escapes spell them
// differently from what they are.
func (rr *resultReader) escaped(red *secrets.Redactor) {
	if rr.doc.Front == nil || !bytes.ContainsRune(rr.doc.Text[:rr.doc.BodyOffset], '\\') {
		return
	}
	res := rr.res
	values := []string{res.ResultID, res.RequestID, res.Executor, string(res.Backend)}
	values = append(values, res.NetworkDestinations...)
	for _, a := range res.Artifacts {
		values = append(values, a.Path)
	}
	bare, _ := text.Strip([]byte(strings.Join(values, "\n") + "\n"))
	all, ms := rr.p.secrets(bare.Text)
	for _, m := range all {
		red.Add(string(bare.Text[m.Offset:m.End]))
	}
	rr.found(bare.Text, ms, rr.p.hits(bare.Text), func(int) (int, int) { return rr.doc.Front.Pos() })
}

// scrub takes secrets out of findings about bytes that are no document.
func scrub(raw []byte, fs []schemas.Finding) []schemas.Finding {
	raw = raw[:min(len(raw), 64<<10)] // findings about such bytes quote their beginning at most
	return secrets.NewRedactor(raw, secrets.Scan(raw)).Findings(fs)
}
