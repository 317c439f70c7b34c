package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/toolruntime/contract"
)

// forgePy is a program of a plan that would tell of calls that nobody made. It says how many descriptors of others
// it could open.
const forgePy = `import glob, os
line = b'{"tool":"forged"}\n'
reached = 0
for path in glob.glob("/proc/[0-9]*/fd/*"):
    if path.startswith("/proc/%d/" % os.getpid()):
        continue
    try:
        os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), line)
        reached += 1
    except OSError:
        pass
for fd in range(3, 64):
    try:
        os.write(fd, line)
        reached += 1
    except OSError:
        pass
os.unlink("/out/timeline.jsonl")
open("/out/timeline.jsonl", "wb").write(line)
print("reached", reached, "told" if "THREEGATE_TIMELINE_FD" in os.environ else "not told")
`

// TestToolTimelineIsNotThePayloads: a program of a plan can write over the timeline in /out. The one that the gate
// keeps came from threegate-tools alone, and fits the plan.
func TestToolTimelineIsNotThePayloads(t *testing.T) {
	n := newNode(t)
	call := func(id, tool, args string) string {
		return `{"type":"ToolRequest","tool":"` + tool + `","args":` + args + `,"request_id":"` + id +
			`","session_id":"s","timestamp":1}` + "\n"
	}
	r := request{id: "TR-20260209-201000Z-forge", language: "tools", command: "threegate-tools run /in/plan.jsonl",
		outputs: []string{"responses.jsonl", "timeline.jsonl"}, memoryMB: 256, timeSec: 300,
		inputs: map[string]string{"workspace/forge.py": forgePy,
			"registry.yaml": "version: 1\nshell_allow: ['^python ']\n",
			"plan.jsonl":    call("1", "shell_exec", `{"cmd":"python forge.py","must_succeed":true}`) + call("2", "git_status", "{}")}}
	n.send(r)
	f := n.await(r.id)
	n.result(f)
	delivered := strings.TrimSuffix(f.ResultPath, ".md") + ".artifacts"
	if got := read(t, filepath.Join(delivered, "responses.jsonl")); !strings.Contains(got, `"stdout":"reached 0 not told\n"`) {
		t.Errorf("the program says: %.600s", got)
	}
	if got := read(t, filepath.Join(delivered, "timeline.jsonl")); got != `{"tool":"forged"}`+"\n" {
		t.Errorf("the program's own timeline is %q", got)
	}
	kept, err := filepath.Glob(filepath.Join(n.dir, "archive", "*", "*", f.Job, ledger.FileTimeline))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%q, %v", kept, err)
	}
	entries, err := contract.ParseTimeline([]byte(read(t, kept[0])))
	if err != nil || len(entries) != 2 || entries[0].Tool != "shell_exec" || entries[1].Tool != "git_status" {
		t.Errorf("%+v, %v", entries, err)
	}
	if f.Tools == nil || f.Tools.Calls != 2 || f.Tools.Codes["OK"] != 2 || f.Tools.Fault != "" ||
		f.Tools.SHA256 != fileSHA256(t, kept[0]) {
		t.Errorf("the ledger tells of %+v", f.Tools)
	}
	n.check() // and so of each hash
}
