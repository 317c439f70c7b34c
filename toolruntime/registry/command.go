package registry

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

// ShellRule is the rule of commands.
const ShellRule = "sec.shell.allowlist"

// testRule is the rule whose commands must be programs whose tests are counted.
const testRule = "test.must.pass"

// testRunners are the beginnings of their command lines.
var testRunners = []string{"go test", "cargo test", "node --test", "python -m unittest", "python -m pytest", "pytest"}

// TestRunner is the program that a command line begins with and whose tests are counted, or empty.
func TestRunner(argv []string) string {
	line := strings.Join(argv, " ") + " "
	if rest, ok := strings.CutPrefix(line, "python3 "); ok {
		line = "python " + rest
	}
	for _, r := range testRunners {
		if strings.HasPrefix(line, r+" ") {
			return r
		}
	}
	return ""
}

// ofLanguages are the rules for which languages have commands, in the order of that list.
var ofLanguages = map[string]string{"go": "fmt build lint test", "rust": "fmt build lint test",
	"javascript": "build test", "python": "build test"}

// HasCommands says whether a language has commands of its own for a rule *.must.pass.
func HasCommands(language, rule string) bool {
	return slices.Contains(strings.Fields(ofLanguages[strings.ToLower(language)]), strings.TrimSuffix(rule, mustPass))
}

// mustPass ends the names of rules that run commands.
const mustPass = ".must.pass"

// checkCommands refuses a rule that no change can keep.
func (r *Registry) checkCommands() error {
	for _, v := range r.Validators {
		if !strings.HasSuffix(v.Rule, mustPass) {
			continue
		}
		if len(v.Run) == 0 && !HasCommands(r.AST.Language, v.Rule) {
			return fmt.Errorf("registry: validators: %s can never pass: it names no command, and ast.language %q has "+
				"none for it: add run: [...] to it, or set ast.language", v.Rule, r.AST.Language)
		}
		for _, line := range v.Run {
			argv, err := Split(line)
			if err != nil {
				return fmt.Errorf("registry: validators: %s can never pass: run: %q: %w (%s)", v.Rule, line, err,
					contract.AsError(err).Hint)
			}
			if v.Rule == testRule && TestRunner(argv) == "" {
				return fmt.Errorf("registry: validators: %s can never pass: nothing counts the tests of %q; these are "+
					"counted: %s", v.Rule, line, strings.Join(testRunners, ", "))
			}
		}
	}
	return nil
}

// Split reads a command line as a shell would, and returns its words. It refuses all that a
// shell would do more than that: operators, expansions, patterns, redirections, assignments.
func Split(cmd string) ([]string, error) {
	bad := func(what string) ([]string, error) {
		return nil, contract.Refuse(ShellRule, "the command %s", what).
			WithHint("no shell runs it: give one program and literal words; quote what is meant literally")
	}
	if strings.ContainsRune(cmd, 0) {
		return bad("holds a NUL")
	}
	parser := syntax.NewParser(syntax.Variant(syntax.LangPOSIX), syntax.KeepComments(true))
	f, err := parser.Parse(strings.NewReader(cmd), "")
	if err != nil {
		return bad(fmt.Sprintf("can't be parsed: %v", err))
	}
	if len(f.Stmts) != 1 {
		return bad("is not exactly one")
	}
	s := f.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if m := changeDir.FindStringSubmatch(cmd); m != nil {
		return nil, contract.Refuse(ShellRule, "the command changes its folder").
			WithHint(fmt.Sprintf("set cwd to %q and cmd to %q", m[1], m[2]))
	}
	if !ok || s.Background || s.Coprocess || s.Negated || len(s.Redirs) > 0 || len(s.Comments) > 0 {
		return nil, contract.Refuse(ShellRule, "the command has an operator, a redirection or a comment").
			WithHint("no shell runs it: a call runs one program with literal words. stdin has what it reads, and the " +
				"answer has what it writes; quote what is meant literally")
	}
	if len(call.Assigns) > 0 || len(call.Args) == 0 {
		return nil, contract.Refuse(ShellRule, "the command has an assignment").
			WithHint("set variables with env, as far as they may be set; cmd begins with the program")
	}
	var argv []string
	for _, w := range call.Args {
		text, ok := literal(w)
		if !ok {
			return nil, contract.Refuse(ShellRule, "the command has an expansion or an unquoted pattern").
				WithHint("no shell expands it: write the value or the names of the files (fs_list lists them), or " +
					"quote what is meant literally")
		}
		argv = append(argv, text)
	}
	if strings.Contains(argv[0], "/") || strings.HasPrefix(argv[0], "-") {
		return nil, contract.Refuse(ShellRule, "the command names its program by a path").
			WithHint("name a program of the image, such as python; a script is an argument of its interpreter")
	}
	return argv, nil
}

// changeDir is a command that begins with cd.
var changeDir = regexp.MustCompile(`^\s*cd\s+([\w./-]+)\s*(?:&&|;)\s*(.+)$`)

// escaped is a backslash and what it takes the meaning of, outside of quotes and in double quotes.
var (
	escaped       = regexp.MustCompile(`(?s)\\(.)`)
	escapedInside = regexp.MustCompile("(?s)\\\\([$`\"\\\\\n])")
)

// literal is what a word means, and whether it means no more than that.
func literal(w *syntax.Word) (string, bool) {
	var text strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			bare := escaped.ReplaceAllString(p.Value, "")
			if strings.ContainsAny(bare, "*?[{}\\") || i == 0 && strings.HasPrefix(p.Value, "~") {
				return "", false
			}
			text.WriteString(escaped.ReplaceAllString(p.Value, "$1"))
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			text.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				l, ok := inner.(*syntax.Lit)
				if !ok || p.Dollar {
					return "", false
				}
				text.WriteString(escapedInside.ReplaceAllString(l.Value, "$1"))
			}
		default:
			return "", false
		}
	}
	return text.String(), true
}
