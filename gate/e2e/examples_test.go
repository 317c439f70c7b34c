package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// want is what must come of an example that runs; testdata/examples/README.md
// describes the keys.
type want struct {
	Verdict            string                `json:"verdict"`
	Result             string                `json:"result"`
	Rules              []string              `json:"rules"`
	ExitCode           *int                  `json:"exit_code"`
	Cause              schemas.Cause         `json:"cause"`
	Limits             []schemas.Cause       `json:"limits"`
	Outputs            map[string]wantOutput `json:"outputs"`
	Missing            []string              `json:"missing"`
	Undeclared         []string              `json:"undeclared"`
	StdoutContains     []string              `json:"stdout_contains"`
	StderrContains     []string              `json:"stderr_contains"`
	StdoutLacks        []string              `json:"stdout_lacks"`
	Stdout             *string               `json:"stdout"`
	StdoutTruncated    *bool                 `json:"stdout_truncated"`
	UnexpectedContains []string              `json:"unexpected_contains"`
	Checks             []string              `json:"checks"`
}

type wantOutput struct {
	SHA256   string   `json:"sha256"`
	Contains []string `json:"contains"`
}

// TestExamples promotes every example that runs, all at once, and compares what
// came of each.
func TestExamples(t *testing.T) {
	n := newNode(t)
	type example struct{ dir, id string }
	var all []example
	for _, kind := range []string{"good", "limits", "withheld"} {
		dirs, err := filepath.Glob(filepath.Join(repo, "testdata", "examples", kind, "*"))
		if err != nil || len(dirs) == 0 {
			t.Fatalf("no examples of kind %s: %v", kind, err)
		}
		for _, dir := range dirs {
			files, _ := filepath.Glob(filepath.Join(dir, "TR-*.md"))
			if len(files) != 1 {
				t.Fatalf("%s: %d requests", dir, len(files))
			}
			id := strings.TrimSuffix(filepath.Base(files[0]), ".md")
			inputs := filepath.Join(dir, id+".inputs")
			if !exists(inputs) {
				inputs = ""
			}
			n.promote(id+".md", []byte(read(t, files[0])), inputs)
			all = append(all, example{dir, id})
		}
	}
	for _, x := range all {
		t.Run(filepath.Base(filepath.Dir(x.dir))+"/"+filepath.Base(x.dir), func(t *testing.T) {
			var w want
			readJSON(t, filepath.Join(x.dir, "want.json"), &w)
			f := n.await(x.id)
			compare(t, n, f, w)
			if _, ok := w.Outputs["changes.patch"]; ok && !t.Failed() {
				applies(t, filepath.Join(x.dir, x.id+".inputs"),
					strings.TrimSuffix(f.ResultPath, ".md")+".artifacts/changes.patch", w.Checks)
			}
		})
	}
	n.check()
}

// applies wants plain git to take a patch that was delivered, on the files that were the inputs of its plan. What
// the plan checked then holds on this machine, too, and not before. A program has no plan: cmds are its checks.
func applies(t *testing.T, inputs, patch string, cmds []string) {
	t.Helper()
	base := filepath.Join(t.TempDir(), "base")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(base), "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if bundle := filepath.Join(inputs, "repository.bundle"); exists(bundle) {
		git("clone", "-q", bundle, base)
	} else {
		must(t, os.CopyFS(base, os.DirFS(filepath.Join(inputs, "workspace"))))
		git("init", "-q", base)
	}
	var failsBefore map[string]bool
	if len(cmds) == 0 {
		cmds, failsBefore = checks(t, inputs)
	}
	before := t.TempDir() // apart: what Python caches could outlive the patch
	must(t, os.CopyFS(before, os.DirFS(base)))
	for cmd := range failsBefore {
		if out, err := onHost(t, before, cmd); err == nil {
			t.Errorf("%s succeeds before the patch:\n%s", cmd, out)
		}
	}
	git("-C", base, "apply", patch)
	for _, cmd := range cmds {
		if out, err := onHost(t, base, cmd); err != nil {
			t.Errorf("%s, with the patch: %v\n%s", cmd, err, out)
		}
	}
}

// usageRe is how a result says what a run used.
var usageRe = regexp.MustCompile(`wall \d+\.\d{3} s, cpu \d+\.\d{3} s, peak memory (?:[1-9]\d*\.\d|0\.[1-9]) MB`)

func compare(t *testing.T, n *node, f *view.RequestStatus, w want) {
	t.Helper()
	if w.ExitCode != nil && (f.ExitCode == nil || *f.ExitCode != *w.ExitCode) {
		t.Errorf("exit code %v, want %d", f.ExitCode, *w.ExitCode)
	}
	if w.Cause != "" && f.Cause != w.Cause {
		t.Errorf("cause %s, want %s", f.Cause, w.Cause)
	}
	for _, c := range w.Limits {
		if !slices.ContainsFunc(n.events(), func(e ledger.Event) bool {
			return e.Type == ledger.CapBreached &&
				e.RunID == f.Job && e.Cause == c
		}) {
			t.Errorf("the ledger does not say that limit %s was hit", c)
		}
	}
	for _, e := range n.events() {
		if e.RunID == f.Job && (e.Type == ledger.RunCompleted || e.Type == ledger.RunFailed) &&
			(e.Cause != f.Cause || e.WallMS <= 0 || e.CPUMS <= 0 || e.PeakBytes <= 0) {
			t.Errorf("the ledger says %s, %d ms, %d ms of cpu, %d bytes of memory", e.Cause, e.WallMS, e.CPUMS,
				e.PeakBytes)
		}
	}
	if w.Result == string(schemas.VerdictReject) {
		if f.State != "result-quarantined" {
			t.Fatalf("became %s, want result-quarantined", f.State)
		}
		for _, r := range w.Rules {
			if !slices.Contains(f.Rules, r) {
				t.Errorf("rules %v, want %s among them", f.Rules, r)
			}
		}
		if f.ResultPath != "" && exists(f.ResultPath) {
			t.Error("CORE has it all the same")
		}
		return
	}
	r := readResultOf(t, f)
	if text := read(t, f.ResultPath); !usageRe.MatchString(text) || w.Cause != "" && w.Cause != schemas.CauseNone &&
		!strings.Contains(text, string(w.Cause)) {
		t.Errorf("the result does not say what the run used, or why it ended (%s):\n%s", w.Cause, text)
	}
	artifacts := strings.TrimSuffix(f.ResultPath, ".md") + ".artifacts"
	for path, o := range w.Outputs {
		if !slices.ContainsFunc(r.Artifacts, func(a schemas.Artifact) bool { return a.Path == path }) {
			t.Errorf("the result does not name artifact %s", path)
			continue
		}
		file := filepath.Join(artifacts, path)
		if o.SHA256 != "" && fileSHA256(t, file) != o.SHA256 {
			t.Errorf("%s has another hash than wanted", path)
		}
		for _, s := range o.Contains {
			if !strings.Contains(read(t, file), s) {
				t.Errorf("%s lacks %q:\n%s", path, s, read(t, file))
			}
		}
	}
	if _, ok := w.Outputs[ledger.FileTimeline]; ok { // n.check compares its hashes with the plan
		if f.Tools == nil || f.Tools.Calls == 0 || f.Tools.SHA256 != fileSHA256(t, filepath.Join(artifacts, ledger.FileTimeline)) {
			t.Errorf("the ledger tells of these tool calls: %+v", f.Tools)
		}
	}
	for _, m := range w.Missing {
		if exists(filepath.Join(artifacts, strings.TrimPrefix(m, "/out/"))) {
			t.Errorf("%s was delivered, it should be missing", m)
		}
	}
	notes := strings.Join(r.Safety.Unexpected, "\n")
	for _, u := range append(append(slices.Clone(w.Missing), w.Undeclared...), w.UnexpectedContains...) {
		if !strings.Contains(notes, strings.TrimPrefix(u, "/out/")) {
			t.Errorf("the safety notes don't speak of %q: %s", u, notes)
		}
	}
	contains(t, "stdout", r.Stdout.Text, w.StdoutContains)
	contains(t, "stderr", r.Stderr.Text, w.StderrContains)
	for _, s := range w.StdoutLacks {
		if strings.Contains(r.Stdout.Text, s) {
			t.Errorf("stdout holds %q", s)
		}
	}
	if w.Stdout != nil && r.Stdout.Text != *w.Stdout {
		t.Errorf("stdout is %q, want %q", r.Stdout.Text, *w.Stdout)
	}
	if w.StdoutTruncated != nil && r.Stdout.Truncated != *w.StdoutTruncated {
		t.Errorf("stdout truncated: %v, want %v", r.Stdout.Truncated, *w.StdoutTruncated)
	}
}

func readResultOf(t *testing.T, f *view.RequestStatus) *schemas.Result {
	t.Helper()
	if f.State != "delivered" {
		reasons, _ := os.ReadFile(filepath.Join(f.ReasonsPath, "reasons.json"))
		t.Fatalf("became %s (rules %v), want delivered:\n%s", f.State, f.Rules, reasons)
	}
	return readResult(t, f.ResultPath)
}

func contains(t *testing.T, what, text string, wanted []string) {
	t.Helper()
	for _, s := range wanted {
		if !strings.Contains(text, s) {
			t.Errorf("%s lacks %q:\n%s", what, s, text)
		}
	}
}

// TestBadDocuments drops every bad request of the examples straight into an
// inbox: each ends in quarantine with the rules that were expected of it, none
// reaches CORE, and a good one after all of them still runs.
func TestBadDocuments(t *testing.T) {
	n := newNode(t)
	dirs, err := filepath.Glob(filepath.Join(repo, "testdata", "examples", "bad", "*", "request.md"))
	if err != nil || len(dirs) < 40 {
		t.Fatalf("%d bad requests: %v", len(dirs), err)
	}
	names := map[string]string{} // file name -> example
	for _, file := range dirs {
		dir := filepath.Dir(file)
		inputs := filepath.Join(dir, "inputs")
		if !exists(inputs) {
			inputs = ""
		}
		name := "TR-20260209-160501Z-" + filepath.Base(dir) + ".md"
		names[name] = dir
		n.promote(name, []byte(read(t, file)), inputs)
	}
	var items []string
	n.until("all bad requests to be decided", func() bool {
		items, _ = filepath.Glob(filepath.Join(n.dir, "quarantine", "requests", "*"))
		return len(items)+n.count("core-inbound", "TS-*.md") >= len(dirs)
	})
	decided := map[string]bool{}
	for _, item := range items {
		r := n.reasons("requests", filepath.Base(item))
		dir := names[r.OriginalName]
		decided[r.OriginalName] = true
		if schemas.VerdictOf(r.Findings) != schemas.VerdictReject {
			t.Errorf("%s: quarantined without a blocking finding", filepath.Base(dir))
		}
		if !exists(filepath.Join(item, "REASONS.md")) || !exists(filepath.Join(item, spool.FileRequest)) {
			t.Errorf("%s: the item lacks its reasons or the request", filepath.Base(dir))
		}
	}
	for name, dir := range names {
		if !decided[name] && !judgedByPolicy(dir) {
			t.Errorf("%s was not quarantined", filepath.Base(dir))
		}
	}
	good := filepath.Join(repo, "testdata", "examples", "good")
	first, _ := filepath.Glob(filepath.Join(good, "*", "TR-*.md"))
	id := strings.TrimSuffix(filepath.Base(first[0]), ".md")
	inputs := strings.TrimSuffix(first[0], ".md") + ".inputs"
	if !exists(inputs) {
		inputs = ""
	}
	n.promote(id+".md", []byte(read(t, first[0])), inputs)
	n.result(n.await(id))
	n.check()
}

// judgedByPolicy says whether an example is bad only under a policy of its own,
// which this node does not have.
func judgedByPolicy(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, "want.json"))
	return err == nil && (strings.Contains(string(b), `"policy"`) || strings.Contains(string(b), "approval.age") ||
		strings.Contains(string(b), "approval.future") || strings.Contains(string(b), `"name"`))
}

func fileSHA256(t *testing.T, path string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(read(t, path)))
	return hex.EncodeToString(sum[:])
}
