// Package patchpolicy holds the patch that a run of threegate-tools leaves to the rules of its registry, outside of the
// sandbox. A program that the run started has the rights of the tools there, and can lie about what they saw.
//
// The patch is hostile. It is read bounded, and one that is not as git diff writes it is not delivered.
package patchpolicy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/secrets"
)

const (
	// File is the name of the patch, wherever below /out it lies.
	File = "changes.patch"
	// program calls the tools.
	program = "threegate-tools"
	// RegistryFile is the name of a registry next to a plan.
	RegistryFile = "registry.yaml"
)

// Rules about the patch itself; the others are those of the registry.
const (
	RuleForm     = "tools.patch.form"
	RuleRegistry = "tools.registry"
	RuleOutputs  = "tools.outputs"
	RuleCommand  = "tools.command"
)

const (
	// maxPatch bounds a patch, as it is read into memory.
	maxPatch = 8 << 20
	// maxListed bounds the places that are told of one rule, maxName what is told of a path.
	maxListed = 20
	maxName   = 200
)

// Run is what the patch comes from.
type Run struct {
	Argv []string
	// Trees and Work are as in executors.Task.
	Trees, Work []string
	// Given is the registry that the node gave to the run as /in/registry.yaml, or nil: then it was an input.
	Given []byte
	// Open opens an input by its path below /in, Hashes are their digests by path.
	Open   func(name string) (io.ReadCloser, error)
	Hashes map[string]string
}

// Read reads a patch. Of one that is too large to be judged it is the beginning.
func Read(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, maxPatch+1)) }

// Judge says which rules a patch breaks. It does so only for the patch of a run of tools. The notes are sentences of
// constant words about rules that do not block. An error is one of reading, and no verdict.
func (r *Run) Judge(patch []byte, p *validate.Policy) (found []schemas.Finding, notes []string, err error) {
	if r.command() < 0 && r.Given == nil {
		return nil, nil, nil
	}
	refuse := func(rule, format string, a ...any) ([]schemas.Finding, []string, error) {
		return []schemas.Finding{Refusal(rule, format, a...)}, nil, nil
	}
	if len(patch) > maxPatch {
		return refuse(RuleForm, "it has more than %d bytes", maxPatch)
	}
	all, err := judge.Parse(patch)
	if err != nil {
		return refuse(RuleForm, "it is not as git diff writes it: %s", shorten(err.Error()))
	}
	rules, err := r.registry()
	if bad, ok := errors.AsType[*badRegistry](err); ok {
		return refuse(RuleRegistry, "%s", bad.why)
	} else if err != nil {
		return nil, nil, err
	}
	rules, err = r.onBranches(rules)
	if err != nil {
		return nil, nil, err
	}
	for _, rule := range registry.Rules {
		level := severity(rules.Level(rule.ID), p.Levels[rule.ID])
		if level == "" || !judge.Can(rule.ID) || p.IsReleased(rule.ID, patch) {
			continue
		}
		broken, err := judge.Judge(rule.ID, all, "", secrets.Finder{})
		if err != nil {
			return nil, nil, err
		}
		for _, b := range broken[:min(len(broken), maxListed)] {
			found = append(found, schemas.Finding{Rule: rule.ID, Severity: level, Message: sentence(b), Hint: b.Hint,
				Span: schemas.SpanOf(rule.ID, patch)})
		}
		if n := len(broken); n > 0 && level != schemas.SeverityBlocking {
			notes = append(notes, note(rule.ID, level, n))
		}
	}
	if disguised(patch, all) {
		notes = append(notes, disguise)
	}
	return found, notes, nil
}

// disguise is a note: whoever reads a patch is to see what it does.
const disguise = "The patch holds or names characters that a terminal or an editor does not show as they are: " +
	"terminal escapes, other controls, or controls of the direction of text."

// disguised says whether a line of a patch, or a name in it, has characters that change how the rest is shown. A
// return at the end of a line is one of Windows.
func disguised(patch []byte, all []judge.Change) bool {
	hides := func(r rune) bool {
		return unicode.IsControl(r) && r != '\t' && r != '\f' || unicode.Is(unicode.Bidi_Control, r)
	}
	for line := range bytes.Lines(patch) {
		if bytes.ContainsFunc(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), hides) {
			return true
		}
	}
	return slices.ContainsFunc(all, func(c judge.Change) bool { return strings.ContainsFunc(c.Path+c.Old, hides) })
}

// Refusal is a finding of a rule that refuses, with the rule's hint.
func Refusal(rule, format string, a ...any) schemas.Finding {
	known, _ := schemas.RuleByID(rule)
	return schemas.Finding{Rule: rule, Severity: schemas.SeverityBlocking, Message: fmt.Sprintf(format, a...),
		Hint: known.Hint}
}

// note says that a rule is broken and does not block.
func note(rule string, level schemas.Severity, places int) string {
	return fmt.Sprintf("The patch breaks a rule of its registry that is a %s there: %s, places: %d.", level, rule,
		places)
}

func sentence(v judge.Violation) string {
	switch {
	case v.Path == "":
		return v.Message
	case v.Line == 0:
		return shorten(v.Path) + ": " + v.Message
	}
	return fmt.Sprintf("%s, line %d: %s", shorten(v.Path), v.Line, v.Message)
}

// shorten is a word of the sandbox's, as people may see it.
func shorten(s string) string { return strconv.QuoteToASCII(s[:min(len(s), maxName)]) }

// severity is the level that a registry gives a rule, raised to that of the node; empty if it does not hold.
func severity(level registry.Level, node schemas.Severity) schemas.Severity {
	order := []schemas.Severity{schemas.SeveritySuggestion, schemas.SeverityWarning, schemas.SeverityBlocking}
	is := map[registry.Level]schemas.Severity{registry.Suggestion: order[0], registry.Warning: order[1],
		registry.Blocking: order[2]}[level]
	if is != "" && slices.Index(order, node) > slices.Index(order, is) {
		return node
	}
	return is
}

// command is where the second word of `threegate-tools run` or `threegate-tools monty` stands in the command line,
// or -1.
func (r *Run) command() int {
	for i := 1; i < len(r.Argv); i++ {
		if path.Base(r.Argv[i-1]) == program && (r.Argv[i] == "run" || r.Argv[i] == "monty") {
			return i
		}
	}
	return -1
}

// registryPath is where the run had its registry: what --registry names, or registry.yaml next to the plan. It is
// empty if the command line does not say.
func (r *Run) registryPath() (file string, named bool) {
	if r.Argv[r.command()] == "monty" {
		return "/in/" + RegistryFile, false
	}
	plan, file, named := r.words()
	if !named && plan != "" {
		file = path.Join(path.Dir(plan), RegistryFile)
	}
	return file, named
}

// words are the plan and the value of --registry of `threegate-tools run`, empty if the command line does not say.
func (r *Run) words() (plan, file string, named bool) {
	for args := r.Argv[r.command()+1:]; len(args) > 0; args = args[1:] {
		name, value, has := strings.Cut(args[0], "=")
		switch {
		case !strings.HasPrefix(name, "-"):
			plan = cmp.Or(plan, args[0])
		case name == "--keep-going", has && name != "--registry":
		case len(args) < 2 && !has:
			return "", "", false
		default:
			if !has {
				value, args = args[1], args[1:]
			}
			if name == "--registry" {
				file, named = value, true
			}
		}
	}
	return plan, file, named
}
