package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is a program on a terminal of 80 columns and 24 rows.
type terminal struct {
	t   *testing.T
	cmd *exec.Cmd
	pty *os.File

	mu    sync.Mutex
	moved *sync.Cond
	out   bytes.Buffer
	from  int // up to where out was waited for
	ended bool
}

func onTerminal(t *testing.T, dir string, args ...string) *terminal {
	t.Helper()
	s := &terminal{t: t, cmd: exec.Command("threegate", args...)}
	s.moved = sync.NewCond(&s.mu)
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1", "USER=mallory")
	var err error
	if s.pty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.pty.Close() })
	// Nobody waits for ever: a guard, not a measure.
	guard := time.AfterFunc(5*time.Minute, func() { _ = s.cmd.Process.Kill() })
	t.Cleanup(func() { guard.Stop() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := s.pty.Read(buf)
			s.mu.Lock()
			s.out.Write(buf[:n])
			s.ended = err != nil
			s.moved.Broadcast()
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// wait waits until the program has written text, behind what was waited for before.
func (s *terminal) wait(text string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if at := bytes.Index(s.out.Bytes()[s.from:], []byte(text)); at >= 0 {
			s.from += at + len(text)
			return
		}
		if s.ended {
			s.t.Fatalf("it never wrote %q: %q", text, s.out.String())
		}
		s.moved.Wait()
	}
}

func (s *terminal) press(keys string) {
	s.t.Helper()
	if _, err := s.pty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// end is the program's exit code.
func (s *terminal) end() int {
	s.t.Helper()
	s.mu.Lock()
	for !s.ended {
		s.moved.Wait()
	}
	s.mu.Unlock()
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// TestReviewOnATerminal reads a request on a real terminal, refuses it, and approves it then.
func TestReviewOnATerminal(t *testing.T) {
	dir := t.TempDir()
	call := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command("threegate", args...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Fatalf("%v: exit code %d, want %d: %s", args, got, want, out)
		}
		return string(out)
	}
	file := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if err := os.WriteFile(filepath.Join(dir, "long.py"), []byte(strings.Repeat("print(1)\n", 60)), 0o600); err != nil {
		t.Fatal(err)
	}
	call(0, "draft", "ERA", "--input", "long.py", "--slug", "x", "-o", "TR-20260101-000000Z-x.md")
	const name = "TR-20260101-000000Z-x.md"
	drafted := file(name)

	s := onTerminal(t, dir, "review", name)
	s.wait("a approve")
	s.press("q")
	if code := s.end(); code != 6 || file(name) != drafted {
		t.Fatalf("left alone: exit code %d, file\n%s", code, file(name))
	}
	if err := os.Mkdir(filepath.Join(dir, "inbox"), 0o700); err != nil {
		t.Fatal(err)
	}

	s = onTerminal(t, dir, "review", name)
	s.wait("a approve")
	s.press("a")
	s.wait("not shown yet; here")
	s.press("     ") // five pages
	s.wait("all of it was shown")
	s.press("a")
	s.wait("Your name")
	s.press("alice\r")
	if code := s.end(); code != 0 || !strings.Contains(file(name), "\napproved_by: \"alice\"\n") {
		t.Fatalf("approved: exit code %d, file\n%s", code, file(name))
	}

	approved := file(name)
	s = onTerminal(t, dir, "review", name)
	s.wait("a approve")
	s.press("r")
	s.wait("Why not")
	s.press("reads too much\r")
	s.wait("Your name")
	s.press("carol\r")
	if code := s.end(); code != 1 || file(name) != approved {
		t.Fatalf("refused: exit code %d, file\n%s", code, file(name))
	}
	if got := file(name + ".refused"); !strings.Contains(got, `"refused_by": "carol"`) ||
		!strings.Contains(got, `"reason": "reads too much"`) {
		t.Errorf("the refusal is %s", got)
	}
	// An approval that was there before does not outlive the refusal.
	if out := call(1, "promote", name, "--inbox", "./inbox"); !strings.Contains(out, "reads too much") {
		t.Errorf("promote says %s", out)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".refused"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	call(2, "promote", name, "--inbox", "./inbox")
	call(0, "approve", name, "--as", "alice", "--yes")
	call(0, "promote", name, "--inbox", "./inbox")
	if out := call(0, "review", name); !strings.Contains(out, "   60 | print(1)\n") {
		t.Errorf("without a terminal review prints %s", out)
	}
}
