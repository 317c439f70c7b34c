package monty_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors/monty"
)

// minSnippets is what the suite must at least hold.
const minSnippets = 182

// testdata holds the snippets and the files that they read.
const testdata = "../../testdata/monty"

// interpreter is the path of the real one; executors/monty tests that it is the pinned one.
func interpreter(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/monty")
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("%v: `make tools` puts it there", err)
	}
	return path
}

// world is a driver run in folders of its own.
type world struct {
	in, out        string
	stdout, stderr bytes.Buffer
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{in: t.TempDir(), out: t.TempDir()}
	if err := os.CopyFS(w.in, os.DirFS(filepath.Join(testdata, "in"))); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) env() monty.Env {
	now := func() time.Time { return time.Date(2026, 11, 20, 12, 34, 56, 789012000, time.UTC) }
	return monty.Env{In: w.in, Out: w.out, Stdout: &w.stdout, Stderr: &w.stderr, Now: now}
}

func job(t testing.TB, code, inputs string) monty.Job {
	t.Helper()
	return monty.Job{Code: code, Inputs: []byte(inputs), Monty: interpreter(t),
		Limits: monty.Limits{MaxDurationSec: 20, MaxMemoryBytes: 256 << 20}}
}

// bare runs code as `monty FILE`, with the folders of w mounted.
func bare(t *testing.T, code string, w *world) (exit int, stdout, stderr string) {
	t.Helper()
	scratch := t.TempDir()
	if err := os.WriteFile(filepath.Join(scratch, monty.ScriptName), []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), interpreter(t),
		"-m", w.in+"::/in::ro", "-m", w.out+"::/out::rw", monty.ScriptName)
	cmd.Dir = scratch
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exited *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), onlyTraceback(errs.String())
}

// timing is what the command writes to stderr first.
var timing = regexp.MustCompile(`(?m)^[0-9.]+(ns|µs|μs|ms|s) ❯ `)

// onlyTraceback takes the timing, the word "error:" and the last value out of what the command
// writes to stderr.
func onlyTraceback(stderr string) string {
	if at := timing.FindStringIndex(stderr); at != nil {
		stderr = stderr[:at[0]] + stderr[at[1]:]
	}
	text, failed := strings.CutPrefix(stderr, "error:")
	if !failed {
		return ""
	}
	return strings.TrimLeft(text, " \n")
}

// TestSameAsBare runs every snippet through the bare interpreter and through the
// driver. Output and traceback must not differ in a byte.
func TestSameAsBare(t *testing.T) {
	snippets, err := filepath.Glob(filepath.Join(testdata, "snippets", "*.py"))
	if err != nil || len(snippets) < minSnippets {
		t.Fatalf("%d snippets, at least %d are wanted (%v)", len(snippets), minSnippets, err)
	}
	for _, path := range snippets {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".py"), func(t *testing.T) {
			t.Parallel()
			code, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			exit, stdout, stderr := bare(t, string(code), newWorld(t))
			w := newWorld(t)
			if got := monty.Run(job(t, string(code), ""), w.env()); got != exit {
				t.Errorf("exit code %d, bare %d", got, exit)
			}
			if got := w.stdout.String(); got != stdout {
				t.Errorf("stdout differs\n got: %q\nbare: %q", got, stdout)
			}
			if got := w.stderr.String(); got != stderr {
				t.Errorf("stderr differs\n got: %s\nbare: %s", got, stderr)
			}
			if exit != 0 && stderr == "" {
				t.Error("the bare interpreter failed without a traceback: nothing was compared")
			}
		})
	}
}
