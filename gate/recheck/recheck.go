// Package recheck holds a patch to those rules of a registry that need a toolchain or know code by its structure, and
// the commits of its run to those about names, in a second sandbox: fresh, with the inputs as they were admitted, the
// registry, the patch and the bundles of commits, and nothing else that the first run left. There threegate-tools
// judges; the end of that process decides, and what it says is no more than an explanation.
//
// It is a judgement, and no run of the request: after a crash it is made again.
package recheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/patchpolicy"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

// Rule is broken by a patch that could not be judged so.
const Rule = "tools.recheck"

// What the exit code of threegate-tools recheck says.
const (
	exitPassed = 0
	exitBroken = 1
	exitWarned = 3
)

const (
	dirIn  = "in"
	dirOut = "out" // nobody asked for what lies there
	// stdout is the name that Collect gives a stream.
	stdout = "stdout"
	// maxReport bounds what is read of the explanation, maxListed the places of a rule that are told, maxMessage one of
	// them.
	maxReport  = 1 << 20
	maxListed  = 50
	maxMessage = 500
)

// Sandboxes is what is needed of gate.Executor.
type Sandboxes interface {
	Prepare(ctx context.Context, t executors.Task) error
	Start(ctx context.Context, id string) error
	Wait(ctx context.Context, id string) (executors.Outcome, error)
	Collect(ctx context.Context, id, dst string) (executors.Collected, error)
	Cleanup(ctx context.Context, id string) error
}

// Record is how a second run ended.
type Record struct {
	Outcome executors.Outcome `json:"outcome"`
	// Stdout is the explanation, which lies in the job's folder.
	Stdout executors.Stream `json:"stdout"`
}

// Verdict is a Record in a word.
type Verdict string

// The verdicts.
const (
	Passed  Verdict = "passed"
	Warned  Verdict = "warned"
	Broken  Verdict = "broken"
	Unknown Verdict = "unknown" // nobody could judge: the patch is not delivered
)

// Bundles are what a run may leave of its commits. Their messages and branches are judged as a part of the change: the
// patch does not show them.
var Bundles = []string{"commits.bundle", "push.bundle"}

// Unjudged is why Bundles are withheld that come without a patch.
const Unjudged = "without a declared " + patchpolicy.File + " nobody judged the commits"

// Listed says whether a registry lists a rule that is judged in a second sandbox.
func Listed(raw []byte) bool { return lists(raw, needs) }

// Needed says whether it lists one for a run that left files: rules about names need commits.
func Needed(raw []byte, files []executors.File) bool {
	commits := slices.ContainsFunc(files, func(f executors.File) bool { return slices.Contains(Bundles, f.Path) })
	return lists(raw, func(rule string) bool { return needs(rule) && (commits || !ofNames(rule)) })
}

func lists(raw []byte, is func(rule string) bool) bool {
	r, err := registry.Parse(raw)
	return err == nil && slices.ContainsFunc(r.Validators, func(v registry.Validator) bool { return is(v.Rule) })
}

// needs says whether a rule is judged in a second sandbox: with a toolchain, with the base, whose code a patch does
// not show whole, or with the commits.
func needs(rule string) bool {
	return strings.HasSuffix(rule, ".must.pass") || strings.HasPrefix(rule, "code.") && !judge.Can(rule) ||
		ofNames(rule)
}

func ofNames(rule string) bool { return rule == judge.MessageRule || rule == judge.BranchRule }

// ID is that of the sandbox in which the patch of a job is judged.
func ID(job string) string { return "r" + strings.TrimPrefix(job, "j") }

// Do judges the patch in the file patch, and the bundles next to it, with a registry, for the run of first, whose
// folder of inputs is set. It writes below dir, which it makes anew; the caller makes that durable. The sandbox is
// removed, unless there is an error: then the next try removes it. An error is a fault of the node's own, and no
// verdict. It never means that the first run did not begin.
func Do(ctx context.Context, s Sandboxes, first executors.Task, raw []byte, patch, dir string) (*Record, error) {
	t := executors.Task{ID: ID(first.ID), Backend: schemas.BackendERA, Language: first.Language,
		InputsDir: first.InputsDir, GivenDir: filepath.Join(dir, dirIn), Trees: first.Trees,
		Network: schemas.NetworkNone, Limits: first.Limits, Argv: []string{"threegate-tools", "recheck", "--registry",
			"/in/" + patchpolicy.RegistryFile, "/in/" + patchpolicy.File}}
	rec, err := do(ctx, s, t, raw, patch, dir)
	if errors.Is(err, executors.ErrNotStarted) {
		err = errors.New(err.Error())
	}
	if err != nil {
		return nil, fmt.Errorf("judge the patch in a second sandbox: %w", err)
	}
	return rec, nil
}

func do(ctx context.Context, s Sandboxes, t executors.Task, raw []byte, patch, dir string) (*Record, error) {
	err := errors.Join(os.RemoveAll(dir), os.MkdirAll(t.GivenDir, 0o700))
	if err == nil {
		err = os.WriteFile(filepath.Join(t.GivenDir, patchpolicy.RegistryFile), raw, 0o600)
	}
	if err == nil {
		err = copyFile(filepath.Join(t.GivenDir, patchpolicy.File), patch)
	}
	for _, name := range Bundles {
		left := filepath.Join(filepath.Dir(patch), name)
		if _, none := os.Lstat(left); err == nil && !errors.Is(none, os.ErrNotExist) {
			err = copyFile(filepath.Join(t.GivenDir, name), left)
		}
	}
	if err == nil {
		err = s.Prepare(ctx, t)
	}
	if err == nil {
		err = s.Start(ctx, t.ID)
	}
	if err != nil {
		return nil, err
	}
	r := &Record{}
	if r.Outcome, err = s.Wait(ctx, t.ID); err != nil {
		return nil, err
	}
	c, err := s.Collect(ctx, t.ID, dir)
	if err != nil {
		return nil, err
	}
	r.Stdout = c.Stdout
	return r, errors.Join(os.RemoveAll(filepath.Join(dir, dirOut)), s.Cleanup(ctx, t.ID))
}

func copyFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// Verdict is what a second run says by its end.
func (r *Record) Verdict() Verdict {
	if !r.Outcome.Cause.ByItself() {
		return Unknown
	}
	switch r.Outcome.ExitCode {
	case exitPassed:
		return Passed
	case exitBroken:
		return Broken
	case exitWarned:
		return Warned
	}
	return Unknown
}

// Word is the verdict, or empty if there was no second run.
func (r *Record) Word() Verdict {
	if r == nil {
		return ""
	}
	return r.Verdict()
}

// String tells of a second run in constant words.
func (r *Record) String() string {
	cause := ""
	if c := r.Outcome.Cause; c != schemas.CauseNone {
		cause = fmt.Sprintf(", %s", c)
	}
	return fmt.Sprintf("threegate-tools recheck, %s, exit code %d after %.3f s%s", r.Verdict(), r.Outcome.ExitCode,
		r.Outcome.Wall.Round(time.Millisecond).Seconds(), cause)
}

// line is one of the explanation.
type line struct {
	Rule    string `json:"rule"`
	Level   string `json:"level"`
	OK      bool   `json:"ok"`
	Message string `json:"message"`
	Path    string `json:"path"`
	Line    int    `json:"line"`
}

// Findings is what is found of a patch: by a second run whose explanation lies below dir, or because there was none
// although the registry asks for one. What a person released of the bytes of the patch is left out. The notes are
// sentences of constant words about rules that do not block.
func (r *Record) Findings(dir string, patch []byte, released func(rule string, text []byte) bool) (
	found []schemas.Finding, notes []string, err error) {
	verdict := Unknown
	if r != nil {
		verdict = r.Verdict()
	}
	switch verdict {
	case Passed:
		return nil, nil, nil
	case Unknown:
		message := "there was no second run of it"
		if r != nil {
			message = "the second run could not judge it: " + r.String()
		}
		return []schemas.Finding{patchpolicy.Refusal(Rule, "%s", message)}, nil, nil
	}
	broken, cut, err := r.explanation(dir)
	if err != nil {
		return nil, nil, err
	}
	var rules []string
	for _, l := range broken {
		rules = append(rules, l.Rule)
		if verdict == Broken && l.Level == string(registry.Blocking) {
			found = append(found, patchpolicy.Refusal(l.Rule, "%s", l))
		}
	}
	slices.Sort(rules)
	if rules = slices.Compact(rules); verdict == Warned {
		which := ""
		if len(rules) > 0 {
			which = ": " + strings.Join(rules, ", ")
		}
		return nil, []string{"The second run says that the patch breaks a rule that does not block" + which + "."}, nil
	}
	if len(found) == 0 || cut { // it does not say which, or not all of them
		found = append(found, patchpolicy.Refusal(Rule,
			"the second run says that it breaks a rule that blocks, and not each by name"))
	}
	for i := range found {
		found[i].Span = schemas.SpanOf(found[i].Rule, patch)
	}
	return slices.DeleteFunc(found, func(f schemas.Finding) bool { return released(f.Rule, patch) }), nil, nil
}

// explanation is what the second run says of broken rules, as far as it can be read: it is hostile. With cut there is
// more.
func (r *Record) explanation(dir string) (broken []line, cut bool, err error) {
	f, err := os.Open(filepath.Join(dir, stdout))
	if err != nil {
		return nil, false, fmt.Errorf("read what the second run says: %w", err)
	}
	defer f.Close()
	report, err := io.ReadAll(io.LimitReader(f, maxReport+1))
	if err != nil {
		return nil, false, fmt.Errorf("read what the second run says: %w", err)
	}
	listed := map[string]int{}
	for text := range bytes.Lines(report) {
		var l line
		if err := schemas.DecodeStrict(text, &l); err != nil || l.OK || !needs(l.Rule) || listed[l.Rule] == maxListed {
			continue
		}
		if _, known := schemas.RuleByID(l.Rule); known {
			broken = append(broken, l)
			listed[l.Rule]++
		}
	}
	return broken, len(report) > maxReport || slices.Contains(r.Outcome.LimitsHit, schemas.CauseOutput), nil
}

// String is a sentence for people, in which nothing of the sandbox is more than text.
func (l line) String() string {
	message := strconv.QuoteToASCII(l.Message[:min(len(l.Message), maxMessage)])
	if l.Path == "" {
		return message
	}
	return fmt.Sprintf("%s, line %d: %s", strconv.QuoteToASCII(l.Path[:min(len(l.Path), maxMessage)]), l.Line, message)
}
