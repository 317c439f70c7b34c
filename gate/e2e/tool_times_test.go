package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// timesEnv says how many reads, patches and commits TestToolTimes makes.
const timesEnv = "THREEGATE_TOOL_TIMES"

// TestToolTimes times calls of tools and the same by plain programs, in one sandbox, and prints the medians.
// It makes few of them unless it is told to (make bench-tools), and no figure fails it.
func TestToolTimes(t *testing.T) {
	n := newNode(t)
	counts := or(os.Getenv(timesEnv), "3 3 2")
	r := request{id: "TR-20260209-210000Z-times", language: "tools", command: "python times.py " + counts, memoryMB: 256,
		timeSec: 300, inputs: map[string]string{"times.py": read(t, filepath.Join("testdata", "tool_times.py"))}}
	n.send(r)
	res := n.result(n.await(r.id))
	var times map[string]struct {
		Calls int     `json:"calls"`
		Tool  int     `json:"tool_us"`
		Plain int     `json:"plain_us"`
		Ratio float64 `json:"ratio"`
	}
	if err := json.Unmarshal([]byte(res.Stdout.Text), &times); err != nil || len(times) != 4 {
		t.Fatalf("%v: %q, %q", err, res.Stdout.Text, res.Stderr.Text)
	}
	for what, m := range times {
		t.Logf("%s: %d calls, medians %d us and %d us, ratio %.2f", what, m.Calls, m.Tool, m.Plain, m.Ratio)
	}
	n.check()
}
