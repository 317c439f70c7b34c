package ast

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

// File is one file of a change: as it was and as it is. Before is nil for a new one, After for one that is gone.
type File struct {
	Path          string
	Before, After []byte
}

// Knows says whether the language of a file is known, so that rules can be broken in it.
func Knows(path string) bool { return languageOf(path) != "" }

const (
	ruleParsed = "code.ast.parsed"
	maxLine    = 1000
)

// rule finds what breaks a rule in one file. Places with the same key are the same before and after a change.
type rule struct {
	find       func(r *registry.Registry, s *source, n Node) (key string)
	what, hint string
}

var rules = map[string]rule{
	"code.fn.docs.exported": {undocumented, "the exported function %s has no documentation",
		"write a comment above it that says what it does (in Python a docstring)"},
	"code.no.panic.in.lib": {panics, "%s in library code", "return an error; let the program decide whether to end"},
	"code.no.unwrap":       {unwraps, "%s outside of tests", "handle the other case, or pass it on with ?"},
	"code.mod.import.rules": {forbiddenImport, "the registry's ast.imports do not allow this file to import %s",
		"use what the file may import, or move the code"},
}

// Can says whether a rule can be judged here.
func Can(id string) bool { return id == ruleParsed || rules[id].find != nil }

// Looked is a change whose code was looked at.
type Looked struct {
	before, after []*source
	problems      []Problem
}

// Look reads the files of a change. Files of unknown languages are left out. For the rule code.ast.parsed it needs a
// parser of each file's language, for others ast-grep if there is a file that is not Go. An error means that the
// change can't be judged.
func Look(ctx context.Context, files []File, ids ...string) (*Looked, error) {
	l := &Looked{}
	for _, f := range files {
		if !Knows(f.Path) || f.After == nil {
			continue
		}
		l.after = append(l.after, newSource(f.Path, f.After))
		if f.Before != nil {
			l.before = append(l.before, newSource(f.Path, f.Before))
		}
	}
	var err error
	if slices.Contains(ids, ruleParsed) {
		if l.problems, err = parse(ctx, l.after); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(ids, func(id string) bool { return id != ruleParsed }) {
		_, err = look(ctx, append(slices.Clone(l.before), l.after...))
	}
	return l, err
}

// Judge holds the change to a rule that Look was told of. What was there before is no violation, except for
// code.ast.parsed.
func (l *Looked) Judge(id string, r *registry.Registry) (violations []judge.Violation) {
	if id == ruleParsed {
		for _, p := range l.problems {
			violations = append(violations, judge.Violation{Rule: id, Path: p.File, Line: p.Line, Message: p.Message,
				Hint: "mend the place"})
		}
		return violations
	}
	known := map[string]int{}
	for _, s := range l.before {
		for _, n := range s.nodes {
			if key := rules[id].find(r, s, n); key != "" {
				known[s.path+"\x00"+key]++
			}
		}
	}
	for _, s := range l.after {
		for _, n := range s.nodes {
			key := rules[id].find(r, s, n)
			if key == "" {
				continue
			}
			if full := s.path + "\x00" + key; known[full] > 0 {
				known[full]--
				continue
			}
			violations = append(violations, judge.Violation{Rule: id, Path: n.File, Line: n.Line, Hint: rules[id].hint,
				Message: fmt.Sprintf(rules[id].what, n.Name)})
		}
		if s.trouble != "" {
			violations = append(violations, judge.Violation{Rule: id, Path: s.path, Message: s.trouble,
				Hint: "without reading it nobody can say whether it keeps the rule"})
		}
	}
	return violations
}

func undocumented(_ *registry.Registry, s *source, n Node) string {
	if n.Type != typeFn || !n.Exported || n.Documented || judge.IsTest(s.path) {
		return ""
	}
	return n.Name
}

// program are files of Rust that no other crate uses.
var program = regexp.MustCompile(`(?:^|/)(?:main|build)\.rs$|(?:^|/)(?:bin|benches|examples)/`)

func panics(_ *registry.Registry, s *source, n Node) string {
	if n.Type != typePanic || judge.IsTest(s.path) || s.lang == "rust" && program.MatchString(s.path) {
		return ""
	}
	return s.line(n)
}

func unwraps(_ *registry.Registry, s *source, n Node) string {
	if n.Type != typeUnwrap || judge.IsTest(s.path) {
		return ""
	}
	return s.line(n)
}

// line is the text of the line that a node begins in, or what of a long one lies around it.
func (s *source) line(n Node) string {
	from := max(0, n.Span.Start-maxLine)
	start := from + bytes.LastIndexByte(s.data[from:n.Span.Start], '\n') + 1
	text, _, _ := bytes.Cut(s.data[start:min(n.Span.Start+maxLine, len(s.data))], []byte("\n"))
	return string(bytes.TrimSpace(text))
}

func forbiddenImport(r *registry.Registry, s *source, n Node) string {
	if n.Type != typeImport || r.AST.Allows(s.path, n.Name, resolved(s, n.Name)) {
		return ""
	}
	return n.Name
}

// resolved is a relative import of a script as a path of the workspace.
func resolved(s *source, name string) string {
	if !strings.HasPrefix(name, "./") && !strings.HasPrefix(name, "../") {
		return name
	}
	return path.Join(path.Dir(s.path), name)
}
