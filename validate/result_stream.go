package validate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/document"
	"github.com/threegate/tool-exec/validate/text"
)

// openingFence is what stands behind the backticks at the start of a stream: a word with
// which no viewer runs or renders it, and the tag of the result.
var openingFence = regexp.MustCompile(`^text(?: ([0-9a-f]{16}))?$`)

// stream reads "## Stdout" or "## Stderr": one fence, and lines about it behind it.
func (rr *resultReader) stream(s *document.Section) schemas.Stream {
	const hint = "put the stream into one fence marked text, and behind it only lines about it"
	var out schemas.Stream
	i := slices.IndexFunc(s.Blocks, func(b ast.Node) bool { return b.Kind() == ast.KindFencedCodeBlock })
	if i < 0 {
		rr.at("result.stream.form", s.Offset, hint, "the section %s has no fence", s.Title)
		return out
	}
	fence := s.Blocks[i].(*ast.FencedCodeBlock)
	content, start := rr.doc.TextOf(fence)
	shown, end := string(content), start+max(len(content), 1) // of an empty fence that is in its first line
	info := ""
	if fence.Info != nil {
		info = strings.TrimSpace(string(fence.Info.Segment.Value(rr.doc.Text)))
	}
	opening := openingFence.FindStringSubmatch(info)
	if opening == nil {
		rr.at("result.stream.form", fence.Pos(), "write ```text, and behind it 16 hex digits or nothing",
			"the fence of %s is marked %s, which some viewers run or render", s.Title, document.Quote(info))
		opening = []string{"", ""}
	}
	noFinal, closed, tag := false, false, ""
	for _, l := range bodyLines(s) {
		label, value, _ := strings.Cut(l.text, ":")
		value = strings.TrimLeft(value, " ")
		switch inside := fence.Pos() <= l.offset && l.offset < end; {
		case inside:
		case l.offset >= end && !closed: // the closing fence
			closed = true
		case !closed:
			rr.at("result.stream.form", l.offset, hint, "the section %s has text before its fence", s.Title)
		case l.text == noNewline:
			noFinal = true
		case label == labelEnd && tag == "":
			tag = value
		case label == labelTruncated:
			out.Truncated, out.Note = true, rr.value(value, l.offset)
		case label == labelNote:
			out.Note = rr.value(value, l.offset)
		default:
			rr.at("result.stream.form", l.offset, hint, "the section %s has text outside of its fence", s.Title)
		}
	}
	if noFinal && shown == "" {
		rr.at("result.stream.form", s.Offset, "remove the note", "an empty stream is said to lack a newline at its end")
	} else if noFinal {
		shown = strings.TrimSuffix(shown, "\n")
	}
	rr.tagged(s, opening[1], tag, shown)
	rr.withMarkers(s, shown, &out)
	n := strings.Count(strings.TrimSuffix(shown, "\n")+"\n", "\n")
	if rr.p.MaxStreamLines > 0 && shown != "" && n > rr.p.MaxStreamLines {
		rr.at("result.stream.lines", s.Offset,
			"show the first lines, add a truncation note and deliver the whole stream as an artifact",
			"the section %s shows %d lines, %d are allowed", s.Title, n, rr.p.MaxStreamLines)
	}
	return out
}

// tagged checks the tag at both ends of a stream: it is that of the other stream, too,
// and nothing in the stream can pass for it.
func (rr *resultReader) tagged(s *document.Section, tag, end, shown string) {
	const hint = "write the same 16 random hex digits behind both opening fences, and in a line End: behind each fence"
	switch {
	case tag != end:
		rr.at("result.stream.form", s.Offset, hint, "the ends of %s are not marked alike", s.Title)
	case tag != "" && strings.Contains(shown, tag):
		rr.at("result.stream.form", s.Offset, hint, "%s holds what marks its ends", s.Title)
	case s.Title == sectionStderr && tag != rr.res.Fence:
		rr.at("result.stream.form", s.Offset, hint, "stdout and stderr are not marked alike")
	}
	rr.res.Fence = tag
}

// withMarkers reads the text of a stream, and the markers in it.
func (rr *resultReader) withMarkers(s *document.Section, shown string, out *schemas.Stream) {
	var raw strings.Builder
	for {
		w, from, to, found := schemas.FindMarker(shown)
		if !found {
			from, to = len(shown), len(shown)
		} else if w.Marker() != shown[from:to] {
			rr.at("result.text.visible", s.Offset, "write line 5, or lines 5-7",
				"the section %s holds a marker that the gate would write in another way", s.Title)
		}
		part, err := text.Raw(shown[:from])
		if err != nil {
			rr.at("result.text.visible", s.Offset, "write invisible characters as ⟦CODE⟧ and a literal ⟦ as ⟦27E6⟧",
				"the section %s: %s", s.Title, err)
		}
		raw.WriteString(part)
		if !found {
			break
		}
		w.At = raw.Len()
		out.Withheld = append(out.Withheld, w)
		shown = shown[to:]
	}
	out.Text = raw.String()
}

// agreement checks what front matter and sections say about the same things.
func (rr *resultReader) agreement() {
	res := rr.res
	byPath := map[string]string{}
	for _, a := range res.Artifacts {
		byPath[a.Path] = a.SHA256
	}
	listed := map[string]bool{}
	for _, o := range res.Outputs {
		name := strings.TrimPrefix(o.Path, "/out/")
		digest, ok := byPath[name]
		listed[name] = true
		switch {
		case !ok:
			rr.rep.Whole("result.outputs.artifact", fmt.Sprintf("the output %s is not among the artifacts",
				document.Quote(o.Path)), "list it under artifacts, with its path relative to /out and its sha256")
		case digest != o.SHA256:
			rr.rep.Whole("result.outputs.artifact", fmt.Sprintf("the output %s and its artifact differ in their sha256",
				document.Quote(o.Path)), "write the digest of the delivered file in both places")
		}
	}
	for _, st := range []struct {
		title, digest, raw string
		s                  schemas.Stream
	}{{sectionStdout, res.StdoutSHA256, schemas.StdoutRawArtifact, res.Stdout},
		{sectionStderr, res.StderrSHA256, schemas.StderrRawArtifact, res.Stderr}} {
		if raw, ok := byPath[st.raw]; ok && raw != st.digest {
			rr.rep.Whole("result.stream.artifact",
				"the artifact "+st.raw+" does not have the digest that "+strings.ToLower(st.title)+"_sha256 gives",
				"deliver the stream byte for byte, or leave the artifact out")
		}
		full := ""
		for _, a := range res.Artifacts {
			if a.SHA256 == st.digest || full == "" && strings.Contains(strings.ToLower(a.Path),
				strings.ToLower(st.title)) {
				full = a.Path
				listed[full] = true
			}
		}
		if st.s.Truncated && full == "" {
			rr.rep.Whole("result.stream.artifact",
				"the section "+st.title+" is truncated, but no artifact holds the whole stream",
				"deliver the whole stream as an artifact file")
		}
		if sum := sha256.Sum256([]byte(st.s.Text)); !st.s.Truncated && len(st.s.Withheld) == 0 &&
			sha256Hex.MatchString(st.digest) && hex.EncodeToString(sum[:]) != st.digest {
			rr.rep.Whole("result.stream.hash",
				"the section "+st.title+" does not have the digest that "+strings.ToLower(st.title)+"_sha256 gives",
				"write the stream's own digest, or mark the section as truncated")
		}
	}
	for _, a := range res.Artifacts {
		if !listed[a.Path] && a.Path != res.ResultID+schemas.SpansSuffix {
			rr.rep.Add(schemas.Finding{Rule: "result.outputs.artifact", Severity: schemas.SeverityWarning,
				Message: "the artifact " + document.Quote(a.Path) +
					" is not among the outputs", Hint: "list it in the section Outputs"})
		}
	}
}

// hidden refuses what a rendered view of the result would not show.
func (rr *resultReader) hidden() {
	for _, h := range rr.doc.Hidden {
		rr.at("result.text.hidden", h.Offset, "put it into a code span or a fence, or remove it",
			"there is HTML, a comment or a link definition (%s) that a rendered view does not show as it is written",
			h.Kind)
	}
}
