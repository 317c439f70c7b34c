package patchpolicy_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/patchpolicy"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
)

// patch adds a line to a file.
func patch(path, line string) string {
	return "diff --git a/" + path + " b/" + path + "\nindex 1..2 100644\n--- a/" + path + "\n+++ b/" + path +
		"\n@@ -1 +1,2 @@\n one\n+" + line + "\n"
}

// run has inputs on a disk. One whose content is a tar is a tree.
func run(t *testing.T, argv string, inputs map[string]string) *patchpolicy.Run {
	t.Helper()
	r, _ := runIn(t, argv, inputs)
	return r
}

// runIn is run, and the folder of its inputs.
func runIn(t *testing.T, argv string, inputs map[string]string) (*patchpolicy.Run, string) {
	t.Helper()
	dir := t.TempDir()
	r := &patchpolicy.Run{Argv: strings.Fields(argv), Open: patchpolicy.In(dir), Hashes: map[string]string{}}
	for name, text := range inputs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(text))
		r.Hashes["/in/"+name] = hex.EncodeToString(sum[:])
		if strings.Contains(text, "ustar") {
			r.Trees = append(r.Trees, name)
		}
	}
	return r, dir
}

func treeOf(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range files {
		err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text)), Format: tar.FormatUSTAR})
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const plan = "threegate-tools run /in/plan.jsonl"

func judge(t *testing.T, r *patchpolicy.Run, patch string, p validate.Policy) ([]schemas.Finding, []string) {
	t.Helper()
	found, notes, err := r.Judge([]byte(patch), &p)
	if err != nil {
		t.Fatal(err)
	}
	return found, notes
}

func withheld(found []schemas.Finding) bool { return schemas.VerdictOf(found) == schemas.VerdictReject }

func rules(found []schemas.Finding) (ids []string) {
	for _, f := range found {
		if _, known := schemas.RuleByID(f.Rule); !known || f.Message == "" || f.Hint == "" {
			ids = append(ids, "incomplete")
		}
		if f.Severity == schemas.SeverityBlocking {
			ids = append(ids, f.Rule)
		} else {
			ids = append(ids, string(f.Severity)+" "+f.Rule)
		}
	}
	return ids
}

// TestJudge: a patch is held to the rules that the registry lists, with the levels that it gives them.
func TestJudge(t *testing.T) {
	const all = "version: 1\nast: {language: go}\nvalidators:\n- {rule: code.todo.blockers, enforcement: blocking}\n" +
		"- {rule: test.required.changed, enforcement: warning}\n- {rule: build.must.pass, enforcement: blocking}\n"
	key := "AKIA" + strings.Repeat("Z7QX", 4)
	for name, c := range map[string]struct {
		registry, patch string
		want            []string
		withheld        bool
		notes           int
	}{
		"nothing changed":   {registry: all},
		"good":              {registry: all, patch: patch("x.md", "two")},
		"no registry":       {patch: patch("x.py", "# TODO")},
		"not listed":        {registry: "version: 1\n", patch: patch("x.py", "# TODO")},
		"warning":           {all, patch("x.py", "two"), []string{"warning test.required.changed"}, false, 1},
		"blocking":          {all, patch("x.md", "TODO"), []string{"code.todo.blockers"}, true, 0},
		"both":              {all, patch("x.py", "TODO"), []string{"code.todo.blockers", "warning test.required.changed"}, true, 1},
		"up":                {"version: 1\n", patch("../x", "two"), []string{"sec.paths.sandbox"}, true, 0},
		"git":               {"version: 1\n", patch("a/.git/config", "two"), []string{"sec.paths.sandbox"}, true, 0},
		"secret":            {"version: 1\nvalidators: [{rule: secrets.scan, enforcement: blocking}]\n", patch("x.md", "aws_key = \""+key+"\""), []string{"secrets.scan"}, true, 0},
		"a line of no hunk": {all, patch("x.md", "two") + "rm -rf x\n", []string{"tools.patch.form"}, true, 0},
		"cut off":           {all, "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,9 @@\n one\n", []string{"tools.patch.form"}, true, 0},
		"binary":            {all, "\x00\x01\x02", []string{"tools.patch.form"}, true, 0},
		"too large":         {all, strings.Repeat("diff --git a/x b/x\n", 1<<19), []string{"tools.patch.form"}, true, 0},
		"an escape":         {all, patch("x.md", "a\x1b[31mb"), nil, false, 1},
		"an escape that goes": {all, strings.Replace(patch("x.md", "two"), "@@ -1 +1,2 @@\n one\n",
			"@@ -1,2 +1,2 @@\n one\n-a\x1b[2Jb\n", 1), nil, false, 1},
		"an escape in a heading": {all, strings.Replace(patch("x.md", "two"), " @@\n", " @@ f\x1b[1A\n", 1), nil, false, 1},
		"an escape in context":   {all, strings.Replace(patch("x.md", "two"), " one", " o\x1b]0;x\x07ne", 1), nil, false, 1},
		"an escape in an index":  {all, strings.Replace(patch("x.md", "two"), "index 1..2", "index 1..2\x1b[8m", 1), nil, false, 1},
		"a return":               {all, patch("x.md", "good\rbad"), nil, false, 1},
		"a direction":            {"version: 1\n", patch("x.md", "a\u202eb"), nil, false, 1},
		"a name's direction":     {all, patch("x\u2066y.md", "two"), nil, false, 1},
		"a line of Windows":      {all, patch("x.md", "\ufefftwo\t\f\u00e9\r"), nil, false, 0},
		"registry is broken":     {"version: 9\n", patch("x.md", "two"), []string{"tools.registry"}, true, 0},
	} {
		inputs := map[string]string{"plan.jsonl": "{}"}
		if c.registry != "" {
			inputs["registry.yaml"] = c.registry
		}
		found, notes := judge(t, run(t, plan, inputs), c.patch, validate.DefaultPolicy(time.Time{}))
		if got := slices.Compact(rules(found)); !slices.Equal(got, c.want) || withheld(found) != c.withheld || len(notes) != c.notes {
			t.Errorf("%s: %v, %q, want %v", name, got, notes, c.want)
		}
		for _, f := range found {
			if strings.Contains(f.Message, key) || strings.ContainsAny(f.Message, "\x00\x1b") {
				t.Errorf("%s: %q", name, f.Message)
			}
		}
	}
}

// A node raises a level; what a person released for a patch is left out for that patch alone; other artifacts
// and other programs are not held to a registry.
func TestJudgeForAPolicy(t *testing.T) {
	r := run(t, plan, map[string]string{"registry.yaml": "version: 1\nvalidators: [{rule: code.todo.blockers, enforcement: suggestion}]\n"})
	text := patch("x.md", "TODO")
	p := validate.DefaultPolicy(time.Time{})
	p.Levels = map[string]schemas.Severity{"code.todo.blockers": schemas.SeverityBlocking}
	found, _ := judge(t, r, text, p)
	if !withheld(found) {
		t.Fatalf("not raised: %v", rules(found))
	}
	p.Released = found[0].Releases()
	if found, _ := judge(t, r, text, p); len(found) > 0 || len(p.Released) != 1 {
		t.Errorf("released: %v", rules(found))
	}
	if found, _ := judge(t, r, patch("y.md", "TODO"), p); len(found) != 1 {
		t.Errorf("another patch is released, too")
	}
	r.Argv = strings.Fields("git diff")
	if found, _ := judge(t, r, text, p); len(found) > 0 {
		t.Errorf("another program: %v", rules(found))
	}
}

// TestRegistryOfARun: the registry is the input that the tools had, wherever the command says it is.
func TestRegistryOfARun(t *testing.T) {
	const strict = "version: 1\nvalidators: [{rule: code.todo.blockers, enforcement: blocking}]\n"
	tree := treeOf(t, map[string]string{"plan.jsonl": "{}", "registry.yaml": strict, "sub/r.yaml": strict})
	bare := treeOf(t, map[string]string{"plan.jsonl": "{}"})
	for _, c := range []struct {
		argv, want string
		work       bool
	}{
		{argv: plan, want: "code.todo.blockers"},
		{argv: "/usr/bin/threegate-tools run --keep-going /in/plan.jsonl", want: "code.todo.blockers"},
		{argv: "timeout 9 threegate-tools run --max-calls 5 --max-time=3s /in/plan.jsonl", want: "code.todo.blockers"},
		{argv: "threegate-tools run --registry /in/r.yaml /in/tree/plan.jsonl", want: "code.todo.blockers"},
		{argv: "threegate-tools run --registry=/in/tree/sub/r.yaml /in/plan.jsonl", want: "code.todo.blockers"},
		{argv: "threegate-tools run /in/tree/plan.jsonl", want: "code.todo.blockers"},
		{argv: "threegate-tools run /in/bare/plan.jsonl"},
		{argv: "threegate-tools run plan.jsonl", work: true, want: "code.todo.blockers"},
		{argv: "threegate-tools run /tmp/work/plan.jsonl", work: true, want: "code.todo.blockers"},
		{argv: "threegate-tools run plan.jsonl", want: "tools.registry"},
		{argv: "threegate-tools run --registry /in/absent.yaml /in/plan.jsonl", want: "tools.registry"},
		{argv: "threegate-tools run --registry /in/tree/absent.yaml /in/plan.jsonl", want: "tools.registry"},
		{argv: "threegate-tools run --registry /tmp/r.yaml /in/plan.jsonl", want: "tools.registry"},
		{argv: "threegate-tools run --registry /in/../etc/passwd /in/plan.jsonl", want: "tools.registry"},
		{argv: "threegate-tools run /in/plan.jsonl --registry", want: "tools.registry"},
		{argv: "threegate-tools run", want: "tools.registry"},
		{argv: "threegate-tools monty", want: "code.todo.blockers"},
	} {
		r := run(t, c.argv, map[string]string{"plan.jsonl": "{}", "registry.yaml": strict, "r.yaml": strict, "tree": tree, "bare": bare})
		if c.work {
			r.Work = []string{"plan.jsonl", "registry.yaml"}
		}
		found, _ := judge(t, r, patch("x.md", "TODO"), validate.DefaultPolicy(time.Time{}))
		if got := strings.Join(rules(found), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.argv, got, c.want)
		}
	}
}

// An input that is not what was admitted is no registry, and no verdict.
func TestChangedRegistry(t *testing.T) {
	tree := treeOf(t, map[string]string{"registry.yaml": "version: 1\n"})
	for argv, name := range map[string]string{plan: "registry.yaml", "threegate-tools run /in/tree/p": "tree"} {
		for _, change := range []func(string) error{os.Remove, func(file string) error {
			b, err := os.ReadFile(file)
			return errors.Join(err, os.WriteFile(file, append(b, "# more\n"...), 0o600))
		}, func(file string) error { return errors.Join(os.Remove(file), os.Symlink("/etc/hostname", file)) }} {
			r, dir := runIn(t, argv, map[string]string{"registry.yaml": "version: 1\n", "tree": tree})
			if err := change(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			p := validate.DefaultPolicy(time.Time{})
			if _, _, err := r.Judge(nil, &p); !errors.Is(err, spool.ErrDamaged) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestWrapped: under a profile a run of tools is the command itself, or there is no record of its calls.
func TestWrapped(t *testing.T) {
	for argv, bad := range map[string]bool{
		"threegate-tools run /in/plan.jsonl":                   false,
		"threegate-tools run --max-time 9s /in/plan.jsonl":     false,
		"python /in/make.py":                                   false,
		"grep threegate-tools /in/x":                           false,
		"env threegate-tools run /in/plan.jsonl":               true,
		"env A=b threegate-tools run /in/plan.jsonl":           true,
		"nice -n 5 threegate-tools run /in/plan.jsonl":         true,
		"timeout 60 threegate-tools run /in/plan.jsonl":        true,
		"/usr/bin/threegate-tools run /in/plan.jsonl":          true,
		"nice /usr/bin/threegate-tools run /in/plan.jsonl":     true,
		"env -S 'threegate-tools run /in/plan.jsonl'":          true,
		"env -Sthreegate-tools run /in/plan.jsonl":             true,
		"python -c \"threegate-tools\" run /in/plan.jsonl":     true,
		"threegate-tools schema threegate-tools run":           true,
		"threegate-tools judge /in/changes.patch --registry x": false,
	} {
		req := &schemas.Request{Language: "fix", Argv: strings.Fields(argv)}
		var got bool
		for _, f := range patchpolicy.OfProfile(req) {
			if f.Rule == patchpolicy.RuleCommand {
				got = f.Severity == schemas.SeverityBlocking && f.Hint != "" && strings.Contains(f.Message, "profile fix")
			}
		}
		if got != bad {
			t.Errorf("%s: refused %v", argv, got)
		}
	}
	whole := &schemas.Request{Language: "fix", Argv: []string{"env", "-S", "threegate-tools run /in/plan.jsonl"}}
	if found := patchpolicy.OfProfile(whole); len(found) != 1 || found[0].Rule != patchpolicy.RuleCommand {
		t.Errorf("one word: %+v", found)
	}
}

// TestMontyTools: what runs of a Monty program that calls tools is a command of its image; its outputs are held to the
// rules of a profile like those of a plan.
func TestMontyTools(t *testing.T) {
	for _, language := range []string{"python", "monty"} {
		if argv := patchpolicy.Argv(&schemas.Request{Backend: schemas.BackendMonty, Language: language}); argv != nil {
			t.Errorf("%s: %q", language, argv)
		}
	}
	req := &schemas.Request{Backend: schemas.BackendMonty, Language: "fix",
		Outputs: []schemas.OutputExpectation{{Path: "/out/changes.patch"}, {Path: "/out/a.py"}}}
	if got := strings.Join(patchpolicy.Argv(req), " "); got != "threegate-tools monty" {
		t.Errorf("%q", got)
	}
	req.Inputs = []schemas.Input{{Path: "/in/registry.yaml"}}
	found := patchpolicy.OfProfile(req)
	if len(found) != 2 || found[0].Rule != "tools.registry" || found[1].Rule != "tools.outputs" {
		t.Errorf("%+v", found)
	}
}

// TestBranchesOfThePlan: which branch a patch is for is what the plan says; where that can't be told, it is protected.
func TestBranchesOfThePlan(t *testing.T) {
	const rules = "version: 1\ngit: {protected_branches: [main, 'release/*']}\nvalidators: [{rule: code.todo.blockers, enforcement: blocking}]\n"
	const bundle = "# v2 git bundle\n1111111111111111111111111111111111111111 HEAD\n1111111111111111111111111111111111111111 refs/heads/dev\n" +
		"2222222222222222222222222222222222222222 refs/heads/main\n\nPACK"
	calls := func(calls ...string) (plan string) {
		for i, c := range calls {
			tool, args, _ := strings.Cut(c, " ")
			plan += fmt.Sprintf(`{"type":"ToolRequest","tool":%q,"args":%s,"request_id":"%d","session_id":"s","timestamp":1}`+"\n", tool, args, i)
		}
		return plan
	}
	const toFeature, commit = `git_checkout {"target":"feat/x","create":true}`, `git_commit {"message":"feat: x"}`
	for name, c := range map[string]struct {
		argv, bundle, plan string
		held               bool
	}{
		"files":               {plan, "", calls(commit), true},
		"a feature":           {plan, "", calls(toFeature, commit), false},
		"committed before":    {plan, "", calls(commit, toFeature), true},
		"only the end":        {plan, "", calls(`file_read {"path":"x"}`, toFeature), false},
		"back":                {plan, "", calls(toFeature, commit, `git_checkout {"target":"main"}`), true},
		"the bundle's branch": {plan, bundle, calls(commit), false},
		"another one of it":   {plan, bundle, calls(`git_checkout {"target":"main"}`, `git_merge {"branch":"dev"}`), true},
		"pushed":              {plan, bundle, calls(commit, `git_push {"refspec":"HEAD:refs/heads/release/1"}`), true},
		"pushed to a feature": {plan, bundle, calls(commit, `git_push {"refspec":"HEAD:refs/heads/feat/x"}`), false},
		"a commit":            {plan, bundle, calls(`git_checkout {"target":"1111111"}`), true},
		"goes on":             {plan + " --keep-going", "", calls(toFeature, commit), true},
		"no plan":             {plan, "", "x", true},
		"no bundle's branch":  {plan, "x", calls(commit), true},
		"a program":           {"threegate-tools monty", "", calls(toFeature, commit), true},
	} {
		inputs := map[string]string{"plan.jsonl": c.plan, "registry.yaml": rules}
		if c.bundle != "" {
			inputs["repository.bundle"] = c.bundle
		}
		found, _ := judge(t, run(t, c.argv, inputs), patch("x.md", "TODO"), validate.DefaultPolicy(time.Time{}))
		if withheld(found) != c.held {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// TestRulePack: a rule pack beside the registry raises levels outside, too.
func TestRulePack(t *testing.T) {
	const low = "version: 1\nvalidators: [{rule: code.todo.blockers, enforcement: warning}]\n"
	for pack, want := range map[string]string{
		"validators: [{rule: code.todo.blockers, enforcement: blocking}]":   "[code.todo.blockers]",
		"validators: [{rule: code.todo.blockers, enforcement: suggestion}]": "[warning code.todo.blockers]",
		"validators: [{rule: none, enforcement: blocking}]":                 "[tools.registry]",
	} {
		found, _ := judge(t, run(t, plan, map[string]string{"plan.jsonl": "{}", "registry.yaml": low, "rules.yaml": pack}),
			patch("x.md", "TODO"), validate.DefaultPolicy(time.Time{}))
		if got := fmt.Sprint(rules(found)); got != want {
			t.Errorf("%s: %s", pack, got)
		}
	}
	found, _ := judge(t, run(t, plan, map[string]string{"plan.jsonl": "{}", "rules.yaml": "validators: []\n"}), patch("x.md", "x"), validate.DefaultPolicy(time.Time{}))
	if got := fmt.Sprint(rules(found)); got != "[tools.registry]" {
		t.Errorf("a pack without a registry: %s", got)
	}
}
