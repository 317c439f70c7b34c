package toolchain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/proc"
)

// Test is one test that the source declares. Package is empty where names are not by package.
type Test struct {
	Package, Name, File string
}

func (t Test) key() string { return t.Package + " " + t.Name }

// verdicts count what came of tests, by key and then by "pass", "fail" and "skip".
type verdicts map[string]map[string]int

func (v verdicts) add(key, verdict string) {
	if v[key] == nil {
		v[key] = map[string]int{}
	}
	v[key][verdict]++
}

// runner is a program that runs tests, and says of each what came of it.
type runner struct {
	// is what its command lines begin with, and with is put behind that, if it is not there.
	is, with []string
	// picks are options that leave declared tests out.
	picks    []string
	declared func(Job, context.Context, []string) ([]Test, error)
	read     func(proc.Output) (verdicts, []judge.Violation)
}

var runners = []runner{
	{is: []string{"go", "test"}, with: []string{"-json"}, picks: []string{"-run", "-skip", "-list", "-bench"},
		declared: Job.goTests, read: readGo},
	{is: []string{"cargo", "test"}, declared: inFiles(regexp.MustCompile(`\.rs$`), rustTest),
		read: inLines(regexp.MustCompile(`^test (?:.*::)?(\w+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)`))},
	{is: []string{"node", "--test"}, with: []string{"--test-reporter=tap"},
		picks:    []string{"--test-name-pattern", "--test-skip-pattern", "--test-only"},
		declared: inFiles(nodeFile, nodeTest), read: readTAP},
	{is: []string{"python", "-m", "unittest"}, with: []string{"-v"}, picks: []string{"-k"},
		declared: inFiles(regexp.MustCompile(`(?:^|/)test[^/]*\.py$`), pythonTest),
		read:     inLines(regexp.MustCompile(`^(test\w*) \(.* \.\.\. (ok|FAIL|ERROR|skipped)`))},
}

var (
	rustTest = regexp.MustCompile(
		`(?m)^\s*#\[(?:\w+::)?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*|//[^\n]*\n\s*)*(?:pub(?:\([^)]*\))? )?(?:async )?fn (\w+)`)
	// nodeFile is what node --test looks for.
	nodeFile   = regexp.MustCompile(`(?:[.\-_]test|(?:^|/)test(?:-[^/]*)?)\.[cm]?js$|(?:^|/)test/.*\.[cm]?js$`)
	nodeTest   = regexp.MustCompile(`(?m)^\s*(?:await )?(?:test|it)\(\s*(?:'([^'\\\n]+)'|"([^"\\\n]+)"|` + "`([^`\\\\$\n]+)`)")
	pythonTest = regexp.MustCompile(`(?m)^\s+(?:async )?def (test\w*)\(self\b`)
	tapLine    = regexp.MustCompile(`^\s*(not ok|ok) \d+ - (.*?)( # (?i:skip|todo)\b.*)?$`)
)

// runnerOf finds who runs a command line, and the line as it is to be run.
func runnerOf(argv []string) (runner, []string, error) {
	for _, r := range runners {
		if len(argv) < len(r.is) || !slices.Equal(argv[:len(r.is)], r.is) {
			continue
		}
		for _, w := range r.with {
			if !slices.Contains(argv, w) {
				argv = slices.Insert(slices.Clone(argv), len(r.is), w)
			}
		}
		return r, argv, nil
	}
	return runner{}, nil, fmt.Errorf("%s: nothing here counts the tests of %s: use go test, cargo test, "+
		"node --test or python -m unittest", Tests, shown(argv))
}

// picked says whether a command line leaves tests out.
func (r runner) picked(argv []string) bool {
	return slices.ContainsFunc(argv, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.Contains(r.picks, name)
	})
}

// eachRunner calls do with the command lines that run tests, and what runs each, until there is an error.
func (j Job) eachRunner(do func(runner, []string) error) error {
	steps, err := j.steps(Tests)
	for _, s := range steps {
		r, argv, err := runnerOf(s.argv)
		if err == nil {
			err = do(r, argv)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// tests runs the tests. That they end well is not enough: each that the source declares must be told as passed.
func (j Job) tests(ctx context.Context) (found []judge.Violation, err error) {
	var all []Test
	err = j.eachRunner(func(r runner, argv []string) error {
		if len(found) > 0 {
			return nil
		}
		declared, err := r.declared(j, ctx, argv) // before the code runs
		if err != nil {
			return err
		}
		all = append(all, declared...)
		out, err := j.command(ctx, argv)
		if err != nil {
			return err
		}
		told, failed := r.read(out)
		switch {
		case out.Code != 0 && len(failed) > 0:
			found = failed
		case out.Code != 0:
			found = j.broken(argv, out)
		case r.picked(argv):
			found, err = j.counted(ctx, nil, told)
		default:
			found, err = j.counted(ctx, declared, told)
		}
		return err
	})
	if err != nil || len(found) > 0 {
		return found, err
	}
	return j.gone(all), nil
}

// counted compares what was told with what is declared.
func (j Job) counted(ctx context.Context, declared []Test, told verdicts) (found []judge.Violation, err error) {
	passed, want := 0, map[string]int{}
	var skipped []Test
	for _, v := range told {
		passed += v["pass"]
	}
	for _, t := range declared {
		want[t.key()]++
		switch v := told[t.key()]; {
		case v["pass"] >= want[t.key()]:
		case v["pass"]+v["skip"] >= want[t.key()]:
			skipped = append(skipped, t)
		default:
			found = append(found, judge.Violation{Path: t.File,
				Hint:    j.missed(t.File),
				Message: fmt.Sprintf("%.500s is declared and was not run to its end", t.Name)})
		}
	}
	if passed == 0 && len(found) == 0 {
		found = append(found, judge.Violation{Message: "no test ran and passed",
			Hint: "add tests, or take the rule off the registry"})
	}
	if len(skipped) > 0 && j.Base != nil && len(found) == 0 {
		before, err := j.Base.Skipped(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range skipped {
			if !slices.Contains(before, t.Name) {
				found = append(found, judge.Violation{Path: t.File, Hint: "let it run",
					Message: fmt.Sprintf("%.500s skips, and it does not in the base", t.Name)})
			}
		}
	}
	return found, nil
}

// missed says how a declared test in a file comes to run.
func (j Job) missed(file string) string {
	var no []string
	for dir := path.Dir(file); filepath.IsLocal(dir) && dir != "."; dir = path.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(j.Dir, dir, "__init__.py")); errors.Is(err, os.ErrNotExist) {
			no = append(no, dir+"/__init__.py")
		}
	}
	switch {
	case path.Ext(file) == ".py" && len(no) > 0:
		slices.Reverse(no)
		return fmt.Sprintf("unittest looks into folders only that are packages: add %.500s", strings.Join(no, ", "))
	case path.Ext(file) == ".go":
		return "let it run to its end; no TestMain or test may end the program"
	}
	return "let it run to its end; no test may end the program"
}

// gone finds tests of the base that the change takes away. They may move.
func (j Job) gone(now []Test) (found []judge.Violation) {
	if j.Base == nil {
		return nil
	}
	left := map[string]int{}
	for _, t := range now {
		left[t.Name]++
	}
	for _, t := range j.Base.Tests {
		if left[t.Name]--; left[t.Name] < 0 {
			found = append(found, judge.Violation{Path: t.File, Hint: "keep it; a person takes a test away in the base",
				Message: fmt.Sprintf("the change takes %.500s away, or out of what is run", t.Name)})
		}
	}
	return found
}

// Tests lists what the source declares for the commands of the registry. It runs none of it.
func (j Job) Tests(ctx context.Context) (all []Test, err error) {
	err = j.eachRunner(func(r runner, argv []string) error {
		declared, err := r.declared(j, ctx, argv)
		all = append(all, declared...)
		return err
	})
	return all, err
}

// Skips runs the tests, and returns the names of those that skip.
func (j Job) Skips(ctx context.Context) (names []string, err error) {
	err = j.eachRunner(func(r runner, argv []string) error {
		out, err := j.command(ctx, argv)
		if err != nil {
			return err
		}
		told, _ := r.read(out)
		for _, key := range slices.Sorted(maps.Keys(told)) {
			if told[key]["skip"] > 0 {
				_, name, _ := strings.Cut(key, " ")
				names = append(names, name)
			}
		}
		return nil
	})
	return names, err
}

// inFiles finds tests by how a language writes them.
func inFiles(which, declares *regexp.Regexp) func(Job, context.Context, []string) ([]Test, error) {
	return func(j Job, _ context.Context, _ []string) (tests []Test, err error) {
		files, err := filesOf(j.Dir, which)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join(j.Dir, file))
			if err != nil {
				return nil, err
			}
			for _, m := range declares.FindAllSubmatch(text, -1) {
				name := slices.MaxFunc(m[1:], func(a, b []byte) int { return len(a) - len(b) }) // all others are empty
				tests = append(tests, Test{Name: string(name), File: filepath.Clean(file)})
			}
		}
		return tests, nil
	}
}

// inLines reads one verdict a line.
func inLines(line *regexp.Regexp) func(proc.Output) (verdicts, []judge.Violation) {
	words := map[string]string{"ok": "pass", "ignored": "skip", "skipped": "skip"}
	return func(out proc.Output) (verdicts, []judge.Violation) {
		told := verdicts{}
		for l := range strings.Lines(out.Stdout + "\n" + out.Stderr) {
			if m := line.FindStringSubmatch(l); m != nil {
				verdict := words[m[2]]
				if verdict == "" {
					verdict = "fail"
				}
				told.add(" "+m[1], verdict)
			}
		}
		return told, nil
	}
}

// readTAP reads what node's reporter tap writes.
func readTAP(out proc.Output) (verdicts, []judge.Violation) {
	told := verdicts{}
	for l := range strings.Lines(out.Stdout) {
		m := tapLine.FindStringSubmatch(strings.TrimRight(l, "\r\n"))
		if m == nil {
			continue
		}
		name := strings.NewReplacer(`\\`, `\`, `\#`, `#`).Replace(m[2])
		switch {
		case m[3] != "":
			told.add(" "+name, "skip")
		case m[1] == "ok":
			told.add(" "+name, "pass")
		default:
			told.add(" "+name, "fail")
		}
	}
	return told, nil
}
