package toolchain

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/proc"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

// Programs that make runners write data. They lie in the scratch folder of a job, outside of the tree.
var (
	//go:embed report.py
	reportPython []byte
	//go:embed report.mjs
	reportNode []byte
	//go:embed declared.py
	declaredPython string
)

// runner is a program that runs tests, and says of each what came of it.
type runner struct {
	// is what its command lines begin with.
	is []string
	// picks are options that leave declared tests out.
	picks []string
	// reports is the command line that makes it write a report. Without it the report is what it prints.
	reports  func(j Job, argv []string, report string) ([]string, error)
	declared func(Job, context.Context, []string) ([]Test, error)
	read     func(j Job, out proc.Output, report []byte) (verdicts, []judge.Violation)
}

// runners are those of registry.TestRunner.
var runners = map[string]runner{
	"go test": {picks: []string{"-run", "-skip", "-list", "-bench"}, reports: withJSON,
		declared: Job.goTests, read: readGo},
	"cargo test": {declared: inFiles(regexp.MustCompile(`\.rs$`), rustTest), read: readCargo},
	"node --test": {picks: []string{"--test-name-pattern", "--test-skip-pattern", "--test-only"},
		reports: withReporter, declared: inFiles(nodeFile, nodeTest), read: Job.readLines},
	"python -m unittest": {picks: []string{"-k"}, reports: withUnittest,
		declared: inPython("methods", unittestFile), read: Job.readLines},
	"python -m pytest": pytest,
	"pytest":           pytest,
}

var pytest = runner{picks: pytestPicks, reports: withJUnit, declared: inPython("functions", pytestFile),
	read: Job.readJUnit}

var (
	rustTest = regexp.MustCompile(
		`(?m)^\s*#\[(?:\w+::)?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*|//[^\n]*\n\s*)*(?:pub(?:\([^)]*\))? )?(?:async )?fn (\w+)`)
	cargoLine = regexp.MustCompile(`^test (?:.*::)?(\w+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)`)
	// nodeFile is what node --test looks for.
	nodeFile     = regexp.MustCompile(`(?:[.\-_]test|(?:^|/)test(?:-[^/]*)?)\.[cm]?js$|(?:^|/)test/.*\.[cm]?js$`)
	nodeTest     = regexp.MustCompile(`(?m)^\s*(?:await )?(?:test|it)\(\s*(?:'([^'\\\n]+)'|"([^"\\\n]+)"|` + "`([^`\\\\$\n]+)`)")
	unittestFile = regexp.MustCompile(`(?:^|/)test[^/]*\.py$`)
	pytestFile   = regexp.MustCompile(`(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$`)
	pytestPicks  = []string{"-k", "-m", "--deselect", "--ignore", "--ignore-glob", "--lf", "--last-failed", "--sw"}
	// comment is one of several lines, in C's form, that begins a line.
	comment = regexp.MustCompile(`(?ms)^[ \t]*/\*.*?\*/`)
)

// runnerOf finds who runs a command line.
func runnerOf(argv []string) (runner, error) {
	name := registry.TestRunner(argv)
	r, ok := runners[name]
	if !ok {
		return r, fmt.Errorf("%s: nothing counts the tests of %s", Tests, shown(argv))
	}
	r.is = strings.Fields(name)
	return r, nil
}

// picked says whether a command line leaves tests out.
func (r runner) picked(argv []string) bool {
	return slices.ContainsFunc(argv[len(r.is):], func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.Contains(r.picks, name)
	})
}

// run runs the tests, and reads what is told of them.
func (r runner) run(ctx context.Context, j Job, argv []string) (
	told verdicts, failed []judge.Violation, out proc.Output, err error) {
	file := filepath.Join(j.Scratch, "report")
	if err := errors.Join(os.MkdirAll(j.Scratch, 0o700), os.RemoveAll(file)); err != nil {
		return nil, nil, out, err
	}
	if r.reports != nil {
		if argv, err = r.reports(j, argv, file); err != nil {
			return nil, nil, out, err
		}
	}
	if out, err = j.command(ctx, argv); err != nil {
		return nil, nil, out, err
	}
	report, err := readReport(file)
	told, failed = r.read(j, out, report)
	return told, failed[:min(len(failed), maxViolations)], out, err
}

// readReport reads a report. One that is not there tells of nothing; what made it has the rights of the tests.
func readReport(file string) ([]byte, error) {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	report, err := io.ReadAll(io.LimitReader(f, maxOutput+1))
	if err == nil && len(report) > maxOutput {
		err = fmt.Errorf("the report of the tests has more than %d bytes", maxOutput)
	}
	return report, err
}

func withJSON(_ Job, argv []string, _ string) ([]string, error) {
	if slices.Contains(argv, "-json") {
		return argv, nil
	}
	return slices.Insert(slices.Clone(argv), 2, "-json"), nil
}

func withReporter(j Job, argv []string, report string) ([]string, error) {
	program := filepath.Join(j.Scratch, "report.mjs")
	argv = slices.DeleteFunc(slices.Clone(argv), func(arg string) bool {
		return strings.HasPrefix(arg, "--test-reporter")
	})
	return slices.Insert(argv, 2, "--test-reporter="+program, "--test-reporter-destination="+report,
		"--test-reporter=spec", "--test-reporter-destination=stdout"), os.WriteFile(program, reportNode, 0o600)
}

func withUnittest(j Job, argv []string, report string) ([]string, error) {
	program := filepath.Join(j.Scratch, "report.py")
	return slices.Concat([]string{argv[0], program, report}, argv[3:]), os.WriteFile(program, reportPython, 0o600)
}

func withJUnit(_ Job, argv []string, report string) ([]string, error) {
	return append(slices.Clone(argv), "--junitxml="+report, "-p", "no:cacheprovider", "-o",
		"junit_family=xunit1"), nil // which has the places of tests
}

// readLines reads the reports of ours.
func (j Job) readLines(_ proc.Output, report []byte) (told verdicts, failed []judge.Violation) {
	told = verdicts{}
	for line := range bytes.Lines(report) {
		var e struct {
			Name    string `json:"name"`
			Verdict string `json:"verdict"`
			Message string `json:"message"`
			Path    string `json:"path"`
			Line    int    `json:"line"`
		}
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		told.add(" "+e.Name, e.Verdict)
		if e.Verdict == "fail" {
			failed = append(failed, judge.Violation{Path: j.relative(e.Path), Line: e.Line,
				Message: fmt.Sprintf("%.500s fails: %s", e.Name, tail(e.Message))})
		}
	}
	return told, failed
}

// readJUnit reads what pytest writes. A test with parameters is told once for each.
func (j Job) readJUnit(_ proc.Output, report []byte) (told verdicts, failed []judge.Violation) {
	type outcome struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
	}
	var all struct {
		Cases []struct {
			Name    string    `xml:"name,attr"`
			File    string    `xml:"file,attr"`
			Line    int       `xml:"line,attr"` // from 0
			Failure []outcome `xml:"failure"`
			Error   []outcome `xml:"error"`
			Skipped []outcome `xml:"skipped"`
		} `xml:"testsuite>testcase"`
	}
	told = verdicts{}
	if xml.Unmarshal(report, &all) != nil {
		return told, nil
	}
	for _, c := range all.Cases {
		name, _, _ := strings.Cut(c.Name, "[")
		bad := append(c.Failure, c.Error...)
		switch {
		case len(bad) > 0:
			told.add(" "+name, "fail")
			failed = append(failed, judge.Violation{Path: j.relative(c.File), Line: c.Line + 1,
				Message: fmt.Sprintf("%.500s fails: %s", c.Name, tail(bad[0].Message))})
		case len(c.Skipped) > 0 && c.Skipped[0].Type != "pytest.xfail":
			told.add(" "+name, "skip")
		default:
			told.add(" "+name, "pass")
		}
	}
	return told, failed
}

// readCargo reads lines: cargo writes no data.
func readCargo(_ Job, out proc.Output, _ []byte) (verdicts, []judge.Violation) {
	words := map[string]string{"ok": "pass", "ignored": "skip", "FAILED": "fail"}
	told := verdicts{}
	for l := range strings.Lines(out.Stdout) {
		if m := cargoLine.FindStringSubmatch(l); m != nil {
			told.add(" "+m[1], words[m[2]])
		}
	}
	return told, nil
}

// inFiles finds tests by how a language writes them, but not in block comments.
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
			for _, m := range declares.FindAllSubmatch(comment.ReplaceAll(text, nil), -1) {
				name := slices.MaxFunc(m[1:], func(a, b []byte) int { return len(a) - len(b) }) // all others are empty
				tests = append(tests, Test{Name: string(name), File: filepath.Clean(file)})
			}
		}
		return tests, nil
	}
}

// inPython finds tests by Python's own parser.
func inPython(what string, which *regexp.Regexp) func(Job, context.Context, []string) ([]Test, error) {
	return func(j Job, ctx context.Context, argv []string) (tests []Test, err error) {
		files, err := filesOf(j.Dir, which)
		if err != nil {
			return nil, err
		}
		python := argv[0]
		if python == "pytest" {
			python = "python"
		}
		for chunk := range slices.Chunk(files, 1000) {
			out, err := j.command(ctx, slices.Concat([]string{python, "-I", "-c", declaredPython, what}, chunk))
			if err == nil && out.Code != 0 {
				err = fmt.Errorf("the tests of Python can't be listed: %s", tail(out.Stderr))
			}
			if err != nil {
				return nil, err
			}
			for line := range strings.Lines(out.Stdout) {
				var t struct {
					Name string `json:"name"`
					File string `json:"file"`
				}
				if err := json.Unmarshal([]byte(line), &t); err != nil {
					return nil, err
				}
				tests = append(tests, Test{Name: t.Name, File: filepath.Clean(t.File)})
			}
		}
		return tests, nil
	}
}
