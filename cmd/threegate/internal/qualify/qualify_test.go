package qualify

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/schemas"
)

const examples = "../../../../testdata/examples"

var wide = bundle.Limits{Files: 100, Bytes: 1 << 24}

// The set that ships is that of the examples as they are.
func TestShippedSet(t *testing.T) {
	s, raw, err := Read(examples)
	if err != nil {
		t.Fatal(err)
	}
	var cases []string
	states := map[string]int{}
	timedOut := false
	for _, task := range s.Tasks {
		cases = append(cases, filepath.Dir(task.Request))
		states[task.Expect.State]++
		timedOut = timedOut || task.Expect.Cause == schemas.CauseTime
		if _, err := task.Bundle(t.Context(), examples, wide); err != nil {
			t.Error(err)
		}
	}
	now, err := Make(t.Context(), examples, s.SuiteID, s.SuiteVersion, cases, wide)
	if err != nil {
		t.Fatal(err)
	}
	if fresh, err := now.Encode(); err != nil || !bytes.Equal(fresh, raw) {
		t.Errorf("testdata/examples/%s is out of date: make it anew, as docs/qualify.md says (%v)", Manifest, err)
	}
	if states[Delivered] == 0 || states[Quarantined] == 0 || states[ResultQuarantined] == 0 || !timedOut {
		t.Errorf("the set lacks a kind of end: %v, %v", states, timedOut)
	}
}

// copySet is a set of two tasks in a folder of its own.
func copySet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, c := range []string{"good/python-stats", "bad/shell-pipe"} {
		if err := os.CopyFS(filepath.Join(dir, c), os.DirFS(filepath.Join(examples, c))); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Make(t.Context(), dir, "private.test.evals.two", "1.0.0", []string{"good/python-stats", "bad/shell-pipe"}, wide)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := s.Encode()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, Manifest), raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A file that was changed, added, removed or replaced by a link after the manifest was made is an
// error, whatever it is.
func TestChangedFiles(t *testing.T) {
	inputs := "good/python-stats/TR-20260209-160501Z-python-stats.inputs/"
	for name, spoil := range map[string]func(dir string) error{
		"request":  func(dir string) error { return add(dir, "good/python-stats/TR-20260209-160501Z-python-stats.md") },
		"input":    func(dir string) error { return add(dir, inputs+"input.csv") },
		"new one":  func(dir string) error { return add(dir, inputs+"more.csv") },
		"gone":     func(dir string) error { return os.Remove(filepath.Join(dir, inputs+"input.csv")) },
		"the link": func(dir string) error { return link(dir, inputs+"input.csv") },
		"bad":      func(dir string) error { return add(dir, "bad/shell-pipe/request.md") },
	} {
		dir := copySet(t)
		s, _, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		failed := 0
		for _, task := range s.Tasks {
			if _, err := task.Bundle(t.Context(), dir, wide); err != nil {
				failed++
			}
		}
		if failed != 1 {
			t.Errorf("%s: %d tasks were refused, want 1", name, failed)
		}
	}
}

func add(dir, file string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString("\n"); err != nil {
		return err
	}
	return f.Close()
}

func link(dir, file string) error {
	p := filepath.Join(dir, file)
	if err := os.Rename(p, filepath.Join(dir, "elsewhere")); err != nil {
		return err
	}
	return os.Symlink(filepath.Join(dir, "elsewhere"), p)
}

// A request without an id of its own gets one, and nothing else of it changes.
func TestIDs(t *testing.T) {
	dir := copySet(t)
	s, _, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Tasks[1].Bundle(t.Context(), dir, wide)
	if err != nil || b.ID != "TR-20260209-120000Z-bad-shell-pipe" ||
		!strings.Contains(string(b.Request), `request_id: "`+b.ID+`"`) {
		t.Errorf("%v %s\n%s", err, b.ID, b.Request)
	}
}

func TestManifestIsStrict(t *testing.T) {
	dir := copySet(t)
	file := filepath.Join(dir, Manifest)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{`"suite_id"`, `"more": 1, "suite_id"`}, {`private.test.evals.two`, `two`}, {`"1.0.0"`, `"1"`},
		{`"good-python-stats"`, `"../x"`}, {`"good-python-stats"`, `"bad-shell-pipe"`}, {`"delivered"`, `"approved"`},
		{`"cause": "none"`, `"cause": "luck"`}, {`"bad/shell-pipe/request.md": "`, `"../shell-pipe/request.md": "`},
		{`"request": "bad/shell-pipe/request.md"`, `"request": "/etc/passwd"`},
	} {
		bad := strings.Replace(string(good), c[0], c[1], 1)
		if bad == string(good) {
			t.Fatalf("%s is not in the manifest", c[0])
		}
		if err := os.WriteFile(file, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Read(dir); err == nil {
			t.Errorf("accepted with %s", c[1])
		}
	}
}

func TestDiffers(t *testing.T) {
	zero, three := 0, 3
	delivered := Expect{State: Delivered, ExitCode: &zero, Cause: schemas.CauseNone}
	refused := Expect{State: Quarantined, Rules: []string{"a.b"}}
	for _, c := range []struct {
		name string
		want Expect
		got  Outcome
		kind string // of the finding, or "" if all is well
	}{
		{"ran", delivered, Outcome{State: Delivered, ExitCode: &zero, Cause: schemas.CauseNone}, ""},
		{"any end", Expect{State: Delivered}, Outcome{State: Delivered, ExitCode: &three}, ""},
		{"failed", delivered, Outcome{State: Delivered, ExitCode: &three, Cause: schemas.CauseNone}, otherEnd.Kind},
		{"no exit code", delivered, Outcome{State: Delivered, Cause: schemas.CauseNone}, otherEnd.Kind},
		{"timed out", delivered, Outcome{State: Delivered, ExitCode: &zero, Cause: schemas.CauseTime}, otherEnd.Kind},
		{"refused", delivered, Outcome{State: Quarantined, Rules: []string{"a.b"}}, falseRefusal.Kind},
		{"result refused", delivered, Outcome{State: ResultQuarantined}, falseRefusal.Kind},
		{"as it must", refused, Outcome{State: Quarantined, Rules: []string{"a.b"}}, ""},
		{"by another rule", refused, Outcome{State: Quarantined, Rules: []string{"a.c"}}, otherReason.Kind},
		{"by one more", refused, Outcome{State: Quarantined, Rules: []string{"a.b", "a.c"}}, otherReason.Kind},
		{"came through", refused, Outcome{State: Delivered, ExitCode: &zero}, missedRefusal.Kind},
		{"ran at all", refused, Outcome{State: ResultQuarantined}, missedRefusal.Kind},
		{"left", Expect{State: ResultQuarantined}, Outcome{State: Delivered}, missedRefusal.Kind},
		{"nothing", refused, Outcome{}, noAnswer.Kind},
	} {
		differs := c.want.Differs(c.got)
		if (differs == "") != (c.kind == "") || c.kind != "" && c.want.means(c.got).Kind != c.kind {
			t.Errorf("%s: %q, %+v, want %q", c.name, differs, c.want.means(c.got), c.kind)
		}
	}
}

// evalSummary is the schema that the OpenWOP text shows, without its prose.
func evalSummary(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile("testdata/eval-summary.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every scorecard is a valid EvalSummary, and holds no word of a request.
func TestScorecard(t *testing.T) {
	schema := evalSummary(t)
	s, _, err := Read(examples)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	states := []string{"", Delivered, Quarantined, ResultQuarantined}
	dir := t.TempDir()
	last := ""
	for range 50 {
		outcomes := make([]Outcome, len(s.Tasks))
		for i := range outcomes {
			outcomes[i] = Outcome{State: states[rnd.IntN(len(states))], Rules: []string{"CANARY"}, Took: time.Second}
		}
		card := s.Card(outcomes)
		if last != "" {
			if _, _, err := card.Against(last); err != nil || card.Regression == nil {
				t.Fatal(err)
			}
		}
		raw, err := json.Marshal(card)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil || bytes.Contains(raw, []byte("CANARY")) {
			t.Fatalf("%v: %s", err, raw)
		}
		last = filepath.Join(dir, "card.json")
		if err := os.WriteFile(last, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAgainst(t *testing.T) {
	s := &Set{SuiteID: "a.evals.b", SuiteVersion: "1.0.0", Tasks: []Task{{ID: "a", Expect: Expect{State: Delivered}},
		{ID: "b", Expect: Expect{State: Delivered}}, {ID: "c", Expect: Expect{State: Delivered}}}}
	card := func(states ...string) *Scorecard {
		var out []Outcome
		for _, st := range states {
			out = append(out, Outcome{State: st})
		}
		return s.Card(out)
	}
	file := filepath.Join(t.TempDir(), "card.json")
	raw, err := json.Marshal(card(Delivered, Quarantined, Delivered))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	now := card(Quarantined, Delivered, "")
	worse, better, err := now.Against(file)
	if err != nil || !slices.Equal(worse, []string{"a", "c"}) || !slices.Equal(better, []string{"b"}) ||
		now.Passed || now.PassedCount != 1 || now.Regression.ScoreDelta >= 0 {
		t.Errorf("%v %q %q %+v", err, worse, better, now)
	}
	s.SuiteID = "a.evals.c"
	if _, _, err := card(Delivered, Delivered, Delivered).Against(file); err == nil {
		t.Error("compared with another set")
	}
}
