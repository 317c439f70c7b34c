package e2e

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
)

// lockScript locks files that every run has, in each way that there is, and prints
// those that somebody else has locked.
const lockScript = `import fcntl, os, sys, time
held, taken = [], []
for name in ["/", "/dev", "/dev/null", "/etc/passwd", "/in", "/usr", sys.executable]:
    held.append(os.open(name, os.O_RDONLY))
    try:
        fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e:
        taken.append(f"{name} {e}")
null = open("/dev/null", "r+b")
try:
    fcntl.lockf(null, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError as e:
    taken.append(f"/dev/null {e}")
print("taken:", taken)
`

// TestEscapeByLocks: one run holds locks on all that it shares with others, and
// another one sees none of them.
func TestEscapeByLocks(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			n := newNode(t, mode.config)
			holder := era("TR-20260209-340000Z-holder", lockScript+"time.sleep(600)\n")
			holder.timeSec = 600
			n.send(holder)
			n.untilPrinted("taken: []")
			other := era("TR-20260209-340001Z-other", lockScript)
			n.send(other)
			if r := n.result(n.await(other.id)); r.ExitCode != 0 || r.Stdout.Text != "taken: []\n" {
				t.Errorf("exit code %d, printed %q %q", r.ExitCode, r.Stdout.Text, r.Stderr.Text)
			}
			if f, err := view.Of(n.cfg, holder.id); err != nil || f.State != "running" {
				t.Errorf("the one that holds the locks: %+v, %v", f, err)
			}
			n.until("its end", func() bool { return killInit(n, rand.New(rand.NewPCG(0, 0))) })
			if f := n.await(holder.id); f.Cause != schemas.CauseInterrupted ||
				!strings.Contains(n.result(f).Stdout.Text, "taken: []") {
				t.Errorf("became %+v", *f)
			}
			n.check()
		})
	}
}
