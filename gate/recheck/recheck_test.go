package recheck_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/recheck"
	"github.com/threegate/tool-exec/schemas"
)

const rules = "version: 1\nast: {language: go}\nvalidators: [{rule: build.must.pass, enforcement: blocking}]\n"

// sandboxes run nothing. They keep the task, and end as told.
type sandboxes struct {
	task    executors.Task
	given   map[string]string
	end     executors.Outcome
	stdout  string
	fail    string // the step that fails, with err
	err     error
	steps   []string
	cleaned string
}

func (s *sandboxes) step(name string) error {
	s.steps = append(s.steps, name)
	if s.fail == name {
		return s.err
	}
	return nil
}

func (s *sandboxes) Prepare(_ context.Context, t executors.Task) error {
	s.task, s.given = t, map[string]string{}
	for _, name := range []string{"registry.yaml", "changes.patch", "commits.bundle", "push.bundle"} {
		b, err := os.ReadFile(filepath.Join(t.GivenDir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		s.given[name] = string(b)
	}
	return s.step("prepare")
}

func (s *sandboxes) Start(context.Context, string) error { return s.step("start") }

func (s *sandboxes) Wait(context.Context, string) (executors.Outcome, error) {
	return s.end, s.step("wait")
}

func (s *sandboxes) Collect(_ context.Context, _, dst string) (executors.Collected, error) {
	err := errors.Join(os.WriteFile(filepath.Join(dst, "stdout"), []byte(s.stdout), 0o600),
		os.Mkdir(filepath.Join(dst, "out"), 0o700), os.WriteFile(filepath.Join(dst, "out", "x"), nil, 0o600))
	return executors.Collected{}, errors.Join(err, s.step("collect"))
}

func (s *sandboxes) Cleanup(_ context.Context, id string) error {
	s.cleaned = id
	return s.step("cleanup")
}

func do(t *testing.T, s *sandboxes) (*recheck.Record, string, error) {
	t.Helper()
	dir, patch := filepath.Join(t.TempDir(), "recheck"), filepath.Join(t.TempDir(), "p")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "old"), nil, 0o600),
		os.WriteFile(patch, []byte("the patch"), 0o600),
		os.WriteFile(filepath.Join(filepath.Dir(patch), "push.bundle"), []byte("a bundle"), 0o600)); err != nil {
		t.Fatal(err)
	}
	first := executors.Task{ID: "j01", Backend: schemas.BackendERA, Language: "tools", Argv: []string{"x"}, Work: []string{"w"},
		InputsDir: "/inputs", GivenDir: "/given", Trees: []string{"workspace"}, Network: schemas.NetworkAllowlist,
		Domains: []string{"example.org"}, Limits: executors.Limits{Pids: 7, Time: time.Minute}}
	r, err := recheck.Do(t.Context(), s, first, []byte(rules), patch, dir)
	return r, dir, err
}

// TestDo: the second sandbox has the inputs, the registry and the patch, the same image and limits, and no network.
func TestDo(t *testing.T) {
	s := &sandboxes{end: executors.Outcome{Cause: schemas.CauseNone}}
	r, dir, err := do(t, s)
	if err != nil || r.Verdict() != recheck.Passed {
		t.Fatalf("%v, %v", r, err)
	}
	k := s.task
	if k.ID != "r01" || k.Network != schemas.NetworkNone || k.Domains != nil || k.InputsDir != "/inputs" || k.Language != "tools" ||
		!slices.Equal(k.Trees, []string{"workspace"}) || k.Work != nil || k.Limits.Pids != 7 || k.GivenDir == "/given" ||
		strings.Join(k.Argv, " ") != "threegate-tools recheck --registry /in/registry.yaml /in/changes.patch" {
		t.Errorf("%+v", k)
	}
	if s.given["registry.yaml"] != rules || s.given["changes.patch"] != "the patch" ||
		s.given["push.bundle"] != "a bundle" || len(s.given) != 3 || s.cleaned != "r01" {
		t.Errorf("%v, removed %q", s.given, s.cleaned)
	}
	var left []string
	es, err := os.ReadDir(dir)
	for _, e := range es {
		left = append(left, e.Name())
	}
	if err != nil || !slices.Equal(left, []string{"in", "stdout"}) {
		t.Errorf("it left %v, %v", left, err)
	}
}

// Trouble is no verdict, and never says that the first run did not begin: that would have it run again.
func TestTrouble(t *testing.T) {
	for _, step := range []string{"prepare", "start", "wait", "collect", "cleanup"} {
		for _, trouble := range []error{errors.New("no room"), executors.ErrNotStarted} {
			r, _, err := do(t, &sandboxes{fail: step, err: trouble})
			if r != nil || err == nil || errors.Is(err, executors.ErrNotStarted) || !strings.Contains(err.Error(), trouble.Error()) {
				t.Errorf("%s: %v, %v", step, r, err)
			}
		}
	}
}

// TestVerdicts: the end of the process decides, whatever it says.
func TestVerdicts(t *testing.T) {
	const broken = `{"rule":"build.must.pass","level":"blocking","ok":false,"message":"no \u001b[31mmain","path":"a\u202e.go","line":3}` + "\n"
	const warned = `{"rule":"lint.must.pass","level":"warning","ok":false,"message":"m","path":"","line":0}` + "\n"
	const fine = `{"rule":"build.must.pass","level":"blocking","ok":true,"message":"","path":"","line":0}` + "\n"
	for name, c := range map[string]struct {
		end    executors.Outcome
		stdout string
		rules  []string
		notes  []string
		word   recheck.Verdict
	}{
		"passed":           {stdout: fine, word: recheck.Passed},
		"says what it did": {stdout: broken, word: recheck.Passed},
		"broken": {executors.Outcome{ExitCode: 1}, "noise\n" + fine + warned + broken, []string{"build.must.pass"}, nil,
			recheck.Broken},
		"broken in silence": {executors.Outcome{ExitCode: 1}, fine, []string{recheck.Rule}, nil, recheck.Broken},
		"code": {executors.Outcome{ExitCode: 1}, strings.ReplaceAll(broken, "build.must.pass", "code.no.unwrap"),
			[]string{"code.no.unwrap"}, nil, recheck.Broken},
		"of the patch alone": {executors.Outcome{ExitCode: 1}, strings.ReplaceAll(broken, "build.must.pass", "code.todo.blockers"),
			[]string{recheck.Rule}, nil, recheck.Broken},
		"a rule of nobody": {executors.Outcome{ExitCode: 1}, strings.ReplaceAll(broken, "build.must", "Ignore what.must"),
			[]string{recheck.Rule}, nil, recheck.Broken},
		"another rule": {executors.Outcome{ExitCode: 1}, strings.ReplaceAll(broken, "build.must.pass", "secrets.scan"),
			[]string{recheck.Rule}, nil, recheck.Broken},
		"endless": {executors.Outcome{ExitCode: 1}, strings.Repeat("x", 3<<20), []string{recheck.Rule}, nil, recheck.Broken},
		"warned": {executors.Outcome{ExitCode: 3}, warned, nil,
			[]string{"The second run says that the patch breaks a rule that does not block: lint.must.pass."}, recheck.Warned},
		"warned in silence": {executors.Outcome{ExitCode: 3}, "", nil,
			[]string{"The second run says that the patch breaks a rule that does not block."}, recheck.Warned},
		"not judged":   {executors.Outcome{ExitCode: 2}, fine, []string{recheck.Rule}, nil, recheck.Unknown},
		"no program":   {executors.Outcome{ExitCode: 127, Cause: schemas.CauseStart}, "", []string{recheck.Rule}, nil, recheck.Unknown},
		"no time":      {executors.Outcome{ExitCode: 0, Cause: schemas.CauseTime}, fine, []string{recheck.Rule}, nil, recheck.Unknown},
		"killed":       {executors.Outcome{ExitCode: 137, Cause: schemas.CauseSignal}, fine, []string{recheck.Rule}, nil, recheck.Unknown},
		"says a lot":   {executors.Outcome{Cause: schemas.CauseNone, LimitsHit: []schemas.Cause{schemas.CauseOutput}}, fine, nil, nil, recheck.Passed},
		"of no memory": {executors.Outcome{ExitCode: 1, Cause: schemas.CauseMemory}, broken, []string{recheck.Rule}, nil, recheck.Unknown},
	} {
		if c.end.Cause == "" {
			c.end.Cause = schemas.CauseNone
		}
		r, dir, err := do(t, &sandboxes{end: c.end, stdout: c.stdout})
		if err != nil {
			t.Fatal(err)
		}
		found, notes, err := r.Findings(dir, []byte("the patch"), nothing)
		var ids []string
		for _, f := range found {
			ids = append(ids, f.Rule)
			if f.Severity != schemas.SeverityBlocking || f.Hint == "" || strings.ContainsAny(f.Message, "\x1b\u202e") {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if err != nil || r.Word() != c.word || !slices.Equal(ids, c.rules) || !slices.Equal(notes, c.notes) {
			t.Errorf("%s: %s, %v, %q, %v", name, r.Word(), ids, notes, err)
		}
	}
	var none *recheck.Record
	if found, _, err := none.Findings("", nil, nothing); err != nil || len(found) != 1 || found[0].Rule != recheck.Rule || none.Word() != "" {
		t.Errorf("without a second run: %v, %v", found, err)
	}
}

func TestNeeded(t *testing.T) {
	commits := []executors.File{{Path: "push.bundle"}}
	for text, want := range map[string]bool{rules: true, "version: 1\n": false, "": false,
		"version: 1\nast: {language: go}\nvalidators: [{rule: secrets.scan, enforcement: blocking}]\n":          false,
		"version: 1\nast: {language: go}\nvalidators: [{rule: code.todo.blockers, enforcement: blocking}]\n":    false,
		"version: 1\nast: {language: go}\nvalidators: [{rule: code.ast.parsed, enforcement: warning}]\n":        true,
		"version: 1\nast: {language: go}\nvalidators: [{rule: code.no.unwrap, enforcement: blocking}]\n":        true,
		"version: 1\nast: {language: go}\nvalidators: [{rule: code.no.panic.in.lib, enforcement: blocking}]\n":  true,
		"version: 1\nast: {language: go}\nvalidators: [{rule: code.fn.docs.exported, enforcement: blocking}]\n": true,
		"version: 1\nast: {language: go}\nvalidators: [{rule: code.mod.import.rules, enforcement: blocking}]\n": true,
		"version: 1\nast: {language: go}\nvalidators: [{rule: fmt.must.pass, enforcement: suggestion}]\n":       true} {
		for _, files := range [][]executors.File{nil, commits} {
			if recheck.Needed([]byte(text), files) != want {
				t.Errorf("%q: %v", text, !want)
			}
		}
	}
	for _, rule := range []string{"commit.message.conventional", "branch.naming.convention"} {
		names := []byte("version: 1\nast: {language: go}\nvalidators: [{rule: " + rule + ", enforcement: warning}]\n")
		if recheck.Needed(names, []executors.File{{Path: "a/push.bundle"}}) || !recheck.Needed(names, commits) {
			t.Errorf("%s needs commits to be judged", rule)
		}
	}
}

func nothing(string, []byte) bool { return false }

// TestReleased: a person can release a broken rule for these bytes, and no other rule with it. What was not told whole,
// or not judged, stays.
func TestReleased(t *testing.T) {
	say := func(rule string) string {
		return `{"rule":"` + rule + `","level":"blocking","ok":false,"message":"m","path":"","line":0}` + "\n"
	}
	broken := executors.Outcome{ExitCode: 1, Cause: schemas.CauseNone}
	for name, c := range map[string]struct {
		end    executors.Outcome
		stdout string
		left   []string
	}{
		"released":  {broken, say("test.must.pass"), nil},
		"one more":  {broken, strings.Repeat(say("test.must.pass"), 200) + say("build.must.pass"), []string{"build.must.pass"}},
		"too long":  {broken, say("test.must.pass") + strings.Repeat("x\n", 1<<20), []string{recheck.Rule}},
		"cut off":   {executors.Outcome{ExitCode: 1, Cause: schemas.CauseNone, LimitsHit: []schemas.Cause{schemas.CauseOutput}}, say("test.must.pass"), []string{recheck.Rule}},
		"no one":    {broken, "", []string{recheck.Rule}},
		"no answer": {executors.Outcome{ExitCode: 2, Cause: schemas.CauseNone}, "", []string{recheck.Rule}},
	} {
		r, dir, err := do(t, &sandboxes{end: c.end, stdout: c.stdout})
		if err != nil {
			t.Fatal(err)
		}
		found, _, err := r.Findings(dir, []byte("the patch"), func(rule string, text []byte) bool {
			return rule == "test.must.pass" && string(text) == "the patch"
		})
		var left []string
		for _, f := range found {
			left = append(left, f.Rule)
			if (f.Span == "") != (f.Rule == recheck.Rule) {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if err != nil || !slices.Equal(left, c.left) {
			t.Errorf("%s: %v, %v", name, left, err)
		}
	}
}
