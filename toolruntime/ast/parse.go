package ast

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/proc"
)

// Problem is one place that does not parse.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line" jsonschema:"0 is the whole file"`
	Message string `json:"message"`
}

//go:embed parse.py
var pythonParser string

//go:embed parse.js
var nodeParser string

// own are the parsers of languages, which find more errors than ast-grep.
var own = map[string]struct {
	program string
	argv    []string
}{
	"python": {"python3", []string{"python3", "-I", "-S", "-W", "ignore", "-c", pythonParser}},
	"javascript": {"node", []string{"node", "--no-warnings", "--experimental-vm-modules", "--input-type=commonjs",
		"--eval", nodeParser, "--"}},
	"rust": {rustfmt(), nil},
}

// rustfmt is its name in the image.
func rustfmt() string { return cmp.Or(os.Getenv("RUSTFMT"), "rustfmt") }

// parse finds what of the sources does not parse. An error means that it can't be known.
func parse(ctx context.Context, srcs []*source) (problems []Problem, err error) {
	byLang := map[string][]*source{}
	var rest []*source
	for _, s := range srcs {
		lang := s.lang
		if lang == "typescript" && s.trouble == "" {
			lang = "javascript" // the same program
		}
		switch {
		case s.trouble != "":
		case lang == "go":
			if _, _, p := goFile(s); p != nil {
				problems = append(problems, *p)
			}
		case own[lang].program != "" && proc.Installed(own[lang].program):
			byLang[lang] = append(byLang[lang], s)
			if lang == "javascript" && proc.Installed("ast-grep") {
				rest = append(rest, s)
			}
		default:
			rest = append(rest, s)
		}
	}
	more, err := look(ctx, rest)
	if err != nil {
		return nil, err
	}
	plain := map[string]int{} // of JavaScript without JSX its engine knows more, but for lines of modules
	for _, s := range byLang["javascript"] {
		if s.lang == "javascript" {
			plain[s.path] = 0
		}
	}
	for _, p := range more {
		if line, ok := plain[p.File]; !ok {
			problems = append(problems, p)
		} else if line == 0 {
			plain[p.File] = p.Line
		}
	}
	if more, err = rustProblems(ctx, byLang["rust"]); err != nil {
		return nil, err
	}
	problems = append(problems, more...)
	for _, lang := range []string{"python", "javascript"} {
		part := slices.DeleteFunc(byLang[lang], func(s *source) bool { return s.lang == "tsx" || s.trouble != "" })
		if more, err = listed(ctx, part, own[lang].argv); err != nil {
			return nil, err
		}
		for _, p := range more {
			p.Line = cmp.Or(p.Line, plain[p.File])
			problems = append(problems, p)
		}
	}
	for _, s := range srcs {
		if s.trouble != "" {
			problems = append(problems, Problem{s.path, 0, s.trouble})
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return slices.CompactFunc(problems, func(a, b Problem) bool { return a.File == b.File && a.Line == b.Line }), nil
}

// listed runs a parser that prints one line of JSON for each file.
func listed(ctx context.Context, srcs []*source, argv []string) (problems []Problem, err error) {
	do := func(part []*source) (bool, error) {
		out, err := run(ctx, part, func(names []string) []string { return append(slices.Clone(argv), names...) }, nil)
		if err != nil {
			return false, err
		}
		var some []Problem
		lines := 0
		for line := range bytes.Lines([]byte(out.Stdout)) {
			var said struct {
				Line    int    `json:"line"`
				Message string `json:"message"`
			}
			if json.Unmarshal(line, &said) != nil || lines >= len(part) {
				return false, nil
			}
			if said.Message != "" {
				some = append(some, Problem{part[lines].path, said.Line, contract.Shorten(said.Message, maxText)})
			}
			lines++
		}
		if out.Code != 0 || lines != len(part) {
			return false, nil
		}
		problems = append(problems, some...)
		return true, nil
	}
	err = batches(srcs, do, func(s *source) { s.trouble = "it is too deep or too much for its parser" })
	return problems, err
}

var rustError = regexp.MustCompile(`(?m)^error(?:\[E\d+\])?: (.*)\n\s*--> <stdin>:(\d{1,9}):\d+`)

// rustProblems asks rustfmt, which can check one text only, and reads nothing of the workspace.
func rustProblems(ctx context.Context, srcs []*source) (problems []Problem, err error) {
	for _, s := range srcs {
		text := string(s.data)
		out, err := runRustfmt(ctx, text)
		switch {
		case err != nil:
			return nil, err
		case out.Code >= 128:
			s.trouble = "it is too deep for rustfmt"
		case out.Code == 0:
		default:
			m := rustError.FindStringSubmatch(out.Stderr)
			if m == nil && !strings.Contains(out.Stderr, "error[internal]") { // which is about long lines
				return nil, contract.Errorf(contract.Shell, "rustfmt: %.300q", out.Stderr)
			}
			if m != nil {
				line, _ := strconv.Atoi(m[2])
				problems = append(problems, Problem{s.path, line, contract.Shorten(m[1], maxText)})
			}
		}
	}
	return problems, nil
}

func runRustfmt(ctx context.Context, text string) (proc.Output, error) {
	dir, err := os.MkdirTemp("", "ast-")
	if err != nil {
		return proc.Output{}, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "rustfmt.toml"), nil, 0o600); err != nil {
		return proc.Output{}, err
	}
	return proc.Run(ctx, proc.Command{Dir: dir, Env: environ(dir), Stdin: &text,
		Argv: []string{rustfmt(), "--edition", "2021", "--config-path", dir, "--color", "never"}})
}

// unparsed is the error of a file that must parse.
func unparsed(p Problem) *contract.Error {
	e := contract.Errorf(contract.ASTParse, "%q, line %d: %s", p.File, p.Line, p.Message).
		WithHint("mend the place; nothing was changed")
	e.Rule = "code.ast.parsed"
	return e
}
