package monty_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/threegate/tool-exec/executors/monty"
)

// TestMain makes this binary an interpreter that was taken over, when it is
// started as one: the name that it is started by says what it does.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "subprocess" {
		misbehave(filepath.Base(os.Args[0]))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func num(n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

func raw(n protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), bytes.Join(parts, nil))
}

func put(msg []byte) {
	os.Stdout.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(msg))), msg...))
}

// take reads one request and throws it away.
func take() {
	var head [4]byte
	if _, err := io.ReadFull(os.Stdin, head[:]); err != nil {
		os.Exit(0)
	}
	io.CopyN(io.Discard, os.Stdin, int64(binary.LittleEndian.Uint32(head[:])))
}

func die(sig syscall.Signal) {
	syscall.Kill(os.Getpid(), sig)
	time.Sleep(time.Hour)
}

func misbehave(how string) {
	take()
	if how == "deaf" {
		os.Stdout.Close()
		os.Stdin.Close()
		time.Sleep(time.Hour)
	}
	if how == "no-ok" {
		put(raw(6, raw(1, raw(2))))
		return
	}
	put(raw(10))
	take()
	switch how {
	case "exit":
		os.Exit(3)
	case "noise":
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 1<<20)+"\x1b[31mred")
		os.Exit(4)
	case "allocator":
		os.Exit(65)
	case "killed":
		die(syscall.SIGKILL)
	case "crash":
		die(syscall.SIGTERM)
	case "half-frame":
		os.Stdout.Write([]byte{50, 0, 0, 0, 1})
		os.Exit(9)
	case "huge-frame":
		os.Stdout.Write([]byte{255, 255, 255, 255})
		time.Sleep(time.Hour)
	case "garbage":
		put([]byte("hello"))
		time.Sleep(time.Hour)
	case "unknown-value":
		put(raw(6, raw(1, raw(10))))
		time.Sleep(time.Hour)
	case "ok-again":
		put(raw(10))
	case "futures":
		put(raw(5, num(1, 1)))
	case "fatal":
		put(raw(11, raw(1, []byte("lost \x1b[2J"))))
	case "no-operation":
		put(raw(3, num(1, 1)))
		take()
		put(raw(6, raw(1, raw(2))))
	case "no-value":
		put(raw(6))
	case "no-exception":
		put(raw(7))
	case "stderr-print":
		put(raw(1, num(1, 2), raw(2, []byte("to stderr\n"))))
		put(raw(6, raw(1, raw(2))))
	case "deep":
		v := raw(2)
		for range 1000 {
			v = raw(11, raw(1, v))
		}
		put(raw(6, raw(1, v)))
	case "escape":
		// A file operation on a path that its own rules would never let through.
		put(raw(3, raw(6, []byte("/out/../../../../etc/passwd"))))
		take()
		put(raw(3, num(1, 1), raw(14, raw(1, []byte("/out/../in/x")), raw(2, []byte("y")))))
		take()
		put(raw(3, num(1, 2), raw(20, raw(1, []byte("/out/a")), raw(2, []byte("/out/./_value.json")))))
		take()
		put(raw(6, raw(1, raw(2))))
	}
}

// TestTakenOver: whatever the interpreter does, the run ends soon, with the
// right code and one plain line.
func TestTakenOver(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		how    string
		exit   int
		stderr string
	}{
		{"deaf", monty.ExitInterpreter, "closed its pipes"},
		{"no-ok", monty.ExitInterpreter, "complete was not expected"},
		{"exit", monty.ExitInterpreter, "exited with 3"},
		{"noise", monty.ExitInterpreter, `\x1b[31mred`},
		{"allocator", monty.ExitMemory, "no more memory"},
		{"killed", monty.ExitMemory, "was killed"},
		{"crash", monty.ExitInterpreter, "died of signal 15"},
		{"half-frame", monty.ExitInterpreter, "exited with 9"},
		{"huge-frame", monty.ExitInterpreter, "4294967295 bytes announced"},
		{"garbage", monty.ExitInterpreter, "broke the protocol"},
		{"unknown-value", monty.ExitValue, "a value of no known type"},
		{"ok-again", monty.ExitInterpreter, "ok was not expected"},
		{"futures", monty.ExitInterpreter, "an event of no known kind"},
		{"fatal", monty.ExitInterpreter, `gave up: "lost \x1b[2J"`},
		{"no-operation", monty.ExitOK, ""},
		{"no-value", monty.ExitValue, "a value of no known type"},
		{"no-exception", monty.ExitException, ""},
		{"stderr-print", monty.ExitOK, "to stderr"},
		{"deep", monty.ExitInterpreter, "recursion depth"},
		{"escape", monty.ExitOK, ""},
	} {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			link := filepath.Join(t.TempDir(), c.how)
			if err := os.Symlink(self, link); err != nil {
				t.Fatal(err)
			}
			j := job(t, "1", "")
			j.Monty = link
			w := newWorld(t)
			if got := monty.Run(j, w.env()); got != c.exit {
				t.Errorf("exit code %d, want %d", got, c.exit)
			}
			text := w.stderr.String()
			if !strings.Contains(text,
				c.stderr) || len(text) > 8192 || strings.Count(text, "\n") > 1 || strings.Contains(text, "\x1b") {
				t.Errorf("stderr %.300q, want one line with %q", text, c.stderr)
			}
			if names := list(t, w.out); len(names) != 0 {
				t.Errorf("/out holds %q", names)
			}
		})
	}
}

func TestInterpreterCannotStart(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		filepath.Join(dir, "missing"): monty.ExitNotFound,
		plain:                         monty.ExitNotExecutable,
		dir:                           monty.ExitNotExecutable,
	} {
		w := newWorld(t)
		j := job(t, "1", "")
		j.Monty = path
		if got := monty.Run(j, w.env()); got != want {
			t.Errorf("%s: exit code %d, want %d", path, got, want)
		}
		if s := w.stderr.String(); !strings.Contains(s, "could not be started") {
			t.Errorf("%s: stderr %q", path, s)
		}
	}
}

// failing takes some bytes and no more.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

func TestOutputThatFails(t *testing.T) {
	w := newWorld(t)
	env := w.env()
	env.Stdout = &failing{left: 100_000}
	if got := monty.Run(job(t, "while True:\n    print('x' * 1000)", ""), env); got != monty.ExitOutput {
		t.Errorf("exit code %d, want %d", got, monty.ExitOutput)
	}
	if !strings.Contains(w.stderr.String(), "could not be written: no space left") {
		t.Errorf("stderr %q", w.stderr.String())
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range es {
		names = append(names, e.Name())
	}
	return names
}
