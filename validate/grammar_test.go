package validate_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/exp/ebnf"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
)

// grammar is that of docs/core.md as a regular expression. What these names stand for is captured.
func grammar(t *testing.T, captured ...string) *regexp.Regexp {
	t.Helper()
	manual, err := os.ReadFile("../docs/core.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(manual), "```ebnf\n")
	text, _, _ = strings.Cut(text, "```\n\n")
	g, err := ebnf.Parse("core.md", strings.NewReader(text))
	if err == nil {
		err = ebnf.Verify(g, "result")
	}
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`\A` + pattern(g, g["result"].Expr, captured) + `\z`)
}

// pattern is the regular expression of a part of a grammar without recursion.
func pattern(g ebnf.Grammar, x ebnf.Expression, captured []string) string {
	each := func(xs []ebnf.Expression, between string) string {
		var parts []string
		for _, x := range xs {
			parts = append(parts, pattern(g, x, captured))
		}
		return "(?:" + strings.Join(parts, between) + ")"
	}
	switch x := x.(type) {
	case ebnf.Alternative:
		return each(x, "|")
	case ebnf.Sequence:
		return each(x, "")
	case *ebnf.Name:
		p := pattern(g, g[x.String].Expr, captured)
		if slices.Contains(captured, x.String) {
			p = "(" + p + ")"
		}
		return p
	case *ebnf.Token:
		return regexp.QuoteMeta(x.String)
	case *ebnf.Range:
		from, to := []rune(x.Begin.String), []rune(x.End.String)
		return fmt.Sprintf(`[\x{%x}-\x{%x}]`, from[0], to[0])
	case *ebnf.Group:
		return pattern(g, x.Body, captured)
	case *ebnf.Option:
		return "(?:" + pattern(g, x.Body, captured) + ")?"
	case *ebnf.Repetition:
		return "(?:" + pattern(g, x.Body, captured) + ")*"
	}
	panic(fmt.Sprintf("%T", x))
}

// grammarResults are results of every form that the renderer writes.
func grammarResults() []*schemas.Result {
	rs := []*schemas.Result{withheldResult()}
	for _, c := range schemas.Causes {
		r := sampleResult()
		r.Summary.Cause, r.Fence = c, "5f1c9e02ab34cd56"
		if !c.Completed() {
			r.ExitCode = -1
		}
		rs = append(rs, r)
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		rs = append(rs, randomResult(rnd))
	}
	return rs
}

// TestGrammar: what the node writes has the grammar that CORE's manual gives, and reads alike by it.
func TestGrammar(t *testing.T) {
	whole := grammar(t)
	front := grammar(t, "front", "cause")
	key := regexp.MustCompile(`(?m)^(request_id|exit_code): (.*)$`)
	for i, r := range grammarResults() {
		raw := string(render(t, r))
		if !whole.MatchString(raw) {
			t.Fatalf("result %d is not of the grammar:\n%s", i, raw)
		}
		m := front.FindStringSubmatch(raw)
		keys := key.FindAllStringSubmatch(m[1], -1)
		if len(keys) != 2 || keys[0][2] != strconv.Quote(r.RequestID) || keys[1][2] != strconv.Itoa(r.ExitCode) ||
			cmp.Or(m[2], "none") != string(r.Summary.Cause) {
			t.Errorf("result %d: %q, cause %q", i, keys, m[2])
		}
	}
}

// TestGrammarIsNotLoose: a result that lacks a line, or has one too many, and is of the grammar all the
// same, is none that the parser can't read: what it may still find is that parts do not agree.
func TestGrammarIsNotLoose(t *testing.T) {
	whole := grammar(t)
	agree := []string{"result.outputs.artifact", "result.stream.artifact", "result.stream.hash", "result.provenance",
		"result.stream.form", "result.artifacts.path", "result.text.visible", "result.network", "result.safety"}
	refused := 0
	for _, r := range grammarResults()[:10] {
		lines := strings.SplitAfter(string(render(t, r)), "\n")
		for i := range lines {
			if strings.HasPrefix(lines[i], "```") {
				continue // that both fences of a stream are alike is beyond the grammar
			}
			for _, changed := range []string{
				strings.Join(slices.Delete(slices.Clone(lines), i, i+1), ""),
				strings.Join(slices.Insert(slices.Clone(lines), i, lines[i]), ""),
			} {
				if !whole.MatchString(changed) {
					refused++
					continue
				}
				_, fs := validate.Result("", []byte(changed), policy())
				for _, id := range ruleIDs(fs, schemas.SeverityBlocking) {
					if !slices.Contains(agree, id) {
						t.Errorf("line %d (%q): %s, but it is of the grammar", i+1, lines[i], id)
					}
				}
			}
		}
	}
	if refused < 500 {
		t.Errorf("only %d changes were refused", refused)
	}
}
