package gate_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
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

// TestRecheckOfCommits: where only rules about names are listed, there is a second run if the first left commits. It
// gets them, and the patch stays if their messages break a rule.
func TestRecheckOfCommits(t *testing.T) {
	const broken = `{"rule":"commit.message.conventional","level":"blocking","ok":false,"message":"the commit 0123456789ab: x",` +
		`"path":"commits.bundle","line":0}` + "\n"
	for _, left := range []string{"", "a bundle"} {
		w := mustWorld(t, scenario{name: "recheck", word: "profile", want: ending{delivered: 1, runs: 1}})
		must(t, os.WriteFile(filepath.Join(w.dir, "fix.yaml"),
			[]byte("version: 1\nvalidators: [{rule: commit.message.conventional, enforcement: blocking}]\n"), 0o600))
		var err error
		w.cfg, err = config.Load(w.dir)
		must(t, err)
		made := map[string]string{"out/changes.patch": strings.Replace(todoPatch, "TODO", "two", 1)}
		if left != "" {
			made["out/commits.bundle"] = left
		}
		e := &rechecked{code: 1, speaker: &speaker{w.recorder(&injector{}), map[string]map[string]string{
			"profile": made, "/in/changes.patch": {"stdout": broken}}}}
		w.runWith(t, e)
		got := w.result(t)
		if says := strings.Contains(got, "(commit.message.conventional)."); says != (left != "") ||
			len(w.glob("core-inbound/*/changes.patch")) > 0 != (left == "") {
			t.Errorf("with %q:\n%s", left, got)
		}
		if left == "" {
			if e.second.ID != "" {
				t.Errorf("a second run of %+v", e.second)
			}
			continue
		}
		if b, err := os.ReadFile(w.one(t, "archive/*/*/*/recheck/in/commits.bundle")); err != nil || string(b) != left {
			t.Errorf("it was given %q, %v", b, err)
		}
	}
}

// TestCommitsWithoutAPatch: commits that leave without the patch with which they are judged are withheld, so that
// nobody publishes them.
func TestCommitsWithoutAPatch(t *testing.T) {
	w := mustWorld(t, scenario{name: "recheck", word: "profile", want: ending{delivered: 1, runs: 1}})
	e := &rechecked{speaker: &speaker{w.recorder(&injector{}), map[string]map[string]string{
		"profile": {"out/push.bundle": "a bundle", "out/other.bundle": "another"}}}}
	w.runWith(t, e)
	if got := w.result(t); e.second.ID != "" || !strings.Contains(got, "kept in the archive: /out/push.bundle, all of it (tools.recheck).") {
		t.Errorf("a second run of %+v, the result:\n%s", e.second, got)
	}
	b, err := os.ReadFile(w.one(t, "archive/*/*/*/"+ledger.FileWithheld))
	if must(t, err); !strings.Contains(string(b), `"channel": "/out/push.bundle"`) || strings.Contains(string(b), "other") {
		t.Errorf("%s", b)
	}
}

// TestRecheckThatAPersonReleases: where nothing is withheld the result is refused. A person can say that a rule of the
// second run does not matter for this patch, and then nothing runs again; what nobody judged stays.
func TestRecheckThatAPersonReleases(t *testing.T) {
	const broken = `{"rule":"test.must.pass","level":"blocking","ok":false,"message":"a test fails","path":"","line":0}` + "\n"
	for code, released := range map[int]bool{1: true, 2: false} {
		w := mustWorld(t, scenario{name: "recheck", word: "profile", want: ending{delivered: 1, runs: 1}})
		file := filepath.Join(w.dir, config.FileName)
		raw, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(file, append(raw, "results: {judgement: strict}\n"...), 0o600))
		w.cfg, err = config.Load(w.dir)
		must(t, err)
		e := &rechecked{code: code, speaker: &speaker{w.recorder(&injector{}), map[string]map[string]string{
			"profile":           {"out/changes.patch": strings.Replace(todoPatch, "TODO", "two", 1)},
			"/in/changes.patch": {"stdout": broken}}}}
		w.runWith(t, e)
		order := w.release(t, w.items(t)[0], also(released)...)
		e.code = 2 // were it run again, it could not be judged
		w.runWith(t, e)
		why := w.answer(t, order)
		if !released {
			if !strings.Contains(why, "tools.recheck, is none that a person can release. To mend it: ") {
				t.Errorf("%q", why)
			}
			continue
		}
		if got := w.result(t); why != "" || !strings.Contains(got, "Released by alice: rule test.must.pass.") ||
			!strings.Contains(got, "- Second run: threegate-tools recheck, broken, exit code 1") ||
			len(w.glob("core-inbound/*/changes.patch")) != 1 {
			t.Errorf("%q, the result:\n%s", why, got)
		}
	}
}

// also is something to release where nothing can be: an order of nothing is none.
func also(nothing bool) []schemas.Release {
	if nothing {
		return nil
	}
	return []schemas.Release{{Rule: "tools.recheck", SHA256: strings.Repeat("0", 64)}}
}

// cancelledLate is an executor that makes the second sandbox only after its request was cancelled.
type cancelledLate struct {
	*rechecked
	cancel func()
}

func (c *cancelledLate) Prepare(ctx context.Context, t executors.Task) error {
	if strings.HasPrefix(t.ID, "r") {
		c.cancel()
	}
	return c.rechecked.Prepare(ctx, t)
}

// TestNoRecheckOfACancelledRequest: a cancellation that comes just before the second sandbox is made finds none to
// stop; nothing starts in it all the same.
func TestNoRecheckOfACancelledRequest(t *testing.T) {
	w := mustWorld(t, scenario{name: "recheck", word: "profile"})
	e := &cancelledLate{rechecked: &rechecked{speaker: &speaker{w.recorder(&injector{}), map[string]map[string]string{
		"profile":           {"out/changes.patch": strings.Replace(todoPatch, "TODO", "two", 1)},
		"/in/changes.patch": {}}}}}
	e.cancel = func() {
		name := w.order(t, orders.Cancel, crashID, nil)
		for {
			a, err := orders.AnswerOf(w.dir, name.SHA256)
			if err != nil || a != nil && a.Refused != "" {
				t.Errorf("%+v, %v", a, err)
			}
			if err != nil || a != nil || t.Context().Err() != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	w.runWith(t, e)
	if on := w.events(t, ledger.RunCompleted); len(on) != 1 || on[0].Recheck != "unknown" {
		t.Errorf("on record: %+v", on)
	}
	b, err := os.ReadFile(e.runsFile())
	must(t, err)
	if ids := strings.Fields(string(b)); len(ids) != 1 || !strings.HasPrefix(ids[0], "j") {
		t.Errorf("started: %v", ids)
	}
}
