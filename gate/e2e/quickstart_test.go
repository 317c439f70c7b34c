package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// The first request of a user comes to its result, on a node that nobody serves yet.
func TestQuickstart(t *testing.T) {
	n := emptyNodeIn(t, filepath.Join(t.TempDir(), "node"))
	n.giveImages()
	out := n.threegate("quickstart", "--node", n.dir, "--yes")
	for _, want := range []string{"$ threegate draft", "$ threegate approve", "$ threegate promote", "$ threegate wait",
		"delivered: " + n.cfg.CoreInbound.Path} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	artifacts, err := filepath.Glob(filepath.Join(n.cfg.CoreInbound.Path, "TS-*.artifacts/sum.txt"))
	if err != nil || len(artifacts) != 1 || read(t, artifacts[0]) != "6\n" {
		t.Errorf("the sum: %v, %v", artifacts, err)
	}
}
