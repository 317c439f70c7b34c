package toolchain

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/registry"
)

// step is one command line, or one for files of the tree.
type step struct {
	argv []string
	// files, if not nil, are those that the command is given, each at most times.
	files *regexp.Regexp
	each  int
}

const maxFiles = 50_000

// foreign are folders of what others wrote or programs made.
var foreign = []string{"vendor", "node_modules", "testdata", "target"}

var javascript = regexp.MustCompile(`\.[cm]?js$`)

// compileOnly is a program of Python that compiles files, and writes and runs nothing.
const compileOnly = "import sys\nfor f in sys.argv[1:]: compile(open(f, 'rb').read(), f, 'exec')"

// defaults are the commands of languages, for rules whose validator names none.
var defaults = map[string]map[string][]step{
	"go": {
		Build: {{argv: []string{"go", "build", "-o", "/dev/null", "./..."}}},
		Lint:  {{argv: []string{"go", "vet", "./..."}}},
		Fmt:   {{argv: []string{"gofmt", "-l"}, files: regexp.MustCompile(`\.go$`), each: 1000}},
		Tests: {{argv: []string{"go", "test", "-count=1", "./..."}}},
	},
	"rust": {
		Build: {{argv: []string{"cargo", "build", "--all-targets", "--message-format=short"}}},
		Lint:  {{argv: []string{"cargo", "clippy", "--all-targets", "--message-format=short", "--", "-D", "warnings"}}},
		Fmt:   {{argv: []string{"cargo", "fmt", "--all", "--check"}}},
		Tests: {{argv: []string{"cargo", "test", "--all-targets", "--no-fail-fast"}}},
	},
	"javascript": {
		Build: {{argv: []string{"node", "--check"}, files: javascript, each: 1}},
		Tests: {{argv: []string{"node", "--test"}}},
	},
	"python": { // -I: no module of the tree takes part; py_compile would leave files in the tree, and so in the patch
		Build: {{argv: []string{"python", "-I", "-c", compileOnly}, files: regexp.MustCompile(`\.py$`), each: 1000}},
		Tests: {{argv: []string{"python", "-m", "unittest", "-v"}}},
	},
}

// steps are the commands of a rule: the validator's, or those of the language. The tree has no say.
func (j Job) steps(rule string) (steps []step, err error) {
	for _, line := range j.Registry.Commands(rule) {
		argv, err := registry.Split(line)
		if err != nil {
			return nil, fmt.Errorf("registry: validators: %s: run: %q: %w", rule, line, err)
		}
		steps = append(steps, step{argv: argv})
	}
	if steps != nil {
		return steps, nil
	}
	language := strings.ToLower(j.Registry.AST.Language)
	if steps = defaults[language][rule]; steps == nil {
		return nil, fmt.Errorf("%s: the registry names no command for it, and ast.language %q has none of its own: "+
			"add run: [...] to the validator", rule, language)
	}
	return steps, nil
}

// lines are the command lines of a step.
func (s step) lines(dir string) (lines [][]string, err error) {
	if s.files == nil {
		return [][]string{s.argv}, nil
	}
	files, err := filesOf(dir, s.files)
	for chunk := range slices.Chunk(files, s.each) {
		lines = append(lines, slices.Concat(s.argv, chunk))
	}
	return lines, err
}

// filesOf lists regular files of a tree, but for what others made or what is no code of its own.
func filesOf(dir string, which *regexp.Regexp) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if path != dir && d.IsDir() && (slices.Contains(foreign, name) ||
			strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
			return fs.SkipDir
		}
		rel, _ := filepath.Rel(dir, path) // path is below dir
		if d.Type().IsRegular() && which.MatchString(rel) {
			files = append(files, "."+string(filepath.Separator)+rel) // never an option
		}
		if len(files) > maxFiles {
			return fmt.Errorf("the tree has more than %d files to look at", maxFiles)
		}
		return nil
	})
	return files, err
}
