package result_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/channel"
	"github.com/threegate/tool-exec/validate/content"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// spans are the places of a text that the filter names.
func spans(text string) (withheld, refused []channel.Span) {
	heard(text, func(from, to int, refuses bool) {
		s := channel.Span{Rule: "result.external", What: "words: a word of ours", From: from, To: to}
		if refuses {
			refused = append(refused, s)
		} else {
			withheld = append(withheld, s)
		}
	})
	return withheld, refused
}

// input is what the gate gives of a run.
func (r *run) input(t *testing.T) result.Input {
	t.Helper()
	stream := func(text string, lost int64) executors.Stream {
		return executors.Stream{Total: int64(len(text)) + lost, Kept: int64(len(text)), SHA256: sumOf(text)}
	}
	o := &result.Outcome{Outcome: r.outcome, Recheck: r.second, CreatedAt: runCreated, Fence: runFence,
		Collected: executors.Collected{Stdout: stream(r.stdout, r.lost), Stderr: stream(r.stderr, 0), Refused: r.refused}}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		text := r.files[name]
		o.Collected.Files = append(o.Collected.Files, executors.File{Path: name, Size: int64(len(text)), SHA256: sumOf(text)})
	}
	in := result.Input{Request: &r.request, RequestSHA256: runSHA256, Approvers: r.approvers, Limits: runLimits,
		Registry: r.registry, Outcome: o, Node: runNode, Lines: r.lines, Policy: r.policy(), Releases: r.releases,
		Stdout: result.Stream{Raw: []byte(r.stdout)}, Stderr: result.Stream{Raw: []byte(r.stderr)},
		Files: map[string]result.File{}}
	outputs, _ := result.Deliverable(&r.request, o.Collected.Files)
	for _, f := range outputs {
		text := r.files[f.Path]
		v, err := validate.Artifact(f.Path, strings.NewReader(text), f.Size, in.Policy)
		must(t, err)
		if withheld, refused := spans(text); r.filtered && v.Tier == content.Note {
			for _, s := range slices.Concat(refused, withheld) {
				v.Findings = append(v.Findings, validate.Refusal("/out/"+f.Path, s))
				v.Tier = content.Withhold
			}
			if len(refused) > 0 {
				v.Tier = content.Refuse
			}
		}
		in.Files[f.Path] = result.File{Verdict: v}
		if !slices.ContainsFunc(v.Findings, func(f schemas.Finding) bool {
			rule, _ := schemas.RuleByID(f.Rule)
			return rule.Tier == ""
		}) {
			in.Files[f.Path] = result.File{Verdict: v, Raw: []byte(text)}
		}
	}
	set := result.Secrets(&in)
	for name, f := range in.Files { // as gate.maskOutput does
		text := r.files[name]
		holds, err := validate.HoldsSecret(name, strings.NewReader(text), int64(len(text)), in.Policy, set)
		if must(t, err); holds && f.Verdict.Tier == content.Note {
			f.Verdict.Tier = content.Mask
			f.Verdict.Findings = append(f.Verdict.Findings, validate.Refusal("/out/"+name, channel.Span{Rule: channel.RuleSecrets}))
			in.Files[name] = f
		}
	}
	if !r.filtered {
		return in
	}
	in.Stdout.Withheld, in.Stdout.Refused = spans(r.stdout)
	in.Stderr.Withheld, in.Stderr.Refused = spans(r.stderr)
	in.Filtered = map[result.Quote]result.Filtered{}
	for _, q := range result.Quoted(in) {
		withheld, refused := spans(q.Text)
		if all := slices.Concat(refused, withheld); len(all) > 0 {
			in.Filtered[q] = result.Filtered{Why: all[0], Refuse: len(refused) > 0}
		}
	}
	return in
}

// dump is all of a result.
func dump(b *result.Built) string {
	var s strings.Builder
	line := func(what string, v any) {
		text, _ := json.Marshal(v)
		fmt.Fprintf(&s, "%s %s\n", what, text)
	}
	var shown strings.Builder
	for _, w := range b.Written {
		switch w.Name {
		case ledger.FileSpans:
			fmt.Fprintf(&s, "%s\n=== %s\n", b.Document, w.Data)
		case ledger.FileStdoutShown, ledger.FileStderrShown:
			fmt.Fprintf(&shown, "shown %s %s\n", w.Name, sumOf(string(w.Data)))
		}
	}
	for _, w := range b.Withheld {
		line("withheld", w)
	}
	for _, f := range b.Findings {
		line("finding", f)
	}
	for _, a := range b.Artifacts {
		fmt.Fprintf(&s, "file %q %s %q\n", a.Path, a.SHA256, a.From)
	}
	return s.String() + shown.String()
}

const golden = "testdata/results.golden"

// TestResults: the same run gives the same bytes and the same verdict as ever. UPDATE_GOLDEN=1 writes them anew.
func TestResults(t *testing.T) {
	var got strings.Builder
	for _, r := range runs() {
		b, err := result.Build(r.input(t))
		must(t, err)
		verdict := schemas.VerdictOf(b.Findings)
		if b.Refused != (verdict == schemas.VerdictReject) {
			t.Errorf("%s: refused: %v, %s", r.name, b.Refused, verdict)
		}
		fmt.Fprintf(&got, "%s %s, withheld %d, findings %d, artifacts %d, %s\n", r.name, verdict, len(b.Withheld),
			len(b.Findings), len(b.Artifacts), sumOf(dump(b))[:16])
		if dir := os.Getenv("DUMP_RESULTS"); dir != "" {
			must(t, os.WriteFile(filepath.Join(dir, r.name), []byte(dump(b)), 0o600))
		}
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		must(t, os.WriteFile(golden, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	is, was := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(is), len(was)) {
		if i >= len(is) || i >= len(was) || is[i] != was[i] {
			t.Fatalf("line %d differs; DUMP_RESULTS=DIR writes each result there:\n%s\n%s", i+1, strings.Join(is[i:][:1], ""), strings.Join(was[i:][:1], ""))
		}
	}
}
