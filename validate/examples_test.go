package validate_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
)

const examples = "../testdata/examples"

// asOf judges the approvals of the examples that run: they are of the day before.
var asOf = time.Date(2026, 2, 10, 0, 0, 0, 0, time.UTC)

// The least numbers of examples, so that an empty folder can't pass.
const (
	minRunning = 20
	minBad     = 45
	minWarned  = 5
)

// place is a finding as an example expects it.
type place struct {
	Rule string `json:"rule"`
	Line int    `json:"line"`
}

// wantBad is the want.json of a document that is refused.
type wantBad struct {
	Verdict schemas.Verdict `json:"verdict"`
	AsOf    time.Time       `json:"as_of"`
	// Name is the file name that the document came under, or "".
	Name   string `json:"name"`
	Policy struct {
		Languages        []string `json:"languages"`
		Approvers        []string `json:"approvers"`
		ShellAllow       []string `json:"shell_allow"`
		RequireSignature bool     `json:"require_signature"`
		RequirePlan      bool     `json:"require_plan"`
		MinApproversHigh int      `json:"min_approvers_high"`
		AllowedSigners   string   `json:"allowed_signers"`
	} `json:"policy"`
	// Findings are all that block, Warnings are rules that must be reported too.
	Findings []place  `json:"findings"`
	Warnings []string `json:"warnings"`
}

func (w *wantBad) policy() validate.Policy {
	p := validate.DefaultPolicy(w.AsOf)
	p.Languages = w.Policy.Languages
	p.Approvers = w.Policy.Approvers
	p.ShellAllow = w.Policy.ShellAllow
	p.RequireSignature = w.Policy.RequireSignature
	p.MinApprovers.High = w.Policy.MinApproversHigh
	p.RequirePlan = w.Policy.RequirePlan
	p.AllowedSigners = []byte(w.Policy.AllowedSigners)
	return p
}

func readStrict(t *testing.T, file string, v any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// hashes lists the files of a folder of inputs as a gate would.
func hashes(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		sum := sha256.Sum256(b)
		out["/in/"+filepath.ToSlash(rel)] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func folders(t *testing.T, pattern string, least int) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(examples, pattern, "want.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < least {
		t.Fatalf("%s: %d examples, want at least %d", pattern, len(files), least)
	}
	for i := range files {
		files[i] = filepath.Dir(files[i])
	}
	return files
}

// Every request that runs is accepted without as much as a warning.
func TestExamplesThatRun(t *testing.T) {
	dirs := slices.Concat(folders(t, "good/*", 12), folders(t, "limits/*", 5), folders(t, "withheld/*", 2))
	if len(dirs) < minRunning {
		t.Fatalf("%d examples", len(dirs))
	}
	ids := map[string]string{}
	for _, dir := range dirs {
		t.Run(strings.TrimPrefix(dir, examples+"/"), func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(dir, "TR-*.md"))
			if err != nil || len(files) != 1 {
				t.Fatalf("requests: %v, %v", files, err)
			}
			raw, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			p := validate.DefaultPolicy(asOf)
			p.Languages = []string{"javascript", "perl", "python", "ruby", "tools"}
			req, found := validate.Request(filepath.Base(files[0]), raw, p)
			for _, f := range found {
				t.Errorf("line %d: %s %s: %s", f.Line, f.Severity, f.Rule, f.Message)
			}
			if req == nil {
				t.Fatal("refused")
			}
			if other, again := ids[req.RequestID]; again {
				t.Errorf("has the request_id of %s", other)
			}
			ids[req.RequestID] = dir
			came := map[string]string{}
			if inputs := strings.TrimSuffix(files[0], ".md") + ".inputs"; len(req.Inputs) > 0 {
				came = hashes(t, inputs)
			}
			for _, f := range validate.Inputs(req, came, p) {
				t.Errorf("%s: %s", f.Rule, f.Message)
			}
		})
	}
}

// judgeBad returns all findings about the document in dir.
func judgeBad(t *testing.T, dir string, w *wantBad) []schemas.Finding {
	t.Helper()
	p := w.policy()
	if raw, err := os.ReadFile(filepath.Join(dir, "result.md")); err == nil {
		res, found := validate.Result(w.Name, raw, p)
		if (res != nil) != (schemas.VerdictOf(found) == schemas.VerdictAccept) {
			t.Errorf("verdict %s, result %v", schemas.VerdictOf(found), res)
		}
		return found
	}
	raw, err := os.ReadFile(filepath.Join(dir, "request.md"))
	if err != nil {
		t.Fatal(err)
	}
	req, found := validate.Request(w.Name, raw, p)
	if req == nil {
		return found
	}
	if inputs := filepath.Join(dir, "inputs"); exists(inputs) {
		found = append(found, validate.Inputs(req, hashes(t, inputs), p)...)
	}
	sig, err := os.ReadFile(filepath.Join(dir, "request.md.sig"))
	if err != nil && exists(filepath.Join(dir, "request.md.sig")) {
		t.Fatal(err)
	}
	_, signed := validate.Signature(raw, sig, req, p)
	return append(found, signed...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// judged are the folders of documents that are no programs to run.
func judged(t *testing.T) []string {
	t.Helper()
	return slices.Concat(folders(t, "bad/*", minBad), folders(t, "warned/*", minWarned))
}

// Every bad document is refused for the reasons that are expected, and no others;
// those that only deserve a warning get it.
func TestExamplesThatAreJudged(t *testing.T) {
	for _, dir := range judged(t) {
		t.Run(strings.TrimPrefix(dir, examples+"/"), func(t *testing.T) {
			var w wantBad
			readStrict(t, filepath.Join(dir, "want.json"), &w)
			if w.AsOf.IsZero() || len(w.Findings)+len(w.Warnings) == 0 ||
				(w.Verdict == schemas.VerdictReject) != strings.Contains(dir, "/bad/") {
				t.Fatalf("want.json expects nothing, or what can't be: %+v", w)
			}
			if b, err := os.ReadFile(filepath.Join(dir, "README")); err != nil || bytes.Count(b, []byte("\n")) != 1 {
				t.Errorf("README is not one line: %v", err)
			}
			found := judgeBad(t, dir, &w)
			var got []place
			var warned []string
			for _, f := range found {
				if f.Message == "" || f.Hint == "" {
					t.Errorf("%s: a finding without message or hint: %+v", f.Rule, f)
				}
				if f.Severity == schemas.SeverityBlocking {
					got = append(got, place{f.Rule, f.Line})
				} else {
					warned = append(warned, f.Rule)
				}
			}
			order := func(a, b place) int {
				return strings.Compare(fmt.Sprintf("%9d %s", a.Line, a.Rule), fmt.Sprintf("%9d %s", b.Line, b.Rule))
			}
			slices.SortFunc(got, order)
			slices.SortFunc(w.Findings, order)
			if v := schemas.VerdictOf(found); v != w.Verdict {
				t.Errorf("verdict %s, want %s", v, w.Verdict)
			}
			if !slices.Equal(got, w.Findings) {
				t.Errorf("findings\n%swant\n%s", list(got, found), list(w.Findings, nil))
			}
			for _, r := range w.Warnings {
				if !slices.Contains(warned, r) {
					t.Errorf("no warning %s, only %v", r, warned)
				}
			}
		})
	}
}

func list(ps []place, found []schemas.Finding) string {
	var b strings.Builder
	for _, p := range ps {
		fmt.Fprintf(&b, "  line %d: %s\n", p.Line, p.Rule)
	}
	for _, f := range found {
		fmt.Fprintf(&b, "    (%d:%d %s %s: %s)\n", f.Line, f.Column, f.Severity, f.Rule, f.Message)
	}
	return b.String()
}

// generated are the findings about bad documents that are too large to keep,
// and about artifacts.
var generated = sync.OnceValue(func() map[string][]schemas.Finding {
	p := validate.DefaultPolicy(asOf)
	out := map[string][]schemas.Finding{}
	_, out["request of more than a megabyte"] = validate.Request("", bytes.Repeat([]byte("a line\n"), 200_000), p)
	_, out["result of more than two megabytes"] = validate.Result("", bytes.Repeat([]byte("a line\n"), 400_000), p)
	many := []byte("---\nnetwork_destinations:\n" + strings.Repeat("  - example.org\n", 1001) + "---\n")
	_, out["result with too many destinations"] = validate.Result("", many, p)
	for name, b := range map[string][]byte{"artifact that is a script": []byte("#!/usr/bin/perl\nprint 1;\n"),
		"artifact of a megabyte in one encoded piece": packedNoise()} {
		v, err := validate.Artifact("x.txt", bytes.NewReader(b), int64(len(b)), p)
		if err != nil {
			panic(err)
		}
		out[name] = v.Findings
	}
	return out
})

// packedNoise is more of gzip in base64 than is unpacked in one piece.
func packedNoise() []byte {
	noise := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{4}).Read(noise)
	return []byte(base64.StdEncoding.EncodeToString(gzipOf(string(noise))))
}

func TestGeneratedDocuments(t *testing.T) {
	for name, want := range map[string]schemas.Finding{
		"request of more than a megabyte":   {Rule: "doc.size", Severity: schemas.SeverityBlocking},
		"result of more than two megabytes": {Rule: "doc.size", Severity: schemas.SeverityBlocking},
		"result with too many destinations": {Rule: "result.limits", Severity: schemas.SeverityBlocking},
		"artifact that is a script":         {Rule: "result.artifact.type", Severity: schemas.SeverityBlocking},
		"artifact of a megabyte in one encoded piece": {Rule: "result.artifact.unscanned",
			Severity: schemas.SeverityBlocking},
	} {
		if !slices.ContainsFunc(generated()[name], func(f schemas.Finding) bool {
			return f.Rule == want.Rule &&
				f.Severity == want.Severity
		}) {
			t.Errorf("%s: %+v, want %s", name, generated()[name], want.Rule)
		}
	}
}

// notOfDocuments are the rules that no document breaks by what it says, each
// with the place of its proof.
var notOfDocuments = map[string]string{
	"request.duplicate":           "gate/e2e.TestRepeatedRequests",
	"request.conflict":            "gate/e2e.TestRepeatedRequests",
	"request.cancelled":           "gate.TestCancel",
	"result.withheld.share":       "gate.TestTooMuchIsWithheld",
	"result.external":             "gate.TestFiltersJudgeEachChannel",
	"request.inputs.tree":         "gate.TestTrees",
	"request.command.program":     "TestRequestRules: it depends on a node's image",
	"tools.patch.form":            "gate/patchpolicy.TestJudge",
	"tools.recheck":               "gate/recheck.TestVerdicts",
	"build.must.pass":             "gate/recheck.TestVerdicts",
	"lint.must.pass":              "gate/recheck.TestVerdicts",
	"fmt.must.pass":               "gate/recheck.TestVerdicts",
	"test.must.pass":              "gate/recheck.TestVerdicts",
	"code.ast.parsed":             "gate/recheck.TestVerdicts",
	"code.fn.docs.exported":       "gate/recheck.TestVerdicts",
	"code.no.panic.in.lib":        "gate/recheck.TestVerdicts",
	"code.no.unwrap":              "gate/recheck.TestVerdicts",
	"code.mod.import.rules":       "gate/recheck.TestVerdicts",
	"commit.message.conventional": "gate/patchpolicy.TestOfPlan",
	"branch.naming.convention":    "gate/patchpolicy.TestOfPlan",
	"tools.command":               "gate/patchpolicy.TestWrapped",
	"tools.outputs":               "gate.TestProfileRefuses",
	"tools.registry":              "gate/patchpolicy.TestRegistryOfARun",
	"sec.paths.sandbox":           "gate/patchpolicy.TestJudge",
	"code.todo.blockers":          "gate/patchpolicy.TestJudge",
	"test.required.changed":       "gate/patchpolicy.TestJudge",
	"request.backend.unavailable": "the node has the last word on what it can run",
}

// Every rule that a document can break is broken by at least one example.
func TestExamplesCoverTheCatalogue(t *testing.T) {
	hit := map[string]bool{}
	for _, dir := range judged(t) {
		var w wantBad
		readStrict(t, filepath.Join(dir, "want.json"), &w)
		for _, f := range w.Findings {
			hit[f.Rule] = true
		}
		for _, r := range w.Warnings {
			hit[r] = true
		}
	}
	for _, found := range generated() {
		for _, f := range found {
			hit[f.Rule] = true
		}
	}
	rules := schemas.Rules()
	if len(rules) == 0 {
		t.Fatal("the catalogue is empty")
	}
	for _, r := range rules {
		why, elsewhere := notOfDocuments[r.ID]
		elsewhere = elsewhere || strings.HasPrefix(r.ID, "spool.")
		if r.Tier != "" { // content.TestRules has a text for each
			delete(hit, r.ID)
			continue
		}
		switch {
		case hit[r.ID] && elsewhere:
			t.Errorf("%s is broken by an example, although it is listed as %q", r.ID, why)
		case !hit[r.ID] && !elsewhere:
			t.Errorf("no example breaks %s (%s)", r.ID, r.Title)
		}
		delete(hit, r.ID)
	}
	for id := range hit {
		t.Errorf("an example expects %s, which is not in the catalogue", id)
	}
}
