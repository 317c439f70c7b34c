package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/proc"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

// job is a tree with these files, under a registry.
func job(t *testing.T, yaml string, files map[string]string) Job {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := registry.Parse([]byte("version: 1\n" + yaml))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return Job{Dir: dir, Scratch: t.TempDir(), Registry: r, GoCache: strings.TrimSpace(string(cache))}
}

// python puts a program of that name on the path: Debian's own is called python3.
func python(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "python"), []byte("#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// TestVerdictsOfCargo: it writes no data.
func TestVerdictsOfCargo(t *testing.T) {
	told, _ := readCargo(Job{}, proc.Output{Stdout: "running 4 tests\ntest tests::adds ... ok\ntest tests::panics - should panic ... ok\n" +
		"test later ... ignored, needs a disk\ntest tests::breaks ... FAILED\n"}, nil)
	if got := fmt.Sprint(told); got != "map[ adds:map[pass:1]  breaks:map[fail:1]  later:map[skip:1]  panics:map[pass:1]]" {
		t.Error(got)
	}
}

const pythonTests = `import logging
import sys
import unittest
import warnings


class Mixin:
    def test_of_a_mixin(self):
        self.assertTrue(self.yes)


class First(Mixin, unittest.TestCase):
    """def test_in_a_docstring(self): pass"""
    yes = True

    def test_with_docstring(self):
        """It adds ... FAIL"""

    def test_writes(self):
        print("test_writes (x) ... FAIL", file=sys.stderr)
        logging.error("test_logs ... ERROR")
        warnings.warn("test_warns ... skipped 'x'")

    @unittest.expectedFailure
    def test_expected(self):
        self.fail()

    @unittest.skipUnless(sys.platform == "win32", "no windows")
    def test_windows(self):
        pass

    def test_with_parts(self):
        for i in range(3):
            with self.subTest(i=i):
                pass


class Second(First):
    def test_with_docstring(self):
        pass


TEXT = """
class Third(unittest.TestCase):
    def test_in_a_text(self):
        pass
"""
`

// TestVerdictsOfPython: what a test writes, its docstring and what it expects to fail are not misread.
func TestVerdictsOfPython(t *testing.T) {
	python(t)
	for _, run := range []string{"", "python3 -m unittest", "pytest", "python -m pytest -q"} {
		yaml := "ast: {language: python}\n"
		if run != "" {
			yaml += "validators: [{rule: test.must.pass, enforcement: blocking, run: [" + run + "]}]\n"
		}
		j := job(t, yaml, map[string]string{"test_x.py": pythonTests})
		base := job(t, yaml, map[string]string{"test_x.py": pythonTests})
		j.Base = &Base{Run: func(_ context.Context, do func(Job) error) error { return do(base) }}
		if found, _, err := j.Check(t.Context(), Tests); err != nil || len(found) > 0 {
			t.Errorf("%q: %+v, %v", run, found, err)
		}
		bad := pythonTests + "\n\nclass Bad(unittest.TestCase):\n    def test_wrong(self):\n        self.assertEqual(1, 2)\n"
		if err := os.WriteFile(filepath.Join(j.Dir, "test_x.py"), []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		found, _, err := j.Check(t.Context(), Tests)
		if err != nil || len(found) != 1 || !strings.Contains(found[0].Message, "test_wrong fails: AssertionError: 1 != 2") ||
			found[0].Path != "test_x.py" || found[0].Line == 0 {
			t.Errorf("%q: %+v, %v", run, found, err)
		}
	}
}

// TestForgedPython: tests that want to be taken for passed ones.
func TestForgedPython(t *testing.T) {
	python(t)
	const head = "import glob, json, os, sys, unittest\n\nclass X(unittest.TestCase):\n    def test_a(self):\n        self.fail()\n\n"
	for name, end := range map[string]string{
		"ends with 0":     "os._exit(0)\n",
		"is no test more": "X.test_a = None\n",
		"is skipped":      "X.test_a = unittest.skip('later')(X.test_a)\n",
		"writes verdicts": "print('test_a (test_x.X.test_a) ... ok', file=sys.stderr, flush=True)\nos._exit(0)\n",
		"selects nothing": "def load_tests(*a): return unittest.TestSuite()\n",
	} {
		j := job(t, "ast: {language: python}\n", map[string]string{"test_x.py": head + end, "test_y.py": "import unittest\n\n" +
			"class Y(unittest.TestCase):\n    def test_b(self): pass\n"})
		base := job(t, "ast: {language: python}\n", map[string]string{"test_x.py": strings.Replace(head, "self.fail()", "pass", 1)})
		j.Base = &Base{Run: func(_ context.Context, do func(Job) error) error { return do(base) }}
		if found, _, err := j.Check(t.Context(), Tests); err != nil || len(found) == 0 {
			t.Errorf("%s: it passes, %v", name, err)
		}
	}
}

// TestJUnit reads what pytest 8 writes.
func TestJUnit(t *testing.T) {
	const report = `<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" errors="0" failures="1" skipped="2" tests="6">` +
		`<testcase classname="test_x" name="test_a[1-2]" time="0.1" /><testcase classname="test_x" name="test_a[3-4]" />` +
		`<testcase classname="test_x" name="test_b"><failure message="assert 1 == 2">def test_b(): ...</failure></testcase>` +
		`<testcase classname="test_x" name="test_c"><skipped type="pytest.xfail" message="" /></testcase>` +
		`<testcase classname="test_x" name="test_d"><skipped type="pytest.skip" message="no windows">x</skipped></testcase>` +
		`<testcase classname="" name="test_y"><error message="collection failure">x</error></testcase></testsuite></testsuites>`
	told, failed := Job{}.readJUnit(proc.Output{}, []byte(report))
	if got := fmt.Sprint(told); got != "map[ test_a:map[pass:2]  test_b:map[fail:1]  test_c:map[pass:1]  test_d:map[skip:1]  test_y:map[fail:1]]" ||
		len(failed) != 2 || failed[0].Message != "test_b fails: assert 1 == 2" {
		t.Error(got, failed)
	}
}

// TestVerdictsOfNode: names, what tests write and block comments are not misread.
func TestVerdictsOfNode(t *testing.T) {
	files := map[string]string{"a.test.js": `const test = require('node:test');
/*
test('in a comment', () => {});
*/
test('adds # 1', () => { console.log("not ok 1 - adds # 1"); });
test('later', { skip: true }, () => {});
test.describe('suite', () => { test.it('inner', () => {}); });
`}
	j, base := job(t, "ast: {language: javascript}\n", files), job(t, "ast: {language: javascript}\n", files)
	j.Base = &Base{Run: func(_ context.Context, do func(Job) error) error { return do(base) }}
	if found, _, err := j.Check(t.Context(), Tests); err != nil || len(found) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
	files["a.test.js"] += "test('breaks', () => { throw new Error('wrong'); });\n"
	j = job(t, "ast: {language: javascript}\n", files)
	if found, _, err := j.Check(t.Context(), Tests); err != nil || len(found) != 1 || found[0].Message != "breaks fails: wrong" {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestSinceBase: what the formatter refuses in the base as well is not the change's.
func TestSinceBase(t *testing.T) {
	const bad = "package x\nfunc  F() {}\n"
	old := map[string]string{"old.go": bad}
	for name, tt := range map[string]struct {
		base, now map[string]string
		want      []string
		note      bool
	}{
		"base passes": {map[string]string{}, map[string]string{"old.go": bad}, []string{"old.go"}, false},
		"base fails":  {old, map[string]string{"old.go": bad + "\n"}, nil, true},
		"and it adds": {old, map[string]string{"old.go": bad, "new.go": bad}, []string{"new.go"}, true},
		"it mends":    {old, map[string]string{"old.go": "package x\n"}, nil, false},
	} {
		j, base := job(t, "ast: {language: go}\n", tt.now), job(t, "ast: {language: go}\n", tt.base)
		j.Base = &Base{Run: func(_ context.Context, do func(Job) error) error { return do(base) }}
		found, note, err := j.Check(t.Context(), Fmt)
		var got []string
		for _, v := range found {
			got = append(got, v.Path)
		}
		if err != nil || !slices.Equal(got, tt.want) || (note != "") != tt.note {
			t.Errorf("%s: %v %q %v", name, got, note, err)
		}
	}
}

func TestDeclared(t *testing.T) {
	python(t)
	for _, tt := range []struct{ argv, file, text, want string }{
		{"cargo test", "src/lib.rs", "#[test]\nfn adds() {}\n#[tokio::test]\n#[should_panic]\n// why\npub async fn panics() {}\nfn none() {}\n", "adds panics"},
		{"node --test", "test/a.js", "test('adds', () => {});\nawait test(\"b c\", f);\n  it(`d`, f);\nbest('e');\n", "adds b c d"},
		{"node --test", "a.test.mjs", "test('adds', () => {});\n", "adds"},
		{"node --test", "a.js", "test('adds', () => {});\n", ""},
		{"python -m unittest", "test_x.py", "class X(TestCase):\n    def test_a(self):\n        pass\n    def other(self): pass\n", "test_a"},
		{"pytest", "x_test.py", "def test_a(): pass\n\nclass TestX:\n    def test_b(self): pass\n\nclass Y:\n    def test_c(self): pass\n", "test_a test_b"},
		{"pytest -q", "helper.py", "def test_a(): pass\n", ""},
	} {
		argv := strings.Fields(tt.argv)
		r, err := runnerOf(argv)
		if err != nil {
			t.Fatal(err)
		}
		tests, err := r.declared(job(t, "", map[string]string{tt.file: tt.text}), context.Background(), argv)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, d := range tests {
			names = append(names, d.Name)
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.argv, tt.file, got, tt.want)
		}
	}
}

const goTest = "package x\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n\nfunc TestB(t *testing.T) { t." + "Skip(\"later\") }\n"

// TestSkips: a test may skip if it does so in the base.
func TestSkips(t *testing.T) {
	files := map[string]string{"go.mod": "module x\n\ngo 1.24\n", "x_test.go": goTest}
	j := job(t, "ast: {language: go}\n", files)
	for want, before := range []string{goTest, strings.Replace(goTest, "Skip", "Log", 1)} {
		files["x_test.go"] = before
		base := job(t, "ast: {language: go}\n", files)
		j.Base = &Base{Run: func(_ context.Context, do func(Job) error) error { return do(base) }}
		found, _, err := j.Check(context.Background(), Tests)
		if err != nil || len(found) != want {
			t.Errorf("%v %v", found, err)
		}
	}
}

// TestCounted: that commands end well is not enough.
func TestCounted(t *testing.T) {
	j := job(t, "", nil)
	declared := []Test{{Name: "a", File: "x"}, {Name: "a", File: "y"}}
	for _, tt := range []struct {
		told     verdicts
		declared []Test
		want     int
	}{
		{verdicts{" a": {"pass": 2}}, declared, 0},
		{verdicts{" a": {"pass": 1}}, declared, 1}, // another one of this name did not run
		{verdicts{}, declared, 1},
		{verdicts{}, nil, 1}, // no test at all
		{verdicts{" b": {"pass": 1}}, nil, 0},
		{verdicts{" b": {"skip": 1}}, nil, 1},
	} {
		found, err := j.counted(context.Background(), tt.declared, tt.told)
		if err != nil || len(found) != tt.want {
			t.Errorf("%v: %v %v", tt.told, found, err)
		}
	}
}

func TestCommandsAreTheRegistrys(t *testing.T) {
	j := job(t, "ast: {language: go}\nvalidators:\n- {rule: build.must.pass, enforcement: blocking, run: [go version, 'go nothing']}\n", nil)
	found, _, err := j.Check(context.Background(), Build)
	if err != nil || len(found) != 1 || !strings.Contains(found[0].Message, "go nothing ended with code 2") {
		t.Errorf("%v %v", found, err)
	}
	j = job(t, "ast: {language: cobol}\n", nil)
	for _, rule := range Rules {
		if _, _, err := j.Check(context.Background(), rule); err == nil {
			t.Errorf("%s: passed without a command", rule)
		}
	}
}

func TestPlaces(t *testing.T) {
	j := Job{Dir: "/w"}
	found := j.places("# x\n./a/b.go:3:4: bad\nvet: c.go:5: worse\n/w/d.rs:6:1: error: e\n/etc/x.go:1: no\n../y.go:1: no\nnote: 3\n/w/e.js:7\n")
	var got []string
	for _, v := range found {
		got = append(got, v.Path)
	}
	if !slices.Equal(got, []string{"a/b.go", "c.go", "d.rs", "e.js"}) {
		t.Errorf("%v", found)
	}
}

func TestGuard(t *testing.T) {
	for path, want := range map[string]int{"a/rustfmt.toml": 1, ".cargo/config.toml": 1, "go.work": 1, "x.go": 0, "config.toml": 0} {
		if got := Guard(Fmt, []string{path}); len(got) != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	before := Above(tree)
	if err := os.WriteFile(filepath.Join(dir, "go.work"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if now := Above(tree); len(now) != len(before)+1 {
		t.Errorf("%v, then %v", before, now)
	}
}

// TestTheTreeDoesNotCompileItself: a module of the tree takes the place of none of Python's, and nothing is left there.
func TestTheTreeDoesNotCompileItself(t *testing.T) {
	j := job(t, "ast: {language: python}\n", map[string]string{"bad.py": "x = (1\n", "py_compile.py": "", "sys.py": "1/0\n"})
	python(t)
	if found, err := j.run(t.Context(), Build); err != nil || len(found) == 0 {
		t.Errorf("bad.py passes: %v", err)
	}
	err := os.Remove(filepath.Join(j.Dir, "bad.py"))
	found, err2 := j.run(t.Context(), Build)
	left, err3 := os.ReadDir(j.Dir)
	if err := errors.Join(err, err2, err3); err != nil || len(found) > 0 || len(left) != 2 {
		t.Errorf("%v, %v, in the tree: %v", err, found, left)
	}
}

// TestRustup: a program that rustup put in the place of cargo finds its toolchain, although it has another home.
func TestRustup(t *testing.T) {
	home, bin := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".rustup", "toolchains"), 0o755); err != nil {
		t.Fatal(err)
	}
	proxy := "#!/bin/sh\n[ -d \"${RUSTUP_HOME:-$HOME/.rustup}/toolchains\" ] && exit 0\necho 'rustup could not choose a version of cargo' >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(bin, "cargo"), []byte(proxy), 0o755); err != nil {
		t.Fatal(err)
	}
	j := job(t, "ast: {language: rust}\n", map[string]string{"Cargo.toml": "[package]\nname = \"x\"\n"})
	t.Setenv("HOME", home)
	t.Setenv("RUSTUP_HOME", "")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if found, _, err := j.Check(t.Context(), Build); err != nil || len(found) > 0 {
		t.Errorf("%v %v", found, err)
	}
}

// TestCommandsOfLanguages: the registry knows which commands there are.
func TestCommandsOfLanguages(t *testing.T) {
	for language, of := range defaults {
		for _, rule := range Rules {
			if registry.HasCommands(language, rule) != (of[rule] != nil) {
				t.Errorf("%s %s: the registry says %v", language, rule, of[rule] == nil)
			}
		}
	}
	for name := range runners {
		if registry.TestRunner(strings.Fields(name)) != name {
			t.Errorf("the registry does not know %s", name)
		}
	}
}
