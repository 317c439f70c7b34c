package gate_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/patchpolicy"
)

// given keeps the registry and the task that an executor was given.
type given struct {
	*speaker
	t    *testing.T
	task executors.Task
	file []byte
}

func (g *given) Prepare(ctx context.Context, t executors.Task) error {
	g.task = t
	var err error
	g.file, err = os.ReadFile(filepath.Join(t.GivenDir, patchpolicy.RegistryFile))
	must(g.t, err)
	return g.speaker.Prepare(ctx, t)
}

// profiled is a node with one request under a profile, whose run leaves a patch.
func profiled(t *testing.T) (*world, *given) {
	t.Helper()
	w := mustWorld(t, scenario{name: "profile", word: "profile", want: ending{delivered: 1, runs: 1}})
	must(t, os.WriteFile(filepath.Join(w.dir, "fix.yaml"), []byte(todoAt("blocking")), 0o600))
	var err error
	w.cfg, err = config.Load(w.dir)
	must(t, err)
	request := strings.NewReplacer("python x.csv profile", "threegate-tools run /in/plan.jsonl").
		Replace(string(crashRequest(crashID, "profile")))
	must(t, os.WriteFile(filepath.Join(w.cfg.Inboxes[0].Path, crashID+".md"), []byte(request), 0o644))
	return w, &given{speaker: &speaker{w.recorder(&injector{}), map[string]map[string]string{
		"/in/plan.jsonl": {"out/changes.patch": todoPatch}}}, t: t}
}

// TestProfile: a run under a profile has its image, limits and registry; the patch is held to that registry; the
// result says which it was, and the job keeps it.
func TestProfile(t *testing.T) {
	w, e := profiled(t)
	w.runWith(t, e)
	if string(e.file) != todoAt("blocking") || e.task.Language != "python" || e.task.Limits.TmpBytes != 99<<20 {
		t.Errorf("it was given %q and %+v", e.file, e.task)
	}
	digest := config.RegistryDigest([]byte(todoAt("blocking")))
	got := w.result(t)
	for _, want := range []string{"- Tool profile: fix\n- Registry sha256: " + digest, "(code.todo.blockers)", "(ERA, fix)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the result:\n%s", want, got)
		}
	}
	kept, err := os.ReadFile(w.one(t, "archive/*/*/*/given/registry.yaml"))
	must(t, err)
	if string(kept) != todoAt("blocking") {
		t.Errorf("the job has %q", kept)
	}
}

// TestProfileRefuses: a request can't bring a registry of its own, name another one, or take out files besides the
// patch.
func TestProfileRefuses(t *testing.T) {
	for name, c := range map[string]struct{ old, new, rule, says string }{
		"brings one": {"x.csv", "registry.yaml", "tools.registry", "and the request has /in/registry.yaml of its own"},
		"names another": {"/in/plan.jsonl\n", "/in/plan.jsonl --registry /in/x.csv\n", "tools.registry",
			"would not have the registry of the profile fix"},
		"a plan elsewhere": {"/in/plan.jsonl", "/in/sub/plan.jsonl", "tools.registry", "put the plan directly below /in"},
		"wrapped":          {"threegate-tools run", "timeout 60 threegate-tools run", "tools.command", "begin with the words threegate-tools run"},
		"whole files":      {"/out/changes.patch", "/out/work/main.py", "tools.outputs", "/out/work/main.py is not held"},
	} {
		t.Run(name, func(t *testing.T) {
			w, e := profiled(t)
			stem := filepath.Join(w.cfg.Inboxes[0].Path, crashID)
			raw, err := os.ReadFile(stem + ".md")
			must(t, err)
			if c.new == "registry.yaml" {
				must(t, os.Rename(filepath.Join(stem+".inputs", c.old), filepath.Join(stem+".inputs", c.new)))
			}
			must(t, os.WriteFile(stem+".md", []byte(strings.ReplaceAll(string(raw), c.old, c.new)), 0o644))
			w.runWith(t, e)
			reasons, err := os.ReadFile(w.one(t, inRequests+"/reasons.json"))
			must(t, err)
			if !strings.Contains(string(reasons), `"`+c.rule+`"`) || !strings.Contains(string(reasons), c.says) {
				t.Errorf("%s", reasons)
			}
			if events := w.events(t, ledger.DeliveryAttempted); len(events) != 1 || len(events[0].Rules) != 1 {
				t.Errorf("refused for more: %+v", events)
			}
		})
	}
}

// TestPlanWithABadMessage: a plan is held to the rules about names when its request is admitted, and a person can
// release what they say.
func TestPlanWithABadMessage(t *testing.T) {
	w, e := profiled(t)
	registry := "version: 1\nvalidators: [{rule: commit.message.conventional, enforcement: blocking}]\n"
	must(t, os.WriteFile(filepath.Join(w.dir, "fix.yaml"), []byte(registry), 0o600))
	var err error
	w.cfg, err = config.Load(w.dir)
	must(t, err)
	stem := filepath.Join(w.cfg.Inboxes[0].Path, crashID)
	must(t, os.Rename(filepath.Join(stem+".inputs", "x.csv"), filepath.Join(stem+".inputs", "plan.jsonl")))
	plan := `{"type":"ToolRequest","tool":"git_commit","args":{"message":"wip"},"request_id":"1","session_id":"s","timestamp":1}` + "\n"
	must(t, os.WriteFile(filepath.Join(stem+".inputs", "plan.jsonl"), []byte(plan), 0o600))
	raw, err := os.ReadFile(stem + ".md")
	must(t, err)
	had := regexp.MustCompile(`[0-9a-f]{64}`).FindString(string(raw))
	sum := sha256.Sum256([]byte(plan))
	must(t, os.WriteFile(stem+".md", []byte(strings.NewReplacer("x.csv", "plan.jsonl", had, hex.EncodeToString(sum[:])).
		Replace(string(raw))), 0o644))
	w.runWith(t, e)
	reasons, err := os.ReadFile(w.one(t, inRequests+"/reasons.json"))
	must(t, err)
	for _, want := range []string{`"commit.message.conventional"`, `line 1 of \"/in/plan.jsonl\": the message is not`,
		"write: type(scope): what it does"} {
		if !strings.Contains(string(reasons), want) {
			t.Errorf("%q is not in %s", want, reasons)
		}
	}
	if events := w.events(t, ledger.DeliveryAttempted); len(events) != 1 || len(events[0].Rules) != 1 {
		t.Errorf("refused for more: %+v", events)
	}
	w.release(t, w.items(t)[0])
	w.runWith(t, e)
	if len(w.events(t, ledger.RunCompleted)) != 1 {
		t.Error("it did not run after its release")
	}
}

// TestRegistryChangesInTheQueue: what waits while its registry becomes another one is judged anew, and runs with it.
func TestRegistryChangesInTheQueue(t *testing.T) {
	w, e := profiled(t)
	w.queued(t)
	must(t, os.WriteFile(filepath.Join(w.dir, "fix.yaml"), []byte(todoAt("warning")), 0o600))
	var err error
	w.cfg, err = config.Load(w.dir)
	must(t, err)
	w.runWith(t, e)
	if string(e.file) != todoAt("warning") {
		t.Errorf("it was given %q", e.file)
	}
	if got := w.result(t); !strings.Contains(got, "is a warning there: code.todo.blockers") ||
		!strings.Contains(got, "- /out/changes.patch") {
		t.Errorf("%s", got)
	}
	admitted, err := os.ReadFile(w.one(t, "archive/*/*/*/"+ledger.FileAdmission))
	must(t, err)
	if !strings.Contains(string(admitted), `"registry"`) {
		t.Errorf("%s", admitted)
	}
}
