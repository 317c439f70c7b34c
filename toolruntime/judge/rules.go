package judge

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// Violation is one place where a change breaks a rule. It repeats no secret.
type Violation struct {
	Rule    string `json:"rule"`
	Path    string `json:"path"`
	Line    int    `json:"line" jsonschema:"0 is the whole file"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// maxViolations bounds what one rule returns.
const maxViolations = 1000

// secretsRule is the rule that needs one.
const secretsRule = "secrets.scan"

// rules are those that can be judged by a change alone.
var rules = map[string]func(changes []Change, message string, finder contract.SecretFinder) []Violation{
	"sec.paths.sandbox":     paths,
	"code.todo.blockers":    todos,
	secretsRule:             secretsIn,
	"test.required.changed": tests,
}

// Can says whether a rule can be judged here.
func Can(rule string) bool { return rules[rule] != nil }

// Judge holds a change to a rule that can be judged. message is that of its commit, if there is one. Without a finder
// secrets.scan is an error.
func Judge(rule string, changes []Change, message string, finder contract.SecretFinder) ([]Violation, error) {
	if rule == secretsRule && finder == nil {
		return nil, errors.New(secretsRule + " can't be judged: this host has no finder of secrets")
	}
	found := rules[rule](changes, message, finder)
	for i := range found {
		found[i].Rule = rule
	}
	return found[:min(len(found), maxViolations)], nil
}

// paths wants every path below the workspace and not git's, every file a file or a link, and every link to lead to
// such a path.
func paths(changes []Change, _ string, _ contract.SecretFinder) (found []Violation) {
	for _, c := range changes {
		for _, p := range []string{c.Path, c.Old} {
			if _, err := workspace.Clean(p); err != nil && p != "" {
				found = append(found, Violation{Path: p, Hint: "keep to files below the workspace",
					Message: "the path leaves the workspace, belongs to git, or is no text"})
			}
		}
		if c.Path == "" && c.Old == "" {
			found = append(found, Violation{Message: "the patch does not say which file it changes"})
		}
		switch c.Mode {
		case "", "100644", "100755":
		case "120000":
			for _, l := range c.Added {
				if leadsOut(c.Path, l.Text) {
					found = append(found, Violation{Path: c.Path, Line: l.No,
						Hint:    "link to a path below it, or copy the file",
						Message: "the link leads out of the workspace"})
				}
			}
		default:
			found = append(found, Violation{Path: c.Path, Hint: "keep to files and links: no submodule, no setuid",
				Message: fmt.Sprintf("the mode %q is not that of a file or link", c.Mode)})
		}
	}
	return found
}

// leadsOut says whether a link's target may lie outside of the workspace. One that goes up behind a name may: the
// name can be a link, too.
func leadsOut(link, target string) bool {
	named := false
	for part := range strings.SplitSeq(target, "/") {
		if part == ".." && named {
			return true
		}
		named = named || part != ".." && part != "." && part != ""
	}
	_, err := workspace.Clean(path.Join(path.Dir(link), target))
	return err != nil || path.IsAbs(target)
}

var todo = regexp.MustCompile(`\b(?:TODO|FIXME)\b`)

func todos(changes []Change, _ string, _ contract.SecretFinder) (found []Violation) {
	for _, c := range changes {
		for _, l := range c.Added {
			if word := todo.FindString(l.Text); word != "" {
				found = append(found, Violation{Path: c.Path, Line: l.No, Message: "a " + word + " is added",
					Hint: "do it, or write it where tasks are kept"})
			}
		}
	}
	return found
}

// secretsIn looks at all that a file gains, together: a secret can have several lines.
func secretsIn(changes []Change, message string, finder contract.SecretFinder) (found []Violation) {
	scan := func(path string, lines []Line) {
		var text strings.Builder
		var ends []int
		for _, l := range lines {
			text.WriteString(l.Text + "\n")
			ends = append(ends, text.Len())
		}
		finder.FindSecrets([]byte(text.String()), func(offset, _ int, what string) {
			at, _ := slices.BinarySearch(ends, offset+1)
			v := Violation{Path: path, Line: lines[min(at, len(lines)-1)].No, Message: what,
				Hint: "take it out, and let its owner replace it"}
			if n := len(found); n == 0 || found[n-1].Path != path || found[n-1].Line != v.Line {
				found = append(found, v)
			}
		})
	}
	for _, c := range changes {
		if len(c.Added) > 0 {
			scan(c.Path, c.Added)
		}
	}
	if message != "" {
		scan("", []Line{{0, message}})
	}
	return found
}

var (
	code = regexp.MustCompile(`\.(?:c|cc|cpp|cs|cxx|go|h|hh|hpp|java|js|jsx|kt|m|mjs|php|pl|pm|py|rb|rs|scala|sh|swift|ts|tsx)$`)
	test = regexp.MustCompile(`(?:^|/)(?:tests?|specs?|__tests__|testdata)/|(?:^|/)test_[^/]*$|(?:_test|_spec|\.test|\.spec)\.\w+$|` +
		`Tests?\.(?:java|kt|cs|swift)$|(?:^|/)conftest\.py$|\.t$`)
	// inCode marks tests that stand in the code's own file, as Rust's do.
	inCode = regexp.MustCompile(`#\[(?:\w+::)?(?:test|cfg\(test\))`)
	// without is how a commit message says that no test is to change, and why.
	without = regexp.MustCompile(`(?m)^Tests-Not-Needed: \S`)
)

// IsTest says whether a file is one of tests, by its path.
func IsTest(path string) bool { return test.MatchString(path) }

func hasTest(l Line) bool { return inCode.MatchString(l.Text) }

// tests wants a test to gain lines where code does, and to change at all where code only loses some. A test that
// goes or moves is none.
func tests(changes []Change, message string, _ contract.SecretFinder) []Violation {
	first, more, tested, gains := "", false, false, false
	for _, c := range changes {
		switch changed := len(c.Added)+c.Removed > 0 || c.Binary; {
		case test.MatchString(c.Path), path.Ext(c.Path) == ".rs" && slices.ContainsFunc(c.Added, hasTest):
			tested = tested || changed
			gains = gains || len(c.Added) > 0 || c.Binary && !c.Deleted
		case code.MatchString(c.Path) && !c.Deleted && changed:
			if first == "" {
				first = c.Path
			}
			more = more || len(c.Added) > 0
		}
	}
	if first == "" || gains || tested && !more || without.MatchString(message) {
		return nil
	}
	return []Violation{{Path: first, Message: "code changes, and no test does",
		Hint: "change a test too; or end the commit message with a line Tests-Not-Needed: and why"}}
}
