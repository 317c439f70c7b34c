package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors/monty"
	"github.com/threegate/tool-exec/toolruntime/contract"
)

// monty runs a program in the real interpreter, which make tools put there.
func (b *bench) monty(code string, flags ...string) (exit int, out, errs string) {
	b.t.Helper()
	binary, err := filepath.Abs("../../bin/monty")
	if err != nil {
		b.t.Fatal(err)
	}
	job, err := json.Marshal(monty.Job{Code: code, Monty: binary,
		Limits: monty.Limits{MaxDurationSec: 600, MaxMemoryBytes: 256 << 20}})
	if err != nil {
		b.t.Fatal(err)
	}
	var o, e bytes.Buffer
	exit = run(append([]string{"monty", "--workspace", b.dir, "--in", b.in, "--out", b.out}, flags...), bytes.NewReader(job), &o, &e)
	return exit, o.String(), e.String()
}

// entries are what the timeline tells.
func (b *bench) entries() (all []contract.Entry) {
	b.t.Helper()
	all, err := contract.ParseTimeline([]byte(b.read(filepath.Join(b.out, "timeline.jsonl"))))
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// bundle makes repository.bundle of one commit with these files.
func (b *bench) bundle(files map[string]string) {
	b.t.Helper()
	source := b.t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(source, name), []byte(text), 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "feat: first"},
		{"bundle", "create", "-q", filepath.Join(b.in, "repository.bundle"), "HEAD", "main"}} {
		cmd := exec.Command("git", append([]string{"-C", source, "-c", "user.name=a", "-c", "user.email=a@b.invalid"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// TestMonty: a program works on a repository, catches what is refused, and decides.
func TestMonty(t *testing.T) {
	b := newBench(t)
	b.bundle(map[string]string{"a.txt": "one\n", "b.txt": "two\n"})
	b.write("registry.yaml", "version: 1\nvalidators: [{rule: commit.message.conventional, enforcement: blocking}]\n")
	exit, out, errs := b.monty(`
for path in fs_list(glob='*.txt')['files']:
    text = file_read(path=path)['content']
    if 'one' in text:
        file_patch(path=path, unified_diff='--- a/' + path + '\n+++ b/' + path + '\n@@ -1 +1 @@\n-one\n+ONE\n')
try:
    file_read(path='../x')
except PermissionError as e:
    print(e)
try:
    file_read(path='none')
except OSError as e:
    print(e)
try:
    file_read(Path='a.txt')
except ValueError as e:
    print(str(e)[:45])
git_add(paths=['a.txt'])
try:
    git_commit(message='Shout')
except ValueError as e:
    print(e)
try:
    git_checkout(target='none')
except RuntimeError as e:
    print(str(e)[:6])
git_commit(message='feat: shout')
git_status()['changes']
`)
	if exit != exitOK || errs != "" {
		t.Fatalf("exit code %d, %s", exit, errs)
	}
	for _, want := range []string{"E_POLICY: the path \"../x\" leaves the workspace (sec.paths.sandbox)", "E_FILE_IO: ",
		"E_VALIDATION_FAIL: arguments of file_read: ", "(commit.message.conventional); hint: ", "E_GIT:"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if got := b.read(filepath.Join(b.out, "changes.patch")); !strings.HasSuffix(got, "@@ -1 +1 @@\n-one\n+ONE\n") {
		t.Errorf("changes.patch is %q", got)
	}
	if got := b.read(filepath.Join(b.out, monty.ValueName)); got != "[]\n" {
		t.Errorf("the value is %q", got)
	}
	if _, err := os.Stat(filepath.Join(b.out, "commits.bundle")); err != nil {
		t.Error(err)
	}
	codes := contract.CountCodes(b.entries())
	if want := map[string]int{"OK": 7, "E_POLICY": 1, "E_FILE_IO": 1, "E_VALIDATION_FAIL": 2, "E_GIT": 1}; fmt.Sprint(codes) != fmt.Sprint(want) {
		t.Errorf("codes %v, want %v", codes, want)
	}
	if n := strings.Count(b.read(filepath.Join(b.out, "responses.jsonl")), "\n"); n != 12 {
		t.Errorf("%d responses", n)
	}
}

// TestMontyCallsWithoutEnd: the budget refuses the call after the last, and the record ends a program that does not
// care. All that was called is told of, and the patch comes out.
func TestMontyCallsWithoutEnd(t *testing.T) {
	b := newBench(t)
	exit, out, errs := b.monty(`
file_write(path='a.txt', content='x\n')
refused = 0
for i in range(100000):
    try:
        file_read(path='a.txt')
    except PermissionError as e:
        refused += 1
        if refused == 1:
            print(i, e)
print('never')
`)
	if want := "999 E_POLICY: the session's budget of 1000 calls is used up\n"; out != want || exit != monty.ExitTools ||
		!strings.Contains(errs, "the timeline has room for 10000 calls") {
		t.Errorf("exit code %d, %q, %s", exit, out, errs)
	}
	if n := len(b.entries()); n != contract.MaxCalls {
		t.Errorf("%d calls in the timeline", n)
	}
	if got := b.read(filepath.Join(b.out, "changes.patch")); !strings.Contains(got, "+x\n") {
		t.Errorf("changes.patch is %q", got)
	}
}

// TestMontyHostile: what a program sends is held to what an envelope may be, and what tells of it is not the program's.
func TestMontyHostile(t *testing.T) {
	b := newBench(t)
	b.write("registry.yaml", "version: 1\nshell_allow: ['^printf ']\n")
	exit, out, errs := b.monty(`
def t(f):
    try:
        print('done', f())
    except Exception as e:
        print(type(e).__name__, str(e)[:70])
def huge():
    return file_write(path='a', content='x' * (25 * 1024 * 1024))
def wide():
    return fs_list(glob='*', max_results=10 ** 400)
def deep():
    x = 1
    for i in range(30):
        x = [x]
    return file_write(path='a', content=x)
def more():
    return file_read(path='a', **{'request_id': '1', 'session_id': 's'})
def shell():
    return shell_exec(cmd='printf x; id')
def link():
    return file_write(path='.git/config', content='')
def unknown():
    return run_anything(cmd='id')
def forge(name):
    return open('/out/' + name, 'w').write('x')
for f in [huge, wide, deep, more, shell, link, unknown]:
    t(f)
for name in ['timeline.jsonl', 'responses.jsonl', 'changes.patch', 'commits.bundle', 'push.bundle']:
    t(lambda: forge(name))
t(lambda: open('/proc/self/fd/3', 'w'))
file_write(path='a', content='end\n')
`)
	want := []string{"ValueError E_VALIDATION_FAIL: a call has ", "ValueError E_VALIDATION_FAIL: ", "ValueError E_VALIDATION_FAIL: ",
		"ValueError E_VALIDATION_FAIL: ", "PermissionError E_POLICY: ", "PermissionError E_POLICY: ",
		"NameError name 'run_anything' is not defined", "PermissionError [Errno 13]", "PermissionError [Errno 13]",
		"PermissionError [Errno 13]", "PermissionError [Errno 13]", "PermissionError [Errno 13]", "PermissionError [Errno 13]"}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if exit != exitOK || errs != "" || len(lines) != len(want) {
		t.Fatalf("exit code %d, %s\n%s", exit, errs, out)
	}
	for i, w := range want {
		if !strings.HasPrefix(lines[i], w) {
			t.Errorf("line %d is %q, want %q", i, lines[i], w)
		}
	}
	all := b.entries()
	if last := all[len(all)-1]; last.Tool != "file_write" || last.Code != contract.CodeOK {
		t.Errorf("the last call is %+v", last)
	}
}

// TestMontyFails: the patch comes out of a program that fails, too; and nothing runs without its tools.
func TestMontyFails(t *testing.T) {
	b := newBench(t)
	if exit, _, errs := b.monty("file_write(path='a', content='x\\n')\n1 / 0"); exit != monty.ExitException ||
		!strings.Contains(errs, "ZeroDivisionError") {
		t.Errorf("exit code %d, %s", exit, errs)
	}
	if got := b.read(filepath.Join(b.out, "changes.patch")); !strings.Contains(got, "+x\n") {
		t.Errorf("changes.patch is %q", got)
	}
	if exit, out, errs := b.monty("print(1)"); exit != monty.ExitTools || out != "" || !strings.Contains(errs, "responses.jsonl") {
		t.Errorf("exit code %d, %q, %s", exit, out, errs)
	}
	b = newBench(t)
	b.write("repository.bundle", "no bundle")
	if exit, out, errs := b.monty("print(1)"); exit != monty.ExitTools || out != "" || !strings.Contains(errs, "error: ") {
		t.Errorf("exit code %d, %q, %s", exit, out, errs)
	}
	var o, e bytes.Buffer
	if exit := run([]string{"monty"}, strings.NewReader("{}"), &o, &e); exit != monty.ExitJob || !strings.Contains(e.String(), "stdin") {
		t.Errorf("exit code %d, %s", exit, e.String())
	}
}
