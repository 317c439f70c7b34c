package gate_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
)

// rechecked is an executor whose second sandbox ends with an exit code.
type rechecked struct {
	*speaker
	code   int
	second executors.Task
}

func (r *rechecked) Prepare(ctx context.Context, t executors.Task) error {
	if strings.HasPrefix(t.ID, "r") {
		r.second = t
	}
	return r.speaker.Prepare(ctx, t)
}

func (r *rechecked) Wait(ctx context.Context, id string) (executors.Outcome, error) {
	o, err := r.speaker.Wait(ctx, id)
	if strings.HasPrefix(id, "r") {
		o.ExitCode = r.code
	}
	return o, err
}

// TestRecheck: a patch whose registry asks for a build is judged in a second sandbox, whose end decides; ledger and
// result say so.
func TestRecheck(t *testing.T) {
	const broken = `{"rule":"build.must.pass","level":"blocking","ok":false,"message":"no main","path":"a.go","line":3}` + "\n"
	for name, c := range map[string]struct {
		code       int
		says, word string
		delivered  bool
	}{
		"passed": {0, "", "passed", true},
		"broken": {1, "(build.must.pass).", "broken", false},
		"warned": {3, "The second run says that the patch breaks a rule that does not block: build.must.pass.", "warned", true},
		"failed": {2, "(tools.recheck).", "unknown", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := mustWorld(t, scenario{name: "recheck", word: "profile", want: ending{delivered: 1, runs: 1}})
			e := &rechecked{code: c.code, speaker: &speaker{w.recorder(&injector{}), map[string]map[string]string{
				"profile":           {"out/changes.patch": strings.Replace(todoPatch, "TODO", "two", 1)},
				"/in/changes.patch": {"stdout": broken}}}}
			w.runWith(t, e)
			got := w.result(t)
			for _, want := range []string{"- Second run: threegate-tools recheck, " + c.word + ", exit code ", c.says} {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in the result:\n%s", want, got)
				}
			}
			if n := len(w.glob("core-inbound/*/changes.patch")); n > 0 != c.delivered {
				t.Errorf("%d patches", n)
			}
			if on := w.events(t, ledger.RunCompleted); len(on) != 1 || on[0].Recheck != c.word {
				t.Errorf("on record: %+v", on)
			}
			if e.second.Network != schemas.NetworkNone || e.second.Language != "python" || e.second.InputsDir == "" {
				t.Errorf("%+v", e.second)
			}
			for file, want := range map[string]string{"stdout": broken, "in/registry.yaml": buildRegistry} {
				b, err := os.ReadFile(w.one(t, filepath.Join("archive/*/*/*/recheck", file)))
				must(t, err)
				if string(b) != want {
					t.Errorf("%s: %q", file, b)
				}
			}
			if left, _ := w.recorder(&injector{}).List(t.Context()); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
