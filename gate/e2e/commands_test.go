package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKilledWithItsCommands: a node that is killed takes the commands of its filters and hooks with it.
func TestKilledWithItsCommands(t *testing.T) {
	dir, err := os.MkdirTemp("", "commands")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	filter, hook := filepath.Join(dir, "filter"), filepath.Join(dir, "hook")
	for path, script := range map[string]string{
		filter: `q = json.load(sys.stdin)
if "stay" in q["text"]:
    stay()
print(json.dumps({"version": 1, "sha256": q["sha256"], "findings": []}))
`, hook: "stay()\n"} {
		must(t, os.WriteFile(path, []byte(`#!/usr/bin/python3
import ctypes, json, sys, time
def stay():
    ctypes.CDLL(None).prctl(1, 0)  # no signal when the parent dies
    time.sleep(1000)
`+script), 0o755))
	}
	n := newNode(t, fmt.Sprintf("results: {external: [{name: f, command: [%s], timeout: 5m}]}\n"+
		"hooks: [{name: h, command: [%s], timeout: 5m}]\n", filter, hook))
	n.send(era("TR-20260209-160501Z-answered", "print(1)\n"))
	n.send(era("TR-20260209-160502Z-asked", "print('stay')\n"))
	work := func() (running int) {
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		must(t, err)
		for _, path := range all {
			line, _ := os.ReadFile(path) // it may have ended
			if strings.HasPrefix(string(line), "/usr/bin/python3\x00"+dir) {
				running++
			}
		}
		return running
	}
	n.until("the filter and the hook to be at work", func() bool { return work() == 2 })
	n.kill()
	n.until("both to end", func() bool { return work() == 0 })
	must(t, os.WriteFile(hook, []byte("#!/bin/sh\n"), 0o755))
	must(t, os.WriteFile(filter, []byte("#!/bin/sh\nexit 1\n"), 0o755))
}
