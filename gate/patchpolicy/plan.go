package patchpolicy

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/threegate/tool-exec/executors/intree"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/validate"
)

// maxPlan bounds a plan, in bytes. threegate-tools reads no more.
const maxPlan = 64 << 20

// OfPlan holds what a plan says to the rules about names of its registry, before anything runs: the messages of its
// commits and the branches that it makes. A finding names the line. A plan or a registry that can't be read breaks none
// of these rules: threegate-tools refuses it whole. What a Monty program says nobody knows before it runs.
// An error is one of reading, and no verdict.
func (r *Run) OfPlan(p *validate.Policy) ([]schemas.Finding, error) {
	found, err := r.ofPlan(p)
	_, bad := errors.AsType[*badRegistry](err)
	if _, tree := errors.AsType[*intree.Fault](err); bad || tree { // other rules tell of these
		return nil, nil
	}
	return found, err
}

func (r *Run) ofPlan(p *validate.Policy) (found []schemas.Finding, err error) {
	at := r.command()
	if at < 0 || r.Argv[at] != "run" {
		return nil, nil
	}
	rules, err := r.registry()
	if err != nil {
		return nil, err
	}
	levels := map[string]schemas.Severity{}
	for _, rule := range []string{judge.MessageRule, judge.BranchRule} {
		if level := severity(rules.Level(rule), p.Levels[rule]); level != "" {
			levels[rule] = level
		}
	}
	plan, _, _ := r.words()
	name, ok := r.input(plan)
	if len(levels) == 0 || !ok {
		return nil, nil
	}
	raw, err := r.Input(name, maxPlan)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	calls, err := contract.ReadPlan(raw)
	if err != nil || len(raw) > maxPlan {
		return nil, nil
	}
	line, told := 0, map[string]int{}
	for text := range bytes.Lines(raw) {
		line++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		v, words := named(calls[0])
		calls = calls[1:]
		if v == nil || levels[v.Rule] == "" || told[v.Rule] == maxListed || p.IsReleased(v.Rule, words) {
			continue
		}
		told[v.Rule]++
		found = append(found, schemas.Finding{Rule: v.Rule, Severity: levels[v.Rule], Hint: v.Hint,
			Message: fmt.Sprintf("line %d of %s: %s", line, shorten("/in/"+name), v.Message),
			Span:    schemas.SpanOf(v.Rule, words)})
	}
	return found, nil
}

// named judges the name that a call gives, and returns it if it breaks a rule.
func named(call *contract.ToolRequest) (v *judge.Violation, words []byte) {
	var args struct {
		Message *string `json:"message"`
		Target  string  `json:"target"`
		Create  bool    `json:"create"`
	}
	if schemas.DecodeOpen(call.Args, &args) != nil {
		return nil, nil // no such call is carried out
	}
	switch {
	case call.Tool == "git_commit" && args.Message != nil:
		return judge.Message(*args.Message), []byte(*args.Message)
	case call.Tool == "git_checkout" && args.Create:
		return judge.Branch(args.Target), []byte(args.Target)
	}
	return nil, nil
}
