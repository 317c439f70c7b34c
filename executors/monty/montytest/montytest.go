// Package montytest helps tests to run snippets through the real interpreter,
// bare and through the node, and to compare what came of it.
package montytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/threegate/tool-exec/executors/monty"
	"github.com/threegate/tool-exec/executors/monty/driver"
)

// BinaryEnv names the environment variable that holds the interpreter's path.
const BinaryEnv = "THREEGATE_MONTY"

// Binary finds the pinned interpreter: $THREEGATE_MONTY, then bin/monty of the
// repository, then the PATH. It fails when there is none or another version.
func Binary() (string, error) {
	path, err := find()
	if err != nil {
		return "", err
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	f := strings.Fields(string(out))
	if len(f) == 0 || f[len(f)-1] != monty.Version {
		return "", fmt.Errorf("%s is %q, version %s is needed", path, strings.TrimSpace(string(out)), monty.Version)
	}
	return path, nil
}

func find() (string, error) {
	if p := os.Getenv(BinaryEnv); p != "" {
		return filepath.Abs(p)
	}
	if root, err := Root(); err == nil {
		p := filepath.Join(root, "bin", "monty")
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	if p, err := exec.LookPath("monty"); err == nil {
		return filepath.Abs(p)
	}
	return "", fmt.Errorf("the interpreter was not found: run `make tools`, or put the executable of %s %s at bin/monty, or name it in %s",
		monty.PackageName, monty.Version, BinaryEnv)
}

// Root is the repository's folder, found from the working folder upwards.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod in this folder or above it")
		}
		dir = up
	}
}

// Snippet is one small program of the suite.
type Snippet struct {
	Name string
	Code string
}

// Snippets reads every *.py of a folder, sorted by name. None is an error.
func Snippets(dir string) ([]Snippet, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.py"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no snippet in %s", dir)
	}
	sort.Strings(paths)
	var all []Snippet
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		all = append(all, Snippet{Name: strings.TrimSuffix(filepath.Base(p), ".py"), Code: string(b)})
	}
	return all, nil
}

// Outcome is what came of a program.
type Outcome struct {
	Exit           int
	Stdout, Stderr string
}

// Bare runs code as `monty FILE` with in mounted at /in and out at /out, in a
// scratch folder of its own. Stderr is normalised.
func Bare(ctx context.Context, binary, code, scratch, in, out string) (Outcome, error) {
	if err := os.WriteFile(filepath.Join(scratch, driver.ScriptName), []byte(code), 0o644); err != nil {
		return Outcome{}, err
	}
	cmd := exec.CommandContext(ctx, binary, "-m", in+"::/in::ro", "-m", out+"::/out::rw", driver.ScriptName)
	cmd.Dir = scratch
	var so, se bytes.Buffer
	cmd.Stdout, cmd.Stderr = &so, &se
	err := cmd.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		return Outcome{}, err
	}
	return Outcome{Exit: cmd.ProcessState.ExitCode(), Stdout: so.String(), Stderr: Normalise(se.String())}, nil
}

// timing is what the command writes before what it has to say.
var timing = regexp.MustCompile(`(?m)^[0-9.]+(ns|µs|μs|ms|s) ❯ `)

// Normalise takes the timing, the word "error:" and the last value out of what
// the command writes to stderr; a traceback is left.
func Normalise(stderr string) string {
	loc := timing.FindStringIndex(stderr)
	if loc != nil {
		stderr = stderr[:loc[0]] + stderr[loc[1]:]
	}
	rest, failed := strings.CutPrefix(stderr, "error:")
	if !failed {
		return ""
	}
	return strings.TrimLeft(rest, " \n")
}
