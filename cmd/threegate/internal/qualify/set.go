// Package qualify holds what a set of requests with expected ends is, and the scorecard of a run
// of it. A set comes from whoever has the folder: it is bounded, and each file must have the digest
// that the manifest, which may be signed, gives it.
package qualify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/source"
	"github.com/threegate/tool-exec/schemas"
)

const (
	// Manifest is the name of a set's list of tasks, and Signature that of its detached signature.
	Manifest  = "qualify.json"
	Signature = Manifest + ".sig"
	// Namespace is what the signature must be made for.
	Namespace = "threegate-qualify"
)

// Bounds of a set.
const (
	maxManifest = 4 << 20
	maxTasks    = 1000
	maxRequest  = 4 << 20
)

// Set is a set of requests with what must come of each.
type Set struct {
	SuiteID      string `json:"suite_id"`
	SuiteVersion string `json:"suite_version"`
	Tasks        []Task `json:"tasks"`
}

// Task is one request.
type Task struct {
	ID string `json:"task"`
	// Request is the request's file, below the set's folder.
	Request string `json:"request"`
	Expect  Expect `json:"expect"`
	// Files are the request and its inputs, each with its SHA-256.
	Files map[string]string `json:"files"`
}

// The ends that a request can come to, as fate.Fate names them.
const (
	Delivered         = "delivered"
	Quarantined       = "quarantined"
	ResultQuarantined = "result-quarantined"
)

// Expect is what must come of a task.
type Expect struct {
	State string `json:"state"`
	// Rules are all blocking rules of what is refused, sorted.
	Rules []string `json:"rules,omitempty"`
	// ExitCode and Cause are of a run; if they are left out, any will do.
	ExitCode *int          `json:"exit_code,omitempty"`
	Cause    schemas.Cause `json:"cause,omitempty"`
}

var (
	taskID       = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,79}$`)
	suiteID      = regexp.MustCompile(`^[a-z0-9.-]+\.evals\.[a-z0-9-]+$`)
	suiteVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)
)

// Read reads the manifest of the set in dir, and returns its bytes, too: they are what is signed.
func Read(dir string) (*Set, []byte, error) {
	raw, err := source.Read(filepath.Join(dir, Manifest), false, maxManifest)
	if err != nil {
		return nil, nil, err
	}
	if len(raw) > maxManifest {
		return nil, nil, errors.New("the manifest is too long")
	}
	var s Set
	if err := schemas.DecodeStrict(raw, &s); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", Manifest, err)
	}
	return &s, raw, s.check()
}

func (s *Set) check() error {
	switch {
	case !suiteID.MatchString(s.SuiteID):
		return errors.New("suite_id must look like private.example.evals.my-set")
	case !suiteVersion.MatchString(s.SuiteVersion):
		return errors.New("suite_version must look like 1.0.0")
	case len(s.Tasks) == 0 || len(s.Tasks) > maxTasks:
		return fmt.Errorf("a set has 1 to %d tasks", maxTasks)
	}
	seen := map[string]bool{}
	for _, t := range s.Tasks {
		switch {
		case !taskID.MatchString(t.ID) || seen[t.ID]:
			return fmt.Errorf("task %q: its id is no name in small letters, or another's", t.ID)
		case !slices.Contains([]string{Delivered, Quarantined, ResultQuarantined}, t.Expect.State):
			return fmt.Errorf("task %s: there is no state %q", t.ID, t.Expect.State)
		case t.Expect.Cause != "" && !slices.Contains(schemas.Causes, t.Expect.Cause):
			return fmt.Errorf("task %s: there is no cause %q", t.ID, t.Expect.Cause)
		case t.Files[t.Request] == "":
			return fmt.Errorf("task %s: its files lack its request", t.ID)
		}
		seen[t.ID] = true
		for f := range t.Files {
			if !filepath.IsLocal(f) || path.Clean(f) != f {
				return fmt.Errorf("task %s: %q is no path below the set", t.ID, f)
			}
		}
	}
	return nil
}

// plainName is the name of a request without an id of its own: it holds placeholder in its place.
const (
	plainName   = "request.md"
	placeholder = "TR-20260209-120000Z-case"
)

// Bundle reads a task's request and inputs. What has not the digest that the manifest gives, or is
// not in it, is an error.
func (t *Task) Bundle(ctx context.Context, dir string, l bundle.Limits) (bundle.Bundle, error) {
	file := filepath.Join(dir, filepath.FromSlash(t.Request))
	b := bundle.Bundle{ID: strings.TrimSuffix(path.Base(t.Request), ".md")}
	inputs := bundle.Dir(file)
	if path.Base(t.Request) == plainName {
		b.ID = "TR-20260209-120000Z-" + t.ID
		inputs = filepath.Join(filepath.Dir(file), "inputs")
	}
	var err error
	if b.Request, err = source.Read(file, false, maxRequest); err != nil {
		return b, err
	}
	if b.Files, err = bundle.Folder(inputs, l); err != nil {
		return b, err
	}
	if err := bundle.Hash(ctx, b.Files, l); err != nil {
		return b, err
	}
	found := map[string]string{t.Request: digest(b.Request)}
	for _, f := range b.Files {
		rel, err := filepath.Rel(dir, f.Host)
		if err != nil {
			return b, err
		}
		found[filepath.ToSlash(rel)] = f.SHA256
	}
	if !maps.Equal(found, t.Files) {
		return b, fmt.Errorf("task %s: its files are not those of the manifest", t.ID)
	}
	if path.Base(t.Request) == plainName {
		b.Request = bytes.ReplaceAll(b.Request, []byte(placeholder), []byte(b.ID))
	}
	return b, nil
}

// want is what the examples of the project say must come of a request (testdata/examples).
type want struct {
	Verdict  schemas.Verdict `json:"verdict"`
	Result   schemas.Verdict `json:"result"`
	Rules    []string        `json:"rules"`
	ExitCode *int            `json:"exit_code"`
	Cause    schemas.Cause   `json:"cause"`
	Findings []struct {
		Rule string `json:"rule"`
	} `json:"findings"`
}

// Make writes the manifest of the cases, folders below dir with a request and a want.json each.
func Make(ctx context.Context, dir, id, version string, cases []string, l bundle.Limits) (*Set, error) {
	s := &Set{SuiteID: id, SuiteVersion: version}
	for _, c := range cases {
		t, err := makeTask(ctx, dir, path.Clean(filepath.ToSlash(c)), l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		s.Tasks = append(s.Tasks, *t)
	}
	return s, s.check()
}

func makeTask(ctx context.Context, dir, c string, l bundle.Limits) (*Task, error) {
	if !filepath.IsLocal(c) {
		return nil, errors.New("it is no folder below the set")
	}
	t := &Task{ID: strings.ReplaceAll(c, "/", "-")}
	names, err := filepath.Glob(filepath.Join(dir, c, "*.md"))
	for _, n := range names {
		if base := filepath.Base(n); base == plainName || source.NameKind(n) == schemas.KindRequest {
			t.Request = path.Join(c, base)
		}
	}
	if err != nil || t.Request == "" {
		return nil, errors.Join(err, errors.New("it holds no request"))
	}
	raw, err := os.ReadFile(filepath.Join(dir, c, "want.json"))
	if err != nil {
		return nil, err
	}
	var w want
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, err
	}
	t.Expect = w.expect()
	// Once without digests, to learn them.
	t.Files = map[string]string{}
	inputs := strings.TrimSuffix(t.Request, ".md") + ".inputs"
	if path.Base(t.Request) == plainName {
		inputs = path.Join(c, "inputs")
	}
	files, err := bundle.Folder(filepath.Join(dir, inputs), l)
	if err == nil {
		err = bundle.Hash(ctx, files, l)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		t.Files[path.Join(inputs, f.Rel)] = f.SHA256
	}
	if raw, err = os.ReadFile(filepath.Join(dir, t.Request)); err != nil {
		return nil, err
	}
	t.Files[t.Request] = digest(raw)
	return t, nil
}

func (w *want) expect() Expect {
	e := Expect{State: Delivered, ExitCode: w.ExitCode, Cause: w.Cause}
	switch {
	case w.Verdict == schemas.VerdictReject:
		e = Expect{State: Quarantined}
		for _, f := range w.Findings {
			e.Rules = append(e.Rules, f.Rule)
		}
	case w.Result == schemas.VerdictReject:
		e.State, e.Rules = ResultQuarantined, w.Rules
	}
	slices.Sort(e.Rules)
	e.Rules = slices.Compact(e.Rules)
	return e
}

// Encode writes the manifest.
func (s *Set) Encode() ([]byte, error) {
	raw, err := json.MarshalIndent(s, "", "  ")
	return append(raw, '\n'), err
}
