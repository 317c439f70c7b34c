package validate

import (
	"io"
	"slices"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/artifact"
	"github.com/threegate/tool-exec/validate/content"
	"github.com/threegate/tool-exec/validate/document"
	"github.com/threegate/tool-exec/validate/secrets"
	"github.com/threegate/tool-exec/validate/text"
)

// ArtifactVerdict is what becomes of a file that is to be delivered with a result.
type ArtifactVerdict struct {
	// Type is the one of schemas.ArtifactTypes that decides: the first that the policy
	// does not name, else that of the file's beginning.
	Type string
	// Tier is content.Note for a file that is delivered, content.Mask or content.Withhold for one that is
	// withheld while the rest of the result goes out, and content.Refuse for one for which
	// the result is refused.
	Tier content.Tier
	// Findings say why, and hold no secret.
	Findings []schemas.Finding
	// Secrets are those of its text, which stand nowhere else in the result either.
	Secrets []secrets.Match
}

// Artifact judges one file of size bytes that is to be delivered with a result. path is its
// path in the artifacts folder. It reads all of the file, in windows, and keeps little of
// it. The error is that of reading r, and no verdict.
//
// The file must be of the types that the policy names, by its content and by its name; its
// text, wherever it stands in the file, is judged as that of the result is. An archive that
// may be delivered is judged by what it holds. A stream is text, whatever a file of another
// name would do with the same bytes.
func Artifact(path string, r io.ReaderAt, size int64, p Policy) (v ArtifactVerdict, err error) {
	var fs []schemas.Finding
	types, stream := p.ArtifactTypes, slices.Contains(schemas.StreamArtifacts, path)
	if stream {
		types = slices.Concat(types, actingTexts)
	}
	words := func(b []byte, is func(...string) bool) []artifact.Found {
		if stream { // nothing is exempt in it
			is = func(...string) bool { return false }
		}
		found, ms := p.artifactWords(b, is)
		v.Secrets = append(v.Secrets, ms...)
		return found
	}
	if v.Type, fs, err = artifact.Read(path, r, size, types, words); err != nil {
		return ArtifactVerdict{}, err
	}
	if why := badArtifactPath(path); why != "" {
		fs = append(fs, schemas.Finding{Rule: "result.artifacts.path", Severity: schemas.SeverityBlocking,
			Message: artifact.Label(path) + "its path " + why, Hint: "give the file a plain relative name"})
	}
	v.Findings = p.severities(fs)
	for _, f := range v.Findings {
		switch {
		case f.Severity != schemas.SeverityBlocking:
		case f.Rule == artifact.RuleType, f.Rule == artifact.RuleUnscanned:
			v.Tier = max(v.Tier, content.Withhold)
		default:
			v.Tier = max(v.Tier, content.TierOf(f.Rule), content.Mask)
		}
	}
	if secrets.IsDump(v.Secrets) {
		v.Tier = content.Refuse
	}
	return v, nil
}

// HoldsSecret says whether one of the secrets stands in the text of a file, as Artifact reads it.
func HoldsSecret(path string, r io.ReaderAt, size int64, p Policy, set *secrets.Set) (holds bool, err error) {
	_, _, err = artifact.Read(path, r, size, p.ArtifactTypes, func(b []byte, _ func(...string) bool) []artifact.Found {
		holds = holds || len(set.Find(b)) > 0
		return nil
	})
	return holds, err
}

// Types that act, and that a policy has named: of these the result's rules don't hold.
var (
	actingTypes = []string{schemas.ArtifactScript, schemas.ArtifactProgram, schemas.ArtifactHTMLScript,
		schemas.ArtifactSVGScript, schemas.ArtifactPDFAction, schemas.ArtifactOfficeMacro, schemas.ArtifactObject,
		schemas.ArtifactNotebook, schemas.ArtifactLauncher}
	// actingTexts act by the name of their file, which a stream's is not.
	actingTexts = []string{schemas.ArtifactScript, schemas.ArtifactHTMLScript, schemas.ArtifactSVGScript,
		schemas.ArtifactNotebook, schemas.ArtifactLauncher}
	commandTypes = []string{schemas.ArtifactScript, schemas.ArtifactProgram, schemas.ArtifactLauncher}
)

// artifactWords is what is found in text of a file: secrets, and what the result may not say.
func (p *Policy) artifactWords(b []byte, is func(...string) bool) (found []artifact.Found, ms []secrets.Match) {
	all, ms := p.secrets(b)
	lines := document.NewLines(b)
	var fs []schemas.Finding
	add := func(f schemas.Finding, offset int) {
		line, column := lines.Pos(offset)
		f.Excerpt = text.Excerpt(string(lines.Text(line)), column, text.MaxExcerpt)
		fs = append(fs, f)
		found = append(found, artifact.Found{Offset: offset})
	}
	for i, f := range secretFindings(b, ms, func(int) (int, int) { return 0, 0 }) {
		if ms[i].Rule == secrets.RuleUnscannable {
			f.Rule, f.Span = artifact.RuleUnscanned, ""
		}
		add(f, ms[i].Offset)
	}
	for _, h := range p.hits(b) {
		f := hitFinding(b, h)
		switch {
		case h.Rule == content.RuleUnread:
			f.Rule, f.Span = artifact.RuleUnscanned, ""
		case content.IsPayload(h.Rule) && is(actingTypes...),
			content.TierOf(h.Rule) < content.Refuse && is(commandTypes...):
			continue
		case f.Severity == "" && content.TierOf(h.Rule) == content.Note:
			f.Severity = schemas.SeveritySuggestion
		}
		add(f, h.Offset)
	}
	for i, f := range secrets.NewRedactor(b, all).Findings(fs) {
		found[i].Finding = f
	}
	return found, slices.DeleteFunc(ms, func(m secrets.Match) bool { return m.Rule == secrets.RuleUnscannable })
}
