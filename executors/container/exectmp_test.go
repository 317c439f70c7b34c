package container

import (
	"maps"
	"os"
	"strings"
	"testing"
)

// What a run writes is executed in /tmp, and nowhere else, if its language is one that
// must, and nowhere at all otherwise: also if both are made of the same image.
func TestExecTmp(t *testing.T) {
	c := testConfig()
	c.Images = maps.Clone(c.Images)
	c.Images["builder"] = c.Images["hostile"]
	c.ExecTmp = map[string]bool{"builder": true, "hostile": false}
	e, err := Open(t.Context(), c)
	must(t, "Open", err)
	t.Cleanup(func() { e.Close() })
	awaitSlots(t, e)
	before := traces(t)
	const denied = "/tmp/a: permission denied\n/out/a: permission denied\n/dev/shm/a: permission denied\n"
	for _, tt := range []struct {
		language, want string
		weak           bool
	}{
		{"hostile", denied, false},
		{"builder", "from /tmp/a\n" + strings.Replace(denied, "permission denied", "<nil>", 1), true},
		{"hostile", denied, false},
	} {
		awaitSlots(t, e)
		task := newTask("build", "/tmp/a", "/out/a", "/dev/shm/a")
		task.Language = tt.language
		must(t, "Prepare", e.Prepare(t.Context(), task))
		if warm := e.containerOf(task.ID) != task.ID; warm != (os.Getenv(slotsVar) != "") {
			t.Errorf("%s: in a slot: %v", tt.language, warm)
		}
		if id, err := e.Identity(t.Context(), task); err != nil ||
			strings.Contains(id.Runtime, ", /tmp executable") != tt.weak {
			t.Errorf("%s: %+v, %v", tt.language, id, err)
		}
		must(t, "Start", e.Start(t.Context(), task.ID))
		r := finish(t, e, task.ID)
		if r.ExitCode != 0 || r.stdout(t) != tt.want {
			t.Errorf("%s: %+v\n%s%s", tt.language, r.Outcome, r.stdout(t), r.stderr(t))
		}
		if strings.Contains(r.Outcome.Identity.Runtime, ", /tmp executable") != tt.weak {
			t.Errorf("%s: provenance says %q", tt.language, r.Outcome.Identity.Runtime)
		}
	}
	awaitSlots(t, e)
	nothingLeft(t, before)
}
