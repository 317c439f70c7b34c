package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBrokenRuntime: a runtime that breaks says itself why, in the node's troubles, in doctor and in posture; when it is
// mended, the request that waits runs.
func TestBrokenRuntime(t *testing.T) {
	dir := t.TempDir()
	runtime, broken := filepath.Join(dir, "runtime"), filepath.Join(dir, "broken")
	const words = "the kernel lacks a thing that this runtime needs"
	must(t, os.WriteFile(broken, nil, 0o600))
	must(t, os.WriteFile(runtime, fmt.Appendf(nil, `#!/bin/sh
case " $* " in *" create "*) if [ -e %s ]; then echo "%s" >&2; exit 1; fi ;; esac
exec runc "$@"
`, broken, words), 0o755))
	n := newNode(t, "\ncontainerd:\n  runtime_binary: "+runtime+"\n")
	r := era("TR-20260209-330002Z-broken", "print('mended')")
	n.send(r)
	if x := n.heldUp(r.id, "its run can't be started"); !strings.Contains(x.Error, words) ||
		!strings.Contains(x.Hint, "mend what the runtime "+runtime+" names") {
		t.Errorf("%+v", x)
	}
	for _, command := range []string{"doctor", "posture"} {
		out, err := exec.Command(threegate, command, "--node", n.dir).CombinedOutput()
		if plain := strings.Join(strings.Fields(string(out)), " "); err == nil || !strings.Contains(plain, words) ||
			!strings.Contains(plain, "Without containerd.runtime_binary the node uses runc") {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	must(t, os.Remove(broken))
	if out := n.threegate("doctor", "--node", n.dir); !strings.Contains(out, "ways out are closed") {
		t.Errorf("doctor of what is mended:\n%s", out)
	}
	n.result(n.await(r.id))
	n.check()
}
