package result

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/channel"
	"github.com/threegate/tool-exec/validate/content"
)

const (
	// inlineBytes bounds what a result shows of one stream, whatever its lines.
	inlineBytes = 64 << 10
	// maxRefusals bounds the places of streams that are listed.
	maxRefusals = 100
)

// stream judges a stream whole and cuts it down to what a result shows; the whole of it then becomes an artifact, with
// the same markers. file is its file in the job's folder. The digest is that of the stream as it is delivered: that of
// the raw one would let a short secret be guessed.
func (b *builder) stream(file string) (shown schemas.Stream, delivered string, err error) {
	in, captured := b.Stdout, b.Outcome.Collected.Stdout
	whole, raw := schemas.StdoutArtifact, schemas.StdoutRawArtifact
	if file == ledger.FileStderr {
		in, captured = b.Stderr, b.Outcome.Collected.Stderr
		whole, raw = schemas.StderrArtifact, schemas.StderrRawArtifact
	}
	v := channel.Judge(in.Raw, b.secrets, b.Policy.Released...)
	v.Add(in.Raw, in.Withheld, append(in.Refused, b.Policy.Dump(in.Raw)...))
	b.found(file, in.Raw, &v)
	start, cut := channel.Shorten(string(in.Raw), b.Lines, inlineBytes)
	shown.Text = start
	if delivered = captured.SHA256; len(v.Withheld) > 0 {
		delivered = digest(channel.Whole(in.Raw, v))
	}
	if !b.Policy.Strict {
		shown.Text, shown.Withheld = channel.Part(in.Raw, len(start), v)
	}
	lost := captured.Total - captured.Kept
	if cut || lost > 0 {
		shown.Truncated, shown.Note = true, truncation(len(start), captured.Total, lost, whole, len(v.Withheld) > 0)
		if err := b.wholeStream(file, whole, captured.SHA256, in.Raw, v); err != nil {
			return schemas.Stream{}, "", err
		}
		if !channel.HasMarker(in.Raw) { // the artifact is the stream itself
			return shown, delivered, nil
		}
	}
	return shown, delivered, b.rawStream(file, raw, captured.SHA256, in.Raw, v, &shown)
}

// rawStream makes an artifact of a stream of which the result shows codes in place of some bytes, if nothing of it is
// withheld or refused. As an artifact it is judged like all; what may not be delivered so stays in the archive, and the
// rest of the result is not lost for it.
func (b *builder) rawStream(file, artifact, sha string, raw []byte, v channel.Verdict, shown *schemas.Stream) error {
	if len(v.Withheld)+len(v.Refused) > 0 || !channel.Escapes(raw) {
		return nil
	}
	verdict, err := judgeBytes(artifact, raw, b.Policy)
	if err != nil {
		return err
	}
	note := "Some bytes are shown as codes. The raw stream is the artifact " + artifact + "."
	if verdict.Tier > content.Note {
		note = "Some bytes are shown as codes. The raw stream may not be an artifact, and is in the archive."
	} else {
		b.Findings = append(b.Findings, inFile(file, verdict.Findings)...)
		b.deliver(artifact, file, sha)
	}
	if shown.Note != "" {
		note = shown.Note + " " + note
	}
	shown.Note = note
	return nil
}

// judgeBytes judges bytes that are to be an artifact.
func judgeBytes(artifact string, b []byte, p validate.Policy) (validate.ArtifactVerdict, error) {
	return validate.Artifact(artifact, bytes.NewReader(b), int64(len(b)), p)
}

// truncation says how much of a stream is shown, and where the whole is. Of one with withheld places the raw lengths
// would tell how long those are.
func truncation(shown int, total, lost int64, artifact string, withheld bool) string {
	s := fmt.Sprintf("Truncated: %d of %d bytes shown. The captured stream is the artifact %s.", shown, total, artifact)
	if withheld {
		s = "Truncated: its beginning is shown. The captured stream with all markers is the artifact " + artifact + "."
	}
	if lost > 0 {
		s += fmt.Sprintf(" The stream went over its limit: %d bytes were not kept.", lost)
	}
	return s
}

// found notes what was found in a stream.
func (b *builder) found(name string, raw []byte, v *channel.Verdict) {
	for _, s := range v.Refused {
		b.refuse(name, s)
	}
	if b.Policy.Strict {
		for _, s := range v.Withheld {
			if text := raw[s.From:s.To]; !b.Policy.IsReleased(s.Rule, text) {
				s.SHA256 = schemas.SpanOf(s.Rule, text)
				b.refuse(name, s)
			}
		}
		v.Withheld = nil
	}
	if len(v.Withheld) == 0 {
		return
	}
	b.withheldPlaces(name, name, v.Withheld)
	if v.TooMuch(b.Request.Documentation) {
		b.Findings = append(b.Findings, v.Refusal(name))
	}
}

// refuse notes the first place of a stream at which the same text breaks a rule.
func (b *builder) refuse(name string, s channel.Span) {
	f := validate.Refusal(name, s)
	if f.Line = s.First; f.Line > 0 {
		f.File = name
	}
	if len(b.refusals) < maxRefusals && !slices.ContainsFunc(b.refusals,
		func(r schemas.Finding) bool { return r.Rule == f.Rule && r.Span == f.Span }) {
		b.refusals = append(b.refusals, f)
	}
}

// wholeStream makes an artifact of a stream, with markers where something is withheld.
func (b *builder) wholeStream(file, artifact, sha string, raw []byte, v channel.Verdict) error {
	if len(v.Withheld) > 0 || channel.HasMarker(raw) {
		raw, file = channel.Whole(raw, v), file+ledger.ShownSuffix
		sha = digest(raw)
		b.Written = append(b.Written, Written{file, raw})
	}
	verdict, err := judgeBytes(artifact, raw, b.Policy)
	if err != nil {
		return err
	}
	b.Findings = append(b.Findings, inFile(file, verdict.Findings)...)
	b.deliver(artifact, file, sha)
	return nil
}
