package e2e

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/threegate/tool-exec/schemas"
)

// escapeConfig is small enough for bombs to be quick.
const escapeConfig = `
limits:
  pids: 32
  open_files: 128
  out_mb: 8
  out_files: 1200
  tmp_mb: 8
  stream_kb: 512
`

// hostileFile reads a program of testdata/escape.
func hostileFile(t *testing.T, name string) string {
	t.Helper()
	return read(t, filepath.Join(repo, "testdata", "escape", name))
}

// javascript is a javascript program run by ERA.
func javascript(id, script string) request {
	return request{id: id, language: "javascript", command: "node script.js", memoryMB: 256,
		inputs: map[string]string{"script.js": script}}
}

// modes are the ways that a sandbox comes to be.
var modes = []struct {
	name, config string
	slots        bool
}{
	{"cold", "slots:\n  memory_mb: 0\n", false},
	{"slots", "slots:\n  memory_mb: 384\n", true},
}

// TestEscapeAttempts sends programs through the gate that try to get out, in
// every language of the node, and wants each attempt refused by the means that
// is meant to refuse it.
func TestEscapeAttempts(t *testing.T) {
	// A door of the host's that sandboxes must not find.
	door, err := net.Listen("unix", "@threegate-escape-test")
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	go func() {
		for {
			c, err := door.Accept()
			if err != nil {
				return
			}
			t.Error("a sandbox reached an abstract socket of the host")
			c.Close()
		}
	}()
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			n := newNode(t, escapeConfig, mode.config)
			host := takeInventory(t, n)
			py := era("TR-20260209-300001Z-escapepython", hostileFile(t, "attempts.py"))
			js := javascript("TR-20260209-300002Z-escapejs", hostileFile(t, "attempts.js"))
			monty := request{id: "TR-20260209-300003Z-escapemonty", backend: "monty",
				code: hostileFile(t, "attempts.monty.py"), inputs: map[string]string{"control": "input"}}
			taken := 0
			if mode.slots {
				awaitSlots(n)
				taken = len(n.slots.taken(n.slots.look()))
			}
			for _, r := range []request{py, js, monty} {
				n.send(r)
			}
			for _, tt := range []struct {
				id  string
				min int
			}{{py.id, 90}, {js.id, 37}, {monty.id, 85}} {
				t.Run(tt.id[strings.LastIndex(tt.id, "-escape")+len("-escape"):], func(t *testing.T) {
					f := n.await(tt.id)
					r := readResultOf(t, f)
					out := wholeStdout(t, f.ResultPath, r)
					if r.ExitCode != 0 {
						t.Errorf("exit code %d (%s): %s", r.ExitCode, f.Cause, r.Stderr.Text)
					}
					checkAttempts(t, out, tt.min)
				})
			}
			if now := len(n.slots.taken(n.slots.look())); mode.slots && now < taken+3 || !mode.slots && now != 0 {
				t.Errorf("%d slots were taken by three runs", now-taken)
			}
			unharmed(t, n)
			n.check()
			host.compare(t, n)
			nothingAfterwards(t, n)
		})
	}
}

// awaitSlots waits until every image has one and no more are made: what is not
// ready yet can't be told from what is.
func awaitSlots(n *node) {
	n.t.Helper()
	const calm = 2 * time.Second
	images := len(n.cfg.Backends.ERA.Languages) + 1 // Monty's
	had, since := 0, time.Now()
	n.until("slots of all images", func() bool {
		if now := len(n.slots.look()); now != had {
			had, since = now, time.Now()
		}
		return had >= images && time.Since(since) > calm
	})
}

// checkAttempts wants "name | outcome | wanted outcomes" lines that agree.
func checkAttempts(t *testing.T, out string, min int) {
	t.Helper()
	count := 0
	ended := false
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), " | ")
		if len(f) != 3 {
			t.Errorf("not a line of an attempt: %q", line)
			continue
		}
		if f[0] == "tried" {
			ended = f[1] == fmt.Sprint(count)
			continue
		}
		count++
		if !slices.Contains(strings.Split(f[2], "|"), f[1]) {
			t.Errorf("%s: %s, want %s", f[0], f[1], f[2])
		}
	}
	if !ended || count < min {
		t.Errorf("%d attempts, want at least %d and a count at the end:\n%s", count, min, out)
	}
	t.Logf("%d attempts, all refused:\n%s", count, out)
}

// wholeStdout is all of stdout: in the result, or the artifact that it names.
func wholeStdout(t *testing.T, resultPath string, r *schemas.Result) string {
	t.Helper()
	if r.Stdout.Truncated {
		return read(t, filepath.Join(strings.TrimSuffix(resultPath, ".md")+".artifacts", "_stdout.txt"))
	}
	return r.Stdout.Text
}

// TestEscapeRefused: attempts that do not get as far as a sandbox.
func TestEscapeRefused(t *testing.T) {
	n := newNode(t)
	tests := []struct {
		name, rule string
		request    request
	}{
		{"host path in code", "sec.paths.host", request{backend: "monty", code: "open('/etc/passwd').read()\n"}},
		{"host path in a command", "sec.paths.host", request{command: "cat /etc/shadow"}},
		{"device in a command", "sec.devices", request{command: "cat /dev/mem"}},
		{"shell", "sec.shell.program", request{command: "bash -c true"}},
		{"a program that the image has not", "request.command.program", request{command: "jq . /in/x"}},
		{"chain", "sec.shell.chaining", request{command: "python a.py; id"}},
		{"substitution", "sec.shell.substitution", request{command: "python $(id)"}},
		{"way up", "sec.paths.host", request{command: "cat ../../x"}},
	}
	for i := range tests {
		tests[i].request.id = fmt.Sprintf("TR-20260209-31%04dZ-refused", i)
		n.send(tests[i].request)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := n.await(tt.request.id)
			if f.State != "quarantined" || !slices.Contains(f.Rules, tt.rule) {
				t.Errorf("became %s (rules %v), want quarantined by %s", f.State, f.Rules, tt.rule)
			}
			t.Logf("%s: %v", tt.name, f.Rules)
		})
	}
	n.check()
}

// unharmed wants an honest request to be served as ever, by the same process.
func unharmed(t *testing.T, n *node) {
	t.Helper()
	honest := era(fmt.Sprintf("TR-20260209-39%04dZ-honest", time.Now().UnixNano()%10000), "print('all is well')")
	n.send(honest)
	r := n.result(n.await(honest.id))
	if r.ExitCode != 0 || strings.TrimSpace(r.Stdout.Text) != "all is well" {
		t.Errorf("the node no longer serves an honest request: %d %q", r.ExitCode, r.Stdout.Text)
	}
	if err := n.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the gate is gone: %v", err)
	}
}
