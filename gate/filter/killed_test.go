package filter

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be a node that asks a filter.
func TestMain(m *testing.M) {
	if program := os.Getenv("FILTER_TEST_COMMAND"); program != "" {
		f := Filter{Name: "late", Command: []string{program}, Timeout: time.Hour}
		_, err := f.Ask(context.Background(), Question{Channel: "stdout", Text: []byte("x")})
		panic(err)
	}
	os.Exit(m.Run())
}

// stays is a command that was taken over: it takes from itself the signal that it gets when its parent dies, also by a
// thread that starts another program, which has none.
const stays = `#!/usr/bin/python3
import ctypes, os, sys, threading
sys.stdin.read()
ctypes.CDLL(None).prctl(1, 0)
if os.fork() == 0:
    os.setsid()
    os.execv("/bin/sleep", ["threegate-outlives", "1000"])
threading.Thread(target=lambda: os.execv("/bin/sleep", ["threegate-outlives", "1000"])).start()
`

// TestNothingOutlivesTheNode: a node that is killed takes its filters' commands with it, whatever they do.
func TestNothingOutlivesTheNode(t *testing.T) {
	program := filepath.Join(t.TempDir(), "stays")
	must(t, os.WriteFile(program, []byte(stays), 0o755))
	for d := filepath.Dir(program); d != os.TempDir(); d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	node := exec.Command("/proc/self/exe")
	node.Env = append(os.Environ(), "FILTER_TEST_COMMAND="+program)
	must(t, node.Start())
	defer func() { _ = node.Process.Kill() }()
	until := func(what string, done func() bool) {
		for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %v", what, outliving(t))
			}
		}
	}
	until("it did not start", func() bool { return len(outliving(t)) == 2 })
	must(t, node.Process.Kill())
	_ = node.Wait()
	t.Cleanup(func() {
		for _, path := range outliving(t) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			must(t, errors.Join(err, syscall.Kill(pid, syscall.SIGKILL)))
		}
	})
	until("it outlives the node", func() bool { return len(outliving(t)) == 0 })
}

// outliving are the processes of the command.
func outliving(t *testing.T) (found []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, path := range all {
		line, err := os.ReadFile(path)
		if err == nil && strings.HasPrefix(string(line), "threegate-outlives") {
			found = append(found, path)
		} else if err != nil && !errors.Is(err, os.ErrNotExist) && !strings.Contains(err.Error(), "no such process") {
			t.Fatal(err)
		}
	}
	return found
}
