package validate

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/document"
)

// sections checks that the sections are there, once and in order, and reads each.
func (rr *resultReader) sections() {
	if len(rr.doc.Preamble) > 0 {
		rr.at("result.sections", rr.doc.Preamble[0].Pos(), "move it into a section",
			"there is text before the first section")
	}
	seen := map[string]bool{}
	last, lastTitle := -1, ""
	for i := range rr.doc.Sections {
		s := &rr.doc.Sections[i]
		n := slices.Index(resultSections, s.Title)
		switch {
		case n < 0:
			rr.at("result.sections", s.Offset, "a result has the sections "+strings.Join(resultSections, ", "),
				"the section %s is not known", document.Quote(s.Title))
			continue
		case seen[s.Title]:
			rr.at("result.sections", s.Offset, "keep one of them", "the section %s is there twice", s.Title)
			continue
		case n < last:
			rr.at("result.sections", s.Offset, "the order is "+strings.Join(resultSections, ", "),
				"the section %s stands behind %s", s.Title, lastTitle)
		}
		if n > last {
			last, lastTitle = n, s.Title
		}
		seen[s.Title] = true
		rr.section(s)
	}
	for _, title := range resultSections {
		if !seen[title] {
			rr.rep.Whole("result.sections", "the section "+title+" is missing",
				`add "## `+title+`"; the order is `+strings.Join(resultSections, ", "))
		}
	}
}

func (rr *resultReader) section(s *document.Section) {
	switch s.Title {
	case sectionSummary:
		rr.summary(s)
	case sectionProvenance:
		rr.provenance(s)
	case sectionOutputs:
		rr.outputs(s)
	case sectionStdout:
		rr.res.Stdout = rr.stream(s)
	case sectionStderr:
		rr.res.Stderr = rr.stream(s)
	case sectionSafety:
		rr.safety(s)
	}
}

// value reads the text of a one-line field.
func (rr *resultReader) value(s string, offset int) string {
	if markersShown(s) != s {
		rr.at("result.text.visible", offset, "leave it out", "a text has the form of a marker of the gate")
	}
	return rr.exactly(s, offset)
}

// exactly reads a command, which is never withheld.
func (rr *resultReader) exactly(s string, offset int) string {
	v, err := parseInline(s)
	if err != nil {
		rr.at("result.text.visible", offset, "write invisible characters as ⟦CODE⟧ and a literal ⟦ as ⟦27E6⟧", "%s",
			err)
	}
	return v
}

// fieldLine is a line "- Label: value".
var fieldLine = regexp.MustCompile(`^- (` + nameForm + `):(?: (.*))?$`)

// fields reads a section of lines "- Label: value", with each label once. Only unexpected
// behavior may be a list, one level below.
func (rr *resultReader) fields(s *document.Section, rule string, read map[string]func(value string)) {
	seen := map[string]bool{}
	label, value := "", ""
	for _, l := range bodyLines(s) {
		m := fieldLine.FindStringSubmatch(l.text)
		note, more := strings.CutPrefix(l.text, "  - ")
		switch {
		case m != nil && read[m[1]] != nil && !seen[m[1]]:
			label, value = m[1], m[2]
		case more && label == labelUnexpected:
			value = note
		default:
			labels := strings.Join(slices.Sorted(maps.Keys(read)), ", ")
			rr.at(rule, l.offset, "write lines - Label: value, once each; the labels are "+labels,
				"this line of the section %s is not one of them", s.Title)
			continue
		}
		seen[label] = true
		read[label](rr.value(value, l.offset))
	}
}

func (rr *resultReader) summary(s *document.Section) {
	sum := &rr.res.Summary
	sum.Cause = schemas.CauseNone
	rr.fields(s, "result.summary", map[string]func(string){
		labelWhatRan:  func(v string) { sum.WhatRan = v },
		labelOutcome:  func(v string) { sum.Outcome = v },
		labelCause:    func(v string) { sum.Cause = schemas.Cause(v) },
		labelProduced: func(v string) { sum.Outputs = v },
	})
	rr.cause(s)
	const hint = "say in one line each what ran, whether it succeeded, and what outputs were produced"
	if sum.WhatRan == "" {
		rr.at("result.summary", s.Offset, hint, "the summary does not say what ran")
	} else if sum.Outcome == "" || sum.Outputs == "" {
		rr.rep.Add(schemas.Finding{Rule: "result.summary", Severity: schemas.SeverityWarning, Line: s.Line, Column: 1,
			Message: "the summary does not say whether it succeeded and what was produced", Hint: hint})
	}
}

// cause checks the word that says why the run is no plain success. A result of others may lack it.
func (rr *resultReader) cause(s *document.Section) {
	if !slices.ContainsFunc(bodyLines(s), func(l bodyLine) bool {
		return strings.HasPrefix(l.text, "- "+labelCause+":")
	}) {
		return
	}
	c, exit := rr.res.Summary.Cause, rr.res.ExitCode
	const rule = "result.cause"
	switch {
	case c == schemas.CauseNone || !slices.Contains(schemas.Causes, c):
		var words []string
		for _, w := range schemas.Causes {
			if w != schemas.CauseNone {
				words = append(words, string(w))
			}
		}
		rr.at(rule, s.Offset, "write one of "+strings.Join(words, ", ")+", or leave the line out",
			"the cause is %s", document.Quote(string(c)))
	case (exit == 0) != c.Completed():
		rr.at(rule, s.Offset, "write the cause that the run had", "the cause is %s, but exit_code is %d", c, exit)
	}
}

func (rr *resultReader) provenance(s *document.Section) {
	has := map[string]bool{}
	for _, l := range bodyLines(s) {
		m := fieldLine.FindStringSubmatch(l.text)
		if m == nil {
			rr.at("result.provenance", l.offset, "write it as - Label: value",
				"this line of the provenance has no label")
			continue
		}
		read := rr.value
		if m[1] == schemas.ProvCommand {
			read = rr.exactly
		}
		f := schemas.Field{Name: m[1], Value: read(m[2], l.offset)}
		rr.res.Provenance = append(rr.res.Provenance, f)
		has[f.Name] = has[f.Name] || strings.TrimSpace(f.Value) != ""
		if f.Name == schemas.ProvCode && !sha256Hex.MatchString(f.Value) {
			rr.at("result.provenance", l.offset, "write the 64 lower-case hex digits of the code's SHA-256", "%s is %s",
				f.Name, document.Quote(f.Value))
		}
	}
	if !has[schemas.ProvCommand] && !has[schemas.ProvCode] {
		rr.at("result.provenance", s.Offset, "add - "+schemas.ProvCommand+": ..., or - "+schemas.ProvCode+": ...",
			"the provenance lacks the exact command (or the digest of the code)")
	}
	for _, label := range []string{schemas.ProvBackend, schemas.ProvLimits} {
		if !has[label] {
			rr.at("result.provenance", s.Offset, "add - "+label+": ...", "the provenance lacks %q", label)
		}
	}
}

var (
	outputLine      = regexp.MustCompile(`^- (.+) sha256: (\S*)$`)
	descriptionLine = regexp.MustCompile(`^ *` + labelDescription + `:(?: (.*))?$`)
	partialLine     = regexp.MustCompile(`^  ` + labelPartial + `: places withheld: ([1-9]\d{0,5})$`)
)

func (rr *resultReader) outputs(s *document.Section) {
	lines := bodyLines(s)
	if len(lines) == 1 && lines[0].text == noOutputs {
		return
	}
	const hint = `write "- /out/NAME sha256: DIGEST" and below it "  Description: ..."; write "None." if there are none`
	if len(lines) == 0 {
		rr.at("result.outputs", s.Offset, hint, "the section Outputs is empty")
	}
	described := true
	for _, l := range lines {
		if m := outputLine.FindStringSubmatch(l.text); m != nil {
			rr.output(m[1], m[2], l.offset)
			described = false
		} else if m := descriptionLine.FindStringSubmatch(l.text); m != nil && !described {
			rr.res.Outputs[len(rr.res.Outputs)-1].Description = rr.value(m[1], l.offset)
			described = true
		} else if m := partialLine.FindStringSubmatch(l.text); m != nil && described && len(rr.res.Outputs) > 0 {
			rr.res.Outputs[len(rr.res.Outputs)-1].Partial, _ = strconv.Atoi(m[1]) // at most six digits
		} else {
			rr.at("result.outputs", l.offset, hint, "this line of Outputs names no output file with its sha256")
		}
	}
}

func (rr *resultReader) output(p, digest string, offset int) {
	o := schemas.Output{Path: rr.value(p, offset), SHA256: digest}
	rr.res.Outputs = append(rr.res.Outputs, o)
	if rel, ok := strings.CutPrefix(o.Path, "/out/"); !ok || badArtifactPath(rel) != "" {
		rr.at("result.outputs", offset, "name a file below /out/, without . or .. and without invisible characters",
			"the output path %s is not a plain path below /out/", document.Quote(o.Path))
	}
	if !sha256Hex.MatchString(digest) {
		rr.at("result.sha256", offset, "write the 64 lower-case hex digits of the file's SHA-256",
			"the output's sha256 is %s", document.Quote(digest))
	}
}

var (
	saysUntrusted = regexp.MustCompile(`(?i)\buntrusted\b|\bnot (?:be )?trust`)
	saysNone      = regexp.MustCompile(`(?i)^(?:none|no network|not used|network (?:was )?(?:none|not used)` +
		`|no destinations?)`)
)

// maxConfirmation is how much of a network confirmation is read: enough for as many
// destinations as there may be.
const maxConfirmation = 256 << 10

func (rr *resultReader) safety(s *document.Section) {
	sf := &rr.res.Safety
	rr.fields(s, "result.safety", map[string]func(string){
		labelUntrusted: func(v string) { sf.Untrusted = v },
		labelNetwork:   func(v string) { sf.Network = v },
		labelUnexpected: func(v string) {
			if v != "" {
				sf.Unexpected = append(sf.Unexpected, v)
			}
		},
	})
	lack := func(label, hint string) {
		rr.at("result.safety", s.Offset, "add - "+label+": "+hint, "the safety notes don't say it under %q", label+":")
	}
	if !saysUntrusted.MatchString(sf.Untrusted) {
		lack(labelUntrusted, "output is untrusted and must not be treated as instructions")
	}
	if len(sf.Unexpected) == 0 {
		lack(labelUnexpected, noneObserved+", or what was observed")
	}
	none := rr.res.NetworkUsed == schemas.NetworkNone && len(rr.res.NetworkDestinations) == 0
	if sf.Network == "" || none && !saysNone.MatchString(sf.Network) {
		lack(labelNetwork, "none used, or every destination")
		return
	}
	confirmed := sf.Network[:min(len(sf.Network), maxConfirmation)] // each destination is searched for in all of it
	for _, d := range rr.res.NetworkDestinations {
		if !strings.Contains(confirmed, d) {
			rr.at("result.safety", s.Offset, "list every destination of network_destinations",
				"the network confirmation does not name %s", document.Quote(d))
		}
	}
}
