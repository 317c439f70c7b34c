package toolchain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/judge"
)

// Test is one test that the source declares. Package is empty where names are not by package.
type Test struct {
	Package, Name, File string
}

func (t Test) key() string { return t.Package + " " + t.Name }

// verdicts count what came of tests, by key and then by "pass", "fail" and "skip".
type verdicts map[string]map[string]int

func (v verdicts) add(key, verdict string) { v.count(key, verdict, 1) }

func (v verdicts) count(key, verdict string, n int) {
	if v[key] == nil {
		v[key] = map[string]int{}
	}
	v[key][verdict] += n
}

// nameOf is the name in a key.
func nameOf(key string) string {
	_, name, _ := strings.Cut(key, " ")
	return name
}

// eachRunner calls do with the command lines that run tests, and what runs each, until there is an error.
func (j Job) eachRunner(do func(runner, []string) error) error {
	steps, err := j.steps(Tests)
	for _, s := range steps {
		r, err := runnerOf(s.argv)
		if err == nil {
			err = do(r, s.argv)
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
		told, failed, out, err := r.run(ctx, j, argv)
		if err != nil {
			return err
		}
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

// counted compares what was told with what is declared. What a run of the base does not tell of either, such as a test
// of a mixin, or skips, is no violation.
func (j Job) counted(ctx context.Context, declared []Test, told verdicts) (found []judge.Violation, err error) {
	passed, want, last := 0, map[string]int{}, map[string]Test{}
	for _, v := range told {
		passed += v["pass"]
	}
	for _, t := range declared {
		want[t.key()]++
		last[t.key()] = t
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		v, t := told[key], last[key]
		missing := max(0, want[key]-v["pass"]-v["skip"])
		skips := max(0, want[key]-v["pass"]-missing)
		if missing+skips == 0 {
			continue
		}
		if j.Base != nil {
			before, err := j.Base.tests(ctx)
			if err != nil {
				return nil, err
			}
			if before.excuses(t.Name, missing, skips) {
				continue
			}
		}
		switch {
		case missing > 0:
			found = append(found, judge.Violation{Path: t.File, Hint: j.missed(t.File),
				Message: fmt.Sprintf("%.500s is declared and was not run to its end", t.Name)})
		case j.Base != nil:
			found = append(found, judge.Violation{Path: t.File, Hint: "let it run",
				Message: fmt.Sprintf("%.500s skips, and it does not in the base", t.Name)})
		}
	}
	if passed == 0 && len(found) == 0 {
		found = append(found, judge.Violation{Message: "no test ran and passed",
			Hint: "add tests, or take the rule off the registry"})
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
