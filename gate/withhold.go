package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/patchpolicy"
	"github.com/threegate/tool-exec/gate/recheck"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/channel"
	"github.com/threegate/tool-exec/validate/content"
)

// Withheld is text of a finished job that its result does not hold, for people to look at.
type Withheld struct {
	// Channel says where it would have stood: "stdout", "/out/notes.md", "a name".
	Channel string `json:"channel"`
	Rule    string `json:"rule"`
	// Why is the rule's sentence about it.
	Why string `json:"why"`
	// File is the file in the job's folder that holds it, From and To its bytes there. Words
	// of a request, and names, have none.
	File string `json:"file,omitempty"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
	// First and Last are its lines in the file, 0 if it is all of it.
	First int `json:"first,omitempty"`
	Last  int `json:"last,omitempty"`
}

// WithheldRecord is the content of ledger.FileWithheld.
type WithheldRecord struct {
	Version  int        `json:"version"`
	ResultID string     `json:"result_id"`
	Withheld []Withheld `json:"withheld"`
}

// words returns what a result may say of s, words of the request or a name that the
// sandbox chose, behind a label.
func (m *rendering) words(name, label, s string) string {
	shown, why, refused := m.policy.Words(label, s)
	if why == nil {
		shown, why, refused = m.external(name, s)
	}
	switch {
	case why == nil:
	case refused || m.policy.Strict:
		m.findings = append(m.findings, validate.Refusal(name, *why))
	default:
		m.withheld = append(m.withheld, Withheld{Channel: name, Rule: why.Rule, Why: why.What, To: int64(len(s))})
		m.note(name, 0, why.Rule)
	}
	return shown
}

// labelUnexpected is the label of the notes that words stand in.
const labelUnexpected = "Unexpected behavior"

// names says what, and the names that the sandbox chose, each as write writes it.
func (m *rendering) names(what string, names []string, write func(string) string) string {
	more := max(0, len(names)-maxListed)
	var shown []string
	for _, n := range names[:len(names)-more] {
		w := m.words("a name", labelUnexpected, n)
		if w == n {
			w = write(n)
		}
		shown = append(shown, w)
	}
	return describeNames(what, shown, more)
}

// hosts says what, and the destinations that the sandbox asked for. None of them refuses a
// result: that it asked is what a result is to report.
func (m *rendering) hosts(what string, names []string, more int) string {
	names, more = slices.Clone(names[:min(maxListed, len(names))]), more+max(0, len(names)-maxListed)
	for i, n := range names {
		shown, why, _ := m.policy.Words(labelUnexpected, n)
		if why == nil {
			shown, _, _ = m.external(what, n)
		}
		names[i] = shown
	}
	return describeNames(what, names, more)
}

// describeNames says what, and names; only how many they are, if they say something together.
func describeNames(what string, names []string, more int) string {
	s := what + ": " + list(names, more) + "."
	if _, why, _ := validate.Words(labelUnexpected, strings.ReplaceAll(s, schemas.MarkerStart, "(")); why == nil {
		return s
	}
	return number(what, len(names)+more)
}

func number(what string, n int) string {
	return fmt.Sprintf("%s: %d. Their names are in the archive.", what, n)
}

// note says in the safety notes that something is withheld from a channel: n places, or
// all of it.
func (m *rendering) note(name string, n int, rules ...string) {
	slices.Sort(rules)
	by := strings.Join(slices.Compact(rules), ", ")
	what := "all of it"
	if n == 1 {
		what = "1 place"
	} else if n > 1 {
		what = fmt.Sprintf("%d places", n)
	}
	s := fmt.Sprintf("Withheld from CORE, and kept in the archive: %s, %s (%s).", name, what, by)
	if !slices.Contains(m.notes, s) {
		m.notes = append(m.notes, s)
	}
}

// noteReleases names in the safety notes who took back which judgement about this job.
func (m *rendering) noteReleases(all []ledger.Event) {
	for _, e := range all {
		var rules []string
		for _, r := range e.Released {
			rules = append(rules, r.Rule)
		}
		slices.Sort(rules)
		rules = slices.Compact(rules)
		m.notes = append(m.notes, fmt.Sprintf("Released by %s: rule %s.", m.words("who released it", labelUnexpected,
			e.By), strings.Join(rules, ", ")))
	}
}

// stream judges a stream whole and cuts it down to what a result shows; the whole of it
// then becomes an artifact, with the same markers.
func (m *rendering) stream(file string, s executors.Stream, artifact string) (schemas.Stream, error) {
	raw, err := os.ReadFile(m.j.Path(file))
	if err != nil {
		return schemas.Stream{}, fmt.Errorf("read captured stream: %w", err)
	}
	v := channel.Judge(raw, m.policy.IsReleased)
	withheld, refused, err := m.filters.judge(file, bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return schemas.Stream{}, err
	}
	v.Add(raw, withheld, refused)
	m.judged(file, raw, &v)
	start, cut := channel.Shorten(string(raw), m.lines, inlineBytes)
	shown := schemas.Stream{Text: start}
	if !m.policy.Strict {
		shown.Text, shown.Withheld = channel.Part(raw, len(start), v)
	}
	lost := s.Total - s.Kept
	if cut || lost > 0 {
		shown.Truncated, shown.Note = true, truncation(len(start), s.Total, lost, artifact)
		if err := m.wholeStream(file, artifact, s.SHA256, raw, v); err != nil {
			return schemas.Stream{}, err
		}
		if !channel.HasMarker(raw) { // the artifact is the stream itself
			return shown, nil
		}
	}
	err = m.rawStream(file, s.SHA256, raw, v, &shown)
	return shown, err
}

// rawStream makes an artifact of a stream of which the result shows codes in place of some bytes,
// if nothing of it is withheld or refused. As an artifact it is judged like all; what may not be
// delivered so stays in the archive, and the rest of the result is not lost for it.
func (m *rendering) rawStream(file, sha string, raw []byte, v channel.Verdict, shown *schemas.Stream) error {
	if len(v.Withheld)+len(v.Refused) > 0 || !channel.Escapes(raw) {
		return nil
	}
	artifact := schemas.StdoutRawArtifact
	if file == ledger.FileStderr {
		artifact = schemas.StderrRawArtifact
	}
	verdict, err := judgeFile(artifact, m.j.Path(file), m.policy)
	if err != nil {
		return err
	}
	note := rawNote(artifact)
	if verdict.Tier > content.Note {
		note = rawKept
	} else {
		m.findings = append(m.findings, inFile(file, verdict.Findings)...)
		m.deliver(artifact, m.j.Path(file), sha)
	}
	if shown.Note != "" {
		note = shown.Note + " " + note
	}
	shown.Note = note
	return nil
}

// rawKept is what a result says of a raw stream that is not delivered.
const rawKept = "Some bytes are shown as codes. The raw stream may not be an artifact, and is in the archive."

func rawNote(artifact string) string {
	return "Some bytes are shown as codes. The raw stream is the artifact " + artifact + "."
}

// truncation says how much of a stream is shown, and where the whole is.
func truncation(shown int, total, lost int64, artifact string) string {
	s := fmt.Sprintf("Truncated: %d of %d bytes shown. The captured stream is the artifact %s.", shown, total, artifact)
	if lost > 0 {
		s += fmt.Sprintf(" The stream went over its limit: %d bytes were not kept.", lost)
	}
	return s
}

// judged notes what was found in a stream.
func (m *rendering) judged(name string, raw []byte, v *channel.Verdict) {
	for _, s := range v.Refused {
		m.refuse(name, s)
	}
	if m.policy.Strict {
		for _, s := range v.Withheld {
			if text := raw[s.From:s.To]; !m.policy.IsReleased(s.Rule, text) {
				s.SHA256 = schemas.SpanOf(s.Rule, text)
				m.refuse(name, s)
			}
		}
		v.Withheld = nil
	}
	if len(v.Withheld) == 0 {
		return
	}
	var rules []string
	for _, s := range v.Withheld {
		rules = append(rules, s.Rule)
		m.withheld = append(m.withheld, Withheld{Channel: name, Rule: s.Rule, Why: s.What, File: name,
			From: int64(s.From), To: int64(s.To), First: s.First, Last: s.Last})
	}
	m.note(name, len(rules), rules...)
	if v.TooMuch(m.a.Request.Documentation) {
		m.findings = append(m.findings, v.Refusal(name))
	}
}

// maxRefusals bounds the places of streams that are listed.
const maxRefusals = 100

// refuse notes the first place of a stream at which the same text breaks a rule.
func (m *rendering) refuse(name string, s channel.Span) {
	f := validate.Refusal(name, s)
	if f.Line = s.First; f.Line > 0 {
		f.File = name
	}
	if len(m.refusals) < maxRefusals && !slices.ContainsFunc(m.refusals,
		func(r schemas.Finding) bool { return r.Rule == f.Rule && r.Span == f.Span }) {
		m.refusals = append(m.refusals, f)
	}
}

// wholeStream makes an artifact of a stream.
func (m *rendering) wholeStream(file, artifact, sha string, raw []byte, v channel.Verdict) error {
	source := m.j.Path(file)
	if whole := channel.Whole(raw, v); len(v.Withheld) > 0 || channel.HasMarker(raw) {
		if err := m.j.WriteFile(file+ledger.ShownSuffix, whole); err != nil {
			return err
		}
		sum := sha256.Sum256(whole)
		source, sha = source+ledger.ShownSuffix, hex.EncodeToString(sum[:])
	}
	verdict, err := judgeFile(artifact, source, m.policy)
	if err != nil {
		return err
	}
	m.findings = append(m.findings, inFile(filepath.Base(source), verdict.Findings)...)
	m.deliver(artifact, source, sha)
	return nil
}

// inFile says of findings about an artifact in which file of the job's folder their lines are.
func inFile(name string, fs []schemas.Finding) []schemas.Finding {
	for i := range fs {
		if fs[i].Line > 0 {
			fs[i].File = name
		}
	}
	return fs
}

// output delivers a file whole, or withholds all of it.
func (m *rendering) output(f executors.File, describe func() string) error {
	source := m.j.Path(ledger.DirOut, f.Path)
	verdict, err := judgeFile(f.Path, source, m.policy)
	if err != nil {
		return err
	}
	if err := m.patch(f.Path, source, &verdict); err != nil {
		return err
	}
	path := "/out/" + f.Path
	if err := m.externalFile(path, source, &verdict); err != nil {
		return err
	}
	if verdict.Tier == content.Withhold && !m.policy.Strict {
		why := verdict.Findings[slices.IndexFunc(verdict.Findings, func(f schemas.Finding) bool {
			return f.Severity == schemas.SeverityBlocking
		})]
		m.withheld = append(m.withheld, Withheld{Channel: path, Rule: why.Rule, Why: why.Message,
			File: ledger.DirOut + "/" + f.Path, To: f.Size})
		m.unread = append(m.unread, path)
		m.note(fmt.Sprintf("%s of %d bytes", path, f.Size), 0, why.Rule)
		return nil
	}
	m.findings = append(m.findings, inFile(ledger.DirOut+"/"+f.Path, verdict.Findings)...)
	m.deliver(f.Path, source, f.SHA256)
	m.res.Outputs = append(m.res.Outputs, schemas.Output{Path: path, SHA256: f.SHA256, Description: describe()})
	return nil
}

// toolsOf is the run of tools that a task of a job may be. The registry is that of its profile, if it has one.
func toolsOf(j *spool.Job, t *executors.Task, registry []byte) *patchpolicy.Run {
	return &patchpolicy.Run{Argv: t.Argv, Given: registry, Trees: t.Trees, Work: t.Work,
		Open: patchpolicy.In(j.Path(spool.DirInputs)), Hashes: j.InputHashes()}
}

// patch adds to the verdict on an output, if it is the patch of a run of tools, what its registry says of it.
func (m *rendering) patch(name, source string, v *validate.ArtifactVerdict) error {
	notes, err := toolsOf(m.j, &m.a.Task, m.a.Registry).Judge(name, source, &m.policy, v)
	if err != nil {
		return err
	}
	m.notes = append(m.notes, notes...)
	if path.Base(name) != patchpolicy.File || !recheck.Needed(m.a.Registry, m.o.Collected.Files) {
		return nil
	}
	second := m.o.Recheck
	if name != patchpolicy.File { // it was not looked at
		second = nil
	}
	found, notes, err := second.Findings(m.j.Path(ledger.DirRecheck), source, m.policy.IsReleased)
	m.notes = append(m.notes, notes...)
	if v.Findings = append(v.Findings, found...); len(found) > 0 {
		v.Tier = max(v.Tier, content.Withhold)
	}
	return err
}

// unjudged withholds bundles of commits that a second run should have judged with the patch, where there is no patch.
// CORE does not get them anyhow; whoever publishes them must know.
func (m *rendering) unjudged(extra map[string]executors.File) {
	if m.o.Recheck != nil || !recheck.Needed(m.a.Registry, m.o.Collected.Files) {
		return
	}
	for _, name := range recheck.Bundles {
		if f, ok := extra[name]; ok {
			m.withheld = append(m.withheld, Withheld{Channel: "/out/" + name, Rule: recheck.Rule,
				Why: recheck.Unjudged, File: ledger.DirOut + "/" + name, To: f.Size})
			m.note(fmt.Sprintf("/out/%s of %d bytes", name, f.Size), 0, recheck.Rule)
		}
	}
}

// finish writes the document, the artifact that tells which of it is words of others, and
// the record of what is withheld.
func (m *rendering) finish() error {
	name := m.res.ResultID + schemas.SpansSuffix
	// The digest has its place in the document before it is known, so that the spans tell
	// of the document that they are listed in.
	m.deliver(name, m.j.Path(ledger.FileSpans), strings.Repeat("0", hex.EncodedLen(sha256.Size)))
	raw, spans, err := validate.RenderSpans(m.res)
	if err != nil {
		return fmt.Errorf("render the result: %w", err)
	}
	b, err := json.MarshalIndent(schemas.Spans{Version: schemas.SpansVersion, ResultID: m.res.ResultID,
		Bytes: len(raw), Spans: spans, Released: m.policy.Released}, "", " ")
	if err != nil {
		return fmt.Errorf("write %s: %w", ledger.FileSpans, err)
	}
	b = append(b, '\n')
	if err := m.j.WriteFile(ledger.FileSpans, b); err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	last := len(m.files) - 1
	m.files[last].SHA256 = hex.EncodeToString(sum[:])
	m.res.Artifacts[last].SHA256 = m.files[last].SHA256
	if m.raw, err = validate.RenderResult(m.res); err != nil {
		return fmt.Errorf("render the result: %w", err)
	}
	if err := m.j.WriteFile(ledger.FileResult, m.raw); err != nil {
		return err
	}
	if len(m.withheld) == 0 {
		if _, err := os.Lstat(m.j.Path(ledger.FileWithheld)); err == nil { // of a try before this one
			return m.j.Remove(ledger.FileWithheld)
		}
		return nil
	}
	return writeRecord(m.j, ledger.FileWithheld, WithheldRecord{recordVersion, m.res.ResultID, m.withheld})
}
