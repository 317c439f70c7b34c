package ast

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// find returns the nodes that where names, and the files that were looked at.
func (t tools) find(ctx context.Context, where Where) (nodes []Node, srcs []*source, truncated bool, err error) {
	if where.NameLike, err = workspace.CheckGlob(cmp.Or(where.NameLike, "**")); err != nil {
		return nil, nil, false, err
	}
	if strings.HasPrefix(where.NameLike, "^") || strings.Contains(where.NameLike, ".*") {
		return nil, nil, false, contract.Errorf(contract.Validation,
			"name_like %q is a glob pattern, not a regular expression", where.NameLike).
			WithHint("write it such as load*")
	}
	lang := t.language(where.Language)
	if where.Pattern != "" && lang == "" || (where.Type == typeMatch) != (where.Pattern != "") && where.Type != "" {
		return nil, nil, false, contract.Errorf(contract.Validation,
			"a pattern goes with a language and with the type %s", typeMatch)
	}
	srcs, truncated, err = load(ctx, t.w, []string{cmp.Or(where.FileGlob, "**")}, lang, defaultFiles)
	if err != nil {
		return nil, nil, false, err
	}
	if where.Pattern != "" {
		nodes, err = matches(ctx, srcs, lang, where.Pattern)
	} else {
		_, err = look(ctx, srcs)
		for _, s := range srcs {
			nodes = append(nodes, s.nodes...)
		}
	}
	nodes = slices.DeleteFunc(nodes, func(n Node) bool {
		if n.Type == typePanic || n.Type == typeUnwrap || where.Type != "" && n.Type != where.Type {
			return true
		}
		return where.Exported != nil && n.Exported != *where.Exported ||
			where.Pattern == "" && !doublestar.MatchUnvalidated(where.NameLike, n.Name)
	})
	return nodes, srcs, truncated, err
}

// matches finds what a pattern of code names.
func matches(ctx context.Context, srcs []*source, lang, pattern string) (nodes []Node, err error) {
	err = scan(ctx, readable(srcs), patternRule(lang, pattern), func(s *source, f found) {
		text := contract.Shorten(f.Text, maxText)
		nodes = append(nodes, s.node(typeMatch, text, f.Range.Bytes, f.Range.Start.Line+1))
	})
	return nodes, err
}

func readable(srcs []*source) (ok []*source) {
	for _, s := range srcs {
		if s.trouble == "" {
			ok = append(ok, s)
		}
	}
	return ok
}

// patternRule is a rule of ast-grep for a pattern, as JSON: no text in it can be more than a text.
func patternRule(lang, pattern string) string {
	rule := map[string]any{"pattern": pattern}
	within := func(before, kind string) map[string]any {
		return map[string]any{"pattern": map[string]string{"context": before + pattern + " }", "selector": kind}}
	}
	if lang == "go" {
		switch goExpression(pattern).(type) {
		case *ast.CallExpr: // on its own, f($X) would be a conversion to ast-grep
			rule = within("func f() { ", "call_expression")
		case *ast.SelectorExpr: // on its own, a.B would be a type only
			rule = map[string]any{"any": []any{rule, within("func f() { _ = ", "selector_expression")}}
		}
	}
	raw, err := json.Marshal(map[string]any{"id": typeMatch + "." + lang, "language": lang, "rule": rule})
	if err != nil {
		panic(err) // strings only
	}
	return string(raw)
}

var metavariable = regexp.MustCompile(`\$+[A-Z_][A-Z0-9_]*|\$\$\$`)

// goExpression is a pattern as an expression, or nil.
func goExpression(pattern string) ast.Expr {
	e, err := parser.ParseExpr(metavariable.ReplaceAllString(pattern, "x"))
	if err != nil {
		return nil
	}
	return e
}

func (t tools) validate(ctx context.Context, a validateArgs) (validateResult, error) {
	out := validateResult{Violations: []Violation{}}
	blocked := ""
	for _, check := range a.Rules {
		level := cmp.Or(check.Enforcement, t.rules.Level(check.ID), registry.Blocking)
		found, err := t.check(ctx, check)
		if err != nil {
			return out, err
		}
		if len(found) > 0 && level == registry.Blocking && blocked == "" {
			blocked = check.ID
		}
		out.Violations = append(out.Violations, found...)
	}
	total := len(out.Violations)
	if out.Truncated = total > mostErrors; out.Truncated {
		out.Violations = out.Violations[:mostErrors]
	}
	if blocked == "" {
		return out, nil
	}
	e := contract.Errorf(contract.Validation, "%d nodes break rules, and one rule blocks", total)
	e.Rule = blocked
	return out, e
}

// check holds all code to one rule.
func (t tools) check(ctx context.Context, c Check) (found []Violation, err error) {
	nodes, srcs, _, err := t.find(ctx, c.Where)
	if err != nil {
		return nil, err
	}
	violate := func(n Node, message string) {
		found = append(found, Violation{c.ID, n.ID, message, n.File, n.Line})
	}
	switch {
	case c.ID == ruleParsed:
		problems, err := parse(ctx, srcs)
		for _, p := range problems {
			found = append(found, Violation{c.ID, "", p.Message, p.File, p.Line})
		}
		return found, err
	case rules[c.ID].find != nil:
		for _, s := range srcs {
			for _, n := range s.nodes {
				if rules[c.ID].find(t.rules, s, n) != "" {
					violate(n, fmt.Sprintf(rules[c.ID].what, n.Name))
				}
			}
		}
		return found, nil
	case len(c.MustHave) == 0 && c.Where == Where{}:
		return nil, contract.Errorf(contract.Validation, "there is no rule %q that looks at code", c.ID).
			WithHint("name one of code.*, or say with where and must_have what is demanded")
	}
	for _, n := range nodes {
		if len(c.MustHave) == 0 {
			violate(n, fmt.Sprintf("%s %s is forbidden", n.Type, n.Name))
		}
		for _, what := range c.MustHave {
			if what != "docstring" {
				return nil, contract.Errorf(contract.Validation, "must_have knows docstring only, not %q", what)
			}
			if !n.Documented {
				violate(n, fmt.Sprintf("%s %s has no documentation", n.Type, n.Name))
			}
		}
	}
	return found, nil
}
