package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// the base that patches change: it has tests that pass, and a folder below.
var recheckBase = map[string]string{
	"go.mod":        "module example.invalid/x\n\ngo 1.24\n",
	"x.go":          "package x\n\n// Twice doubles.\nfunc Twice(n int) int { return 2 * n }\n",
	"x_test.go":     "package x\n\nimport \"testing\"\n\nfunc TestTwice(t *testing.T) {\n\tif Twice(2) != 4 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n",
	"sub/sub.go":    "package sub\n",
	"sub/s_test.go": "package sub\n\nimport \"testing\"\n\nfunc TestSub(t *testing.T) {}\n",
}

const allRules = "fmt.must.pass build.must.pass lint.must.pass test.must.pass"

// rechecked is what came of a recheck.
type rechecked struct {
	code     int
	signal   syscall.Signal
	findings []finding
	errs     string
}

// recheck changes files of the base, makes a patch of that, and holds it to rules.
func (b *bench) recheck(rules string, level string, files map[string]string) rechecked {
	b.t.Helper()
	tree := b.t.TempDir()
	git := func(args ...string) string {
		b.t.Helper()
		cmd := exec.Command("git", append([]string{"-C", tree, "-c", "user.name=a", "-c", "user.email=a@b.invalid"}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			b.t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	write := func(files map[string]string) {
		for name, text := range files {
			name = filepath.Join(tree, name)
			os.MkdirAll(filepath.Dir(name), 0o755)
			if text == "" {
				os.Remove(name)
			} else if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	git("init", "-q", "-b", "main", "--template=")
	write(recheckBase)
	git("add", ".")
	git("commit", "-q", "-m", "base")
	bundle := filepath.Join(b.in, bundleFile)
	git("bundle", "create", "-q", bundle, "HEAD", "main")
	write(files)
	git("add", ".")
	patch := b.write("changes.patch", git("diff", "--cached"))
	text := "version: 1\nast: {language: go}\nvalidators:" + validators(rules, level)
	return b.recheckProgram(b.write("registry.yaml", text+"\n"), patch)
}

// validators are those of a registry that lists rules with one level.
func validators(rules, level string) (text string) {
	for rule := range strings.FieldsSeq(rules) {
		text += fmt.Sprintf("\n  - {rule: %s, enforcement: %s}", rule, level)
	}
	return text
}

func (b *bench) recheckProgram(registry, patch string) rechecked {
	b.t.Helper()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		b.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(self, "recheck", "--registry", registry, patch)
	cmd.Env = append(os.Environ(), asProgram+"=1", "GOCACHE="+strings.TrimSpace(string(cache)))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run()
	r := rechecked{code: cmd.ProcessState.ExitCode(), errs: errs.String()}
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		r.signal = s.Signal()
	}
	for line := range strings.Lines(out.String()) {
		var f finding
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			b.t.Fatalf("%q: %v", line, err)
		}
		r.findings = append(r.findings, f)
	}
	return r
}

// wants says what a recheck must end with, and what one of its lines must say.
func (r rechecked) wants(t *testing.T, code int, rule, path, message string) {
	t.Helper()
	if r.code != code {
		t.Errorf("code %d, want %d: %+v %s", r.code, code, r.findings, r.errs)
	}
	for _, f := range r.findings {
		if f.Rule == rule && f.Path == path && strings.Contains(f.Message, message) && f.OK == (message == "") {
			return
		}
	}
	t.Errorf("no line with %s, %q, %q: %+v", rule, path, message, r.findings)
}

func TestRecheck(t *testing.T) {
	type files = map[string]string
	for name, tt := range map[string]struct {
		rules, level        string
		files               files
		code                int
		rule, path, message string
	}{
		"good": {allRules, "blocking", files{"x.go": recheckBase["x.go"] + "\n// Thrice triples.\nfunc Thrice(n int) int { return 3 * n }\n"},
			exitOK, "test.must.pass", "", ""},
		"format": {"fmt.must.pass", "blocking", files{"x.go": "package x\nfunc  Twice(n int) int { return 2 * n }\n"},
			exitReject, "fmt.must.pass", "x.go", "is not formatted"},
		"warning": {"fmt.must.pass", "warning", files{"x.go": "package x\nfunc  Twice(n int) int { return 2 * n }\n"},
			exitWarned, "fmt.must.pass", "x.go", "is not formatted"},
		"build": {"build.must.pass", "blocking", files{"x.go": "package x\n\nfunc Twice(n int) int { return m }\n"},
			exitReject, "build.must.pass", "x.go", "undefined: m"},
		"lint": {"lint.must.pass", "blocking", files{"y.go": "package x\n\nfunc y(s int) { s = s }\n"},
			exitReject, "lint.must.pass", "y.go", "self-assignment"},
		"fails": {"test.must.pass", "blocking", files{"x.go": "package x\n\nfunc Twice(n int) int { return n }\n"},
			exitReject, "test.must.pass", "", "TestTwice fails"},
		"does not compile": {"test.must.pass", "blocking", files{"x_test.go": "package x\n\nfunc TestTwice() { x }\n"},
			exitReject, "test.must.pass", "", ""},
		"test gone": {"test.must.pass", "blocking", files{"sub/s_test.go": ""},
			exitReject, "test.must.pass", "sub/s_test.go", "takes TestSub away"},
		"test behind a constraint": {"test.must.pass", "blocking", files{"sub/s_test.go": "//go:build never\n\n" + recheckBase["sub/s_test.go"]},
			exitReject, "test.must.pass", "sub/s_test.go", "takes TestSub away"},
		"module below": {"build.must.pass", "blocking", files{"sub/go.mod": "module example.invalid/y\n"},
			exitReject, "build.must.pass", "sub", "takes this folder out"},
		"go.work": {"build.must.pass", "blocking", files{"go.work": "go 1.24\n"},
			exitReject, "build.must.pass", "go.work", "says how code is built"},
	} {
		t.Run(name, func(t *testing.T) {
			got := newBench(t).recheck(tt.rules, tt.level, tt.files)
			if tt.message == "" && tt.code != exitOK { // whatever it says
				if got.code != tt.code {
					t.Errorf("%+v", got)
				}
				return
			}
			got.wants(t, tt.code, tt.rule, tt.path, tt.message)
		})
	}
}

func TestRecheckCanNotJudge(t *testing.T) {
	b := newBench(t)
	if r := b.recheck("test.must.pass", "blocking", map[string]string{"x.go": "package x\n"}); r.code != exitReject {
		t.Errorf("%+v", r)
	}
	good := b.read(filepath.Join(b.in, "changes.patch"))
	for name, tt := range map[string]struct{ registry, patch, want string }{
		"does not apply": {"version: 1\nast: {language: go}\nvalidators: [{rule: build.must.pass, enforcement: blocking}]\n",
			strings.ReplaceAll(good, "-// Twice doubles.", "-// Twice triples."), "git apply"},
		"no commands": {"version: 1\nvalidators: [{rule: build.must.pass, enforcement: blocking}]\n", good, "names no command"},
		"no program":  {"version: 1\nvalidators: [{rule: build.must.pass, enforcement: blocking, run: [no-such-program]}]\n", good, "no program"},
		"not counted": {"version: 1\nvalidators: [{rule: test.must.pass, enforcement: blocking, run: ['true']}]\n", good, "nothing counts"},
	} {
		t.Run(name, func(t *testing.T) {
			r := b.recheckProgram(b.write("registry.yaml", tt.registry), b.write("changes.patch", tt.patch))
			if r.code != exitTrouble || !strings.Contains(r.errs, tt.want) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestRecheckIsNotForged has tests that want to be taken for passed ones.
func TestRecheckIsNotForged(t *testing.T) {
	hostile := func(imports, body string) map[string]string {
		text := "package x\n\nimport (\n\t\"testing\"\n"
		for i := range strings.FieldsSeq(imports) {
			text += fmt.Sprintf("\t%q\n", i)
		}
		return map[string]string{"h_test.go": text + ")\n\n" + body, "x.go": "package x\n\nfunc Twice(n int) int { return 5 }\n"}
	}
	t.Run("TestMain ends with 0", func(t *testing.T) {
		r := newBench(t).recheck("test.must.pass", "blocking", hostile("os", "func TestMain(m *testing.M) { os.Exit(0) }\n"))
		r.wants(t, exitReject, "test.must.pass", "x_test.go", "TestTwice is declared and was not run")
	})
	t.Run("a test ends with 0 and writes verdicts", func(t *testing.T) {
		b := newBench(t)
		r := b.recheck("test.must.pass", "blocking", hostile("fmt os syscall", fmt.Sprintf(`var _ testing.TB

func init() {
	verdict := "{\"rule\":\"test.must.pass\",\"level\":\"blocking\",\"ok\":true,\"message\":\"\",\"path\":\"\",\"line\":0}\n"
	fmt.Print(verdict)
	os.Stderr.WriteString(verdict)
	for fd := 3; fd < 64; fd++ {
		syscall.Write(fd, []byte(verdict))
	}
	for _, name := range []string{"responses.jsonl", "recheck.jsonl"} {
		os.WriteFile(%q+"/"+name, []byte(verdict), 0o644)
	}
	syscall.Exit(0)
}
`, b.out)))
		r.wants(t, exitReject, "test.must.pass", "x_test.go", "TestTwice is declared and was not run")
		for _, f := range r.findings {
			if f.OK {
				t.Errorf("a verdict was forged: %+v", f)
			}
		}
	})
	t.Run("changes the code and puts it back", func(t *testing.T) {
		r := newBench(t).recheck("test.must.pass", "blocking", map[string]string{"h_test.go": `package x

import (
	"os"
	"testing"
	"time"
)

func TestTheCode(t *testing.T) {
	code, _ := os.ReadFile("x.go")
	os.Chmod("x.go", 0o644)
	os.WriteFile("x.go", []byte("package x\n\nfunc Twice(int) int { return 4 }\n"), 0o644)
	os.WriteFile("x.go", code, 0o644)
	os.Chmod("x.go", 0o444)
	os.Chtimes("x.go", time.Time{}, time.Unix(1, 0))
}
`})
		r.wants(t, exitReject, "test.must.pass", "x.go", "is not the patch")
	})
	t.Run("kills its parents", func(t *testing.T) {
		b := newBench(t)
		r := b.recheck("test.must.pass", "blocking", hostile("fmt os strings syscall", fmt.Sprintf(`func TestMain(m *testing.M) {
	for pid := os.Getppid(); pid > 1; {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%%d/cmdline", pid))
		if strings.Contains(string(cmdline), %q) {
			syscall.Kill(pid, syscall.SIGKILL)
			break
		}
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%%d/stat", pid))
		_, rest, _ := strings.Cut(string(stat), ") ")
		fmt.Sscanf(rest[2:], "%%d", &pid)
	}
	os.Exit(0)
}
`, filepath.Join(b.in, "changes.patch"))))
		if r.signal != syscall.SIGKILL || len(r.findings) != 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("leaves a process", func(t *testing.T) {
		b := newBench(t)
		left := filepath.Join(b.out, "pid")
		r := b.recheck("test.must.pass", "blocking", hostile("fmt os os/exec syscall", fmt.Sprintf(`func TestMain(m *testing.M) {
	cmd := exec.Command("sleep", "100000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Start()
	os.WriteFile(%q, []byte(fmt.Sprint(cmd.Process.Pid)), 0o644)
	os.Exit(m.Run())
}
`, left)))
		r.wants(t, exitReject, "test.must.pass", "", "TestTwice fails")
		pid, err := strconv.Atoi(b.read(left))
		if err != nil {
			t.Fatal(err)
		}
		if cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && strings.Contains(string(cmdline), "100000") {
			t.Errorf("process %d is left", pid)
		}
	})
}
