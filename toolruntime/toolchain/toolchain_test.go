package toolchain

import (
	"context"
	"errors"
	"maps"
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

// outputs are what runners wrote, with a name of a test for each verdict.
var outputs = map[string]struct {
	argv []string
	text string
	want map[string]string
}{
	"cargo": {[]string{"cargo", "test"}, "running 4 tests\ntest tests::adds ... ok\ntest tests::panics - should panic ... ok\n" +
		"test later ... ignored, needs a disk\ntest tests::breaks ... FAILED\n",
		map[string]string{" adds": "pass", " panics": "pass", " later": "skip", " breaks": "fail"}},
	"node": {[]string{"node", "--test"}, "TAP version 13\n# Subtest: adds\nok 1 - adds\n  ---\n  duration_ms: 1\n  ...\n" +
		"    ok 1 - in \\# a suite\nnot ok 2 - breaks\nok 3 - later # SKIP\n# tests 3\n",
		map[string]string{" adds": "pass", " in # a suite": "pass", " breaks": "fail", " later": "skip"}},
	"python": {[]string{"python", "-m", "unittest"}, "test_adds (test_x.X.test_adds) ... ok\ntest_b (test_x.X.test_b) ... ERROR\n" +
		"test_c (test_x.X) ... skipped 'later'\n\nRan 3 tests\n",
		map[string]string{" test_adds": "pass", " test_b": "fail", " test_c": "skip"}},
	"go": {[]string{"go", "test", "./..."}, `{"Action":"pass","Package":"p","Test":"TestA"}` + "\nwords\n" +
		`{"Action":"skip","Package":"p","Test":"TestB"}` + "\n" + `{"Action":"pass","Package":"p"}` + "\n",
		map[string]string{"p TestA": "pass", "p TestB": "skip"}},
}

func TestVerdicts(t *testing.T) {
	for name, tt := range outputs {
		r, _, err := runnerOf(tt.argv)
		if err != nil {
			t.Fatal(err)
		}
		told, _ := r.read(proc.Output{Stdout: tt.text})
		got := map[string]string{}
		for key, v := range told {
			for verdict := range v {
				got[key] = verdict
			}
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestDeclared(t *testing.T) {
	for _, tt := range []struct{ argv, file, text, want string }{
		{"cargo test", "src/lib.rs", "#[test]\nfn adds() {}\n#[tokio::test]\n#[should_panic]\n// why\npub async fn panics() {}\nfn none() {}\n", "adds panics"},
		{"node --test", "test/a.js", "test('adds', () => {});\nawait test(\"b c\", f);\n  it(`d`, f);\nbest('e');\n", "adds b c d"},
		{"node --test", "a.test.mjs", "test('adds', () => {});\n", "adds"},
		{"node --test", "a.js", "test('adds', () => {});\n", ""},
		{"python -m unittest", "test_x.py", "class X(TestCase):\n    def test_a(self):\n        pass\n    def other(self): pass\n", "test_a"},
	} {
		r, argv, err := runnerOf(strings.Fields(tt.argv))
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
	j := job(t, "ast: {language: go}\n", map[string]string{"go.mod": "module x\n\ngo 1.24\n", "x_test.go": goTest})
	for _, before := range [][]string{{"TestB"}, nil} {
		j.Base = &Base{Skipped: func(context.Context) ([]string, error) { return before, nil }}
		found, err := j.Check(context.Background(), Tests)
		if err != nil || len(found) != 1-len(before) {
			t.Errorf("%v: %v %v", before, found, err)
		}
	}
	names, err := j.Skips(context.Background())
	if err != nil || !slices.Equal(names, []string{"TestB"}) {
		t.Errorf("%v %v", names, err)
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
		{verdicts{}, declared, 2},
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
	found, err := j.Check(context.Background(), Build)
	if err != nil || len(found) != 1 || !strings.Contains(found[0].Message, "go nothing ended with code 2") {
		t.Errorf("%v %v", found, err)
	}
	j = job(t, "ast: {language: cobol}\n", nil)
	for _, rule := range Rules {
		if _, err := j.Check(context.Background(), rule); err == nil {
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
	bin := t.TempDir() // Debian's own is called python3
	if err := os.WriteFile(filepath.Join(bin, "python"), []byte("#!/bin/sh\nexec python3 \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
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
