package main

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// runProgram runs one in a process of its own and gives what it said, and its exit code.
func runProgram(t *testing.T, fill func(p *program, say int)) (string, int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := &program{tell: w.Fd()}
	fill(p, int(w.Fd()))
	pid, err := p.fork(cloneArgs{exitSignal: uint64(unix.SIGCHLD)})
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(r)
	var ws syscall.WaitStatus
	if _, werr := syscall.Wait4(pid, &ws, 0, nil); err != nil || werr != nil {
		t.Fatal(err, werr)
	}
	return string(said), ws.ExitStatus()
}

// A program makes its calls in order, hands on results, and ends at the first that fails.
func TestProgram(t *testing.T) {
	cwd := int64(unix.AT_FDCWD)
	dir := t.TempDir()
	said, code := runProgram(t, func(p *program, say int) {
		file := uintptr(p.add("make a file", unix.SYS_OPENAT, uintptr(cwd), p.text(dir+"/made"), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o600))
		p.add("write", unix.SYS_WRITE, file, p.text("text"), 4)
		p.last().refs = 1
		p.last().want = 4
		p.add("do what no kernel can", 1<<20)
		p.last().optional = true
		p.add("say so", unix.SYS_WRITE, uintptr(say), p.text("one,"), 4)
		p.add("open nothing", unix.SYS_OPENAT, uintptr(cwd), p.text(dir+"/none"), unix.O_RDONLY, 0)
		p.add("go on", unix.SYS_WRITE, uintptr(say), p.text("two,"), 4)
	})
	if want := "one,!open nothing" + string(rune(unix.ENOENT)); said != want || code != exitChild {
		t.Errorf("it said %q, not %q, and ended with %d", said, want, code)
	}
	if text, err := os.ReadFile(dir + "/made"); err != nil || string(text) != "text" {
		t.Errorf("the file: %q, %v", text, err)
	}
	said, _ = runProgram(t, func(p *program, say int) {
		p.add("write much", unix.SYS_WRITE, uintptr(say), p.text("x"), 1)
		p.last().want = 2
	})
	if said != "x!write much\x00" {
		t.Errorf("a result that is not wanted: %q", said)
	}
	said, code = runProgram(t, func(p *program, _ int) {
		p.add("execute", unix.SYS_EXECVE, p.text("/bin/sh"), p.texts([]string{"sh", "-c", `test "$X" = 1 && exit 7`}), p.texts([]string{"X=1", "PATH=/usr/bin:/bin"}))
	})
	if said != "" || code != 7 {
		t.Errorf("another program: it said %q and ended with %d", said, code)
	}
}

// What the first steps can't be made of is refused before anything is started.
func TestFirstStepsRefuse(t *testing.T) {
	good := job.Birth{Hostname: "h", Env: []string{"A=1"}, Filter: make([]byte, 8), Limits: []job.Limit{{Name: "RLIMIT_NOFILE", Soft: 1, Hard: 1}}}
	if _, err := firstSteps(good, [2]int{3, 4}, 5, 6); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(b *job.Birth){
		"no limit RLIMIT_AS":            func(b *job.Birth) { b.Limits = append(b.Limits, job.Limit{Name: "RLIMIT_AS"}) },
		"a seccomp filter of 0 bytes":   func(b *job.Birth) { b.Filter = nil },
		"a seccomp filter of 9 bytes":   func(b *job.Birth) { b.Filter = make([]byte, 9) },
		"a seccomp filter of 800000 by": func(b *job.Birth) { b.Filter = make([]byte, 800000) },
	} {
		b := good
		change(&b)
		if _, err := firstSteps(b, [2]int{3, 4}, 5, 6); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}
