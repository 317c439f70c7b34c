package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

// client is serve --jsonl as a process of its own, and what it writes.
type client struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.ReadCloser
	r   *bufio.Reader
}

func newClient(t *testing.T, b *bench, timeline string) *client {
	t.Helper()
	registry := b.write("registry.yaml", "version: 1\nshell_allow: ['^sleep ']\n")
	c := &client{t: t, cmd: exec.Command(os.Args[0], "serve", "--jsonl", "--workspace", b.out, "--registry", registry,
		"--timeline", timeline)}
	c.cmd.Env = append(os.Environ(), asProgram+"=1")
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	c.r = bufio.NewReader(c.out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill() })
	return c
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// until reads up to a line that holds all words.
func (c *client) until(words ...string) {
	c.t.Helper()
next:
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			c.t.Fatalf("no line has %q: %v", words, err)
		}
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		return
	}
}

func cancelOf(id string) string {
	return fmt.Sprintf(`{"type":"ToolCancel","request_id":%q,"session_id":"s","timestamp":1}`, id)
}

// TestLinesDuringACall: while a command runs, a heartbeat is answered, and calls that run or wait can be cancelled.
func TestLinesDuringACall(t *testing.T) {
	b := newBench(t)
	timeline := b.in + "/timeline"
	c := newClient(t, b, timeline)
	c.send(request("sleeps", "shell_exec", `{"cmd":"sleep 1000"}`))
	c.until("TaskProgress", `"sleeps"`)
	c.send(request("waits", "file_write", `{"path":"never","content":"x"}`))
	c.send(`{"type":"Heartbeat","session_id":"s","timestamp":1}`)
	c.until("Heartbeat")
	c.send(cancelOf("none"))
	c.until("ErrorMessage", `"none"`)
	c.send(cancelOf("waits"))
	c.send(cancelOf("sleeps"))
	c.until("ToolResponse", `"sleeps"`, "E_TIMEOUT", "was cancelled")
	c.until("ToolResponse", `"waits"`, "E_TIMEOUT", "was cancelled")
	c.send(strings.Repeat("x", contract.MaxLine+1))
	c.until("ErrorMessage", "bytes at most")
	c.send(request("list", "fs_list", `{"glob":"**"}`))
	c.until("ToolResponse", `"list"`, `"files":[]`)
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Error(err)
	}
	var codes []string
	entries, err := contract.ParseTimeline([]byte(b.read(timeline)))
	for _, e := range entries {
		codes = append(codes, e.Tool, e.Code)
	}
	if fmt.Sprint(codes, err) != "[shell_exec E_TIMEOUT file_write E_TIMEOUT fs_list OK] <nil>" {
		t.Error(codes, err)
	}
}

// TestClientIsGone: a command ends when nobody reads the answers, and goes on when the questions end.
func TestClientIsGone(t *testing.T) {
	b := newBench(t)
	c := newClient(t, b, b.in+"/timeline")
	mark := fmt.Sprint(time.Now().UnixNano())
	c.send(request("sleeps", "shell_exec", `{"cmd":"sleep 1000.`+mark+`"}`))
	c.until("TaskProgress", `"sleeps"`)
	c.in.Close() // only the end of the plan
	for !running(t, mark) {
		time.Sleep(10 * time.Millisecond)
	}
	c.out.Close()
	err := c.cmd.Wait()
	if running(t, mark) {
		t.Errorf("the command runs on, and the server has ended: %v", err)
	}
	if code := c.cmd.ProcessState.ExitCode(); code != exitTrouble {
		t.Errorf("exit code %d, %v", code, err)
	}
}

// running says whether a process has a word in its command line.
func running(t *testing.T, word string) bool {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		cmd, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && bytes.HasPrefix(cmd, []byte("sleep")) && bytes.Contains(cmd, []byte(word)) {
			return true
		}
	}
	return false
}
