package patchpolicy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
)

// calls is a plan; each call is a tool and its arguments.
func calls(all ...string) string {
	plan := ""
	for i, call := range all {
		tool, args, _ := strings.Cut(call, " ")
		plan += fmt.Sprintf(`{"type":"ToolRequest","tool":"%s","args":%s,"request_id":"%d","session_id":"s","timestamp":1770656400}`+"\n",
			tool, args, i+1)
	}
	return plan
}

// TestOfPlan: what a plan says of commits and branches is held to its registry before anything runs.
func TestOfPlan(t *testing.T) {
	const both = "version: 1\nvalidators:\n- {rule: commit.message.conventional, enforcement: blocking}\n" +
		"- {rule: branch.naming.convention, enforcement: warning}\n"
	bad := calls(`git_checkout {"target":"Mine","create":true}`, `git_checkout {"target":"Theirs"}`,
		`git_commit {"message":"wip"}`, `git_commit {"message":"feat: x"}`)
	wants := "warning line 1 of \"/in/plan.jsonl\": the branch, blocking line 3 of \"/in/plan.jsonl\": the message"
	tree := treeOf(t, map[string]string{"plan.jsonl": bad, "registry.yaml": both})
	for name, c := range map[string]struct {
		argv   string
		inputs map[string]string
		given  string
		want   string
	}{
		"bad":              {plan, map[string]string{"plan.jsonl": bad, "registry.yaml": both}, "", wants},
		"empty lines":      {plan, map[string]string{"plan.jsonl": "\n" + bad, "registry.yaml": both}, "", strings.NewReplacer("3", "4", "1", "2").Replace(wants)},
		"a profile":        {plan, map[string]string{"plan.jsonl": bad}, both, wants},
		"no registry":      {plan, map[string]string{"plan.jsonl": bad}, "", ""},
		"other rules":      {plan, map[string]string{"plan.jsonl": bad, "registry.yaml": "version: 1\n"}, "", ""},
		"a bad registry":   {plan, map[string]string{"plan.jsonl": bad, "registry.yaml": "version: 2\n"}, "", ""},
		"no plan":          {plan, map[string]string{"registry.yaml": both}, "", ""},
		"not a plan":       {plan, map[string]string{"plan.jsonl": bad + "x\n", "registry.yaml": both}, "", ""},
		"in a tree":        {"threegate-tools run /in/t/plan.jsonl", map[string]string{"t": tree}, "", strings.ReplaceAll(wants, "/in/", "/in/t/")},
		"in a broken tree": {"threegate-tools run /in/t/plan.jsonl", map[string]string{"t": tree[:700]}, both, ""},
		"another program":  {"python /in/plan.jsonl", map[string]string{"plan.jsonl": bad}, both, ""},
		"a program":        {"threegate-tools monty", map[string]string{"plan.jsonl": bad}, both, ""},
		"no such calls": {plan, map[string]string{"plan.jsonl": calls(`git_commit {}`, `git_commit {"message":5}`, `git_commit {"Message":"x"}`,
			`file_read {"path":"wip"}`), "registry.yaml": both}, "", ""},
		"a word of another spelling": {plan, map[string]string{"plan.jsonl": calls(`git_commit {"message":"\u0066eat: x"}`,
			`git_commit {"message":"feat\u003a x\ny"}`), "registry.yaml": both}, "", "blocking line 2 of \"/in/plan.jsonl\": the message"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, c.argv, c.inputs)
			if c.given != "" {
				r.Given = []byte(c.given)
			}
			p := validate.DefaultPolicy(time.Time{})
			found, err := r.OfPlan(&p)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				what, _, _ := strings.Cut(string(f.Severity)+" "+f.Message, " is not")
				got = append(got, strings.TrimSuffix(what, "'s name"))
				if f.Hint == "" || f.Span == "" || strings.Contains(f.Message, "wip") {
					t.Errorf("%+v", f)
				}
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("%q", got)
			}
		})
	}

	many := run(t, plan, map[string]string{"plan.jsonl": strings.Repeat(bad, 50), "registry.yaml": both})
	p := validate.DefaultPolicy(time.Time{})
	if found, err := many.OfPlan(&p); err != nil || len(found) != 40 {
		t.Errorf("%d, %v", len(found), err)
	}
	p.Released = []schemas.Release{{Rule: "commit.message.conventional",
		SHA256: schemas.SpanOf("commit.message.conventional", []byte("wip"))}}
	one := run(t, plan, map[string]string{"plan.jsonl": bad, "registry.yaml": both})
	if found, err := one.OfPlan(&p); err != nil || len(found) != 1 || found[0].Rule != "branch.naming.convention" {
		t.Errorf("released: %+v, %v", found, err)
	}
}
