package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

type validateArgs struct {
	RuleID      string         `json:"rule_id,omitempty" jsonschema:"one rule; without it, each that the registry lists"`
	Enforcement registry.Level `json:"enforcement,omitempty" jsonschema:"without it, that of the registry"`
	Glob        string         `json:"glob,omitempty" jsonschema:"only changes of these files are looked at"`
}

type validateResult struct {
	Violations []judge.Violation `json:"violations"`
	Checked    []string          `json:"checked" jsonschema:"the rules that were looked at"`
	Notes      []string          `json:"notes" jsonschema:"what the base breaks as well, and does not count"`
}

// WithError keeps the violations of a rule that blocks.
func (v validateResult) WithError() bool { return len(v.Violations) > 0 }

// judgeable are the rules that can be looked at.
func judgeable() (ids []string) {
	for _, r := range registry.Rules {
		if canJudge(r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// validate holds what the workspace has changed since it came to rules, staged or not.
func (k keeper) validate(ctx context.Context, a validateArgs) (validateResult, error) {
	v := validateResult{Violations: []judge.Violation{}, Checked: []string{}, Notes: []string{}}
	if a.RuleID != "" && !canJudge(a.RuleID) {
		return v, contract.Errorf(contract.Validation, "nothing here can look at the rule %q by itself", a.RuleID).
			WithHint("these can be looked at: " + strings.Join(judgeable(), ", "))
	}
	glob, err := workspace.CheckGlob(a.Glob)
	if err != nil {
		return v, err
	}
	branch, err := k.branch(ctx)
	if err != nil {
		return v, err
	}
	k = k.on(branch)
	file := filepath.Join(k.dir, "validate.patch")
	if _, err := k.Changes(ctx, file, "--text"); err != nil {
		return v, err
	}
	patch, err := os.ReadFile(file)
	if err != nil {
		return v, err
	}
	changes, err := parse(patch)
	if err != nil {
		return v, err
	}
	changes = slices.DeleteFunc(changes, func(c judge.Change) bool {
		fits, _ := doublestar.Match(glob, c.Path) // the glob was checked
		return !fits
	})
	j := &judged{k: k, changes: changes, base: k.base, env: indexOfChanges(k.Repo), more: []string{a.RuleID},
		tree: func(context.Context) (string, error) { return k.w.Dir, nil }}
	blocked := ""
	for _, rule := range registry.Rules {
		level := k.rules.Level(rule.ID)
		if !canJudge(rule.ID) || a.RuleID != "" && a.RuleID != rule.ID || a.RuleID == "" && level == "" {
			continue
		}
		if a.Enforcement != "" {
			level = a.Enforcement
		}
		found, err := j.judge(ctx, rule.ID, "")
		if err != nil {
			return v, err
		}
		v.Notes = append([]string{}, j.notes...)
		v.Checked, v.Violations = append(v.Checked, rule.ID), append(v.Violations, found...)
		if len(found) > 0 && level == registry.Blocking && blocked == "" {
			blocked = rule.ID
		}
	}
	if blocked == "" {
		return v, nil
	}
	e := contract.Errorf(contract.Validation, "%d places break rules, and one rule blocks", len(v.Violations))
	e.Rule = blocked
	return v, e
}
