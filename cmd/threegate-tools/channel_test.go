package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

// asProgram makes the test binary be threegate-tools.
const asProgram = "THREEGATE_TOOLS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestChannel: the timeline goes to the descriptor that process 1 gave. A program of the plan, which has the same
// user, neither inherits it nor finds it in /proc, and what it does to the copy in /out changes nothing.
func TestChannel(t *testing.T) {
	base, err := os.MkdirTemp("", "threegate-tools-") // t.TempDir's parent is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	const nobody = 64017
	for _, dir := range []string{"", "out", "tmp", "w"} {
		dir = filepath.Join(base, dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(write.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, in: base, out: filepath.Join(base, "out"), dir: filepath.Join(base, "w")}
	b.write("registry.yaml", "version: 1\nshell_allow: ['.*']\n")
	// find looks at each descriptor of each process that it may look at.
	search := fmt.Sprintf(`find /proc -maxdepth 4 -path "*/fd/*" -lname "pipe:?%d?"`, st.Ino)
	plan := b.plan(fmt.Sprintf(`shell_exec {"cmd":%q}`, search),
		fmt.Sprintf(`shell_exec {"cmd":%q,"must_succeed":true}`, "truncate -s 0 "+b.out+"/timeline.jsonl"))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := b.write("threegate-tools", b.read(self)) // where the user may execute it
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "run", "--workspace", b.dir, "--out", b.out, plan)
	cmd.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + base + "/tmp", contract.TimelineEnv + "=3"}
	cmd.Dir = base
	cmd.ExtraFiles = []*os.File{write}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	told, err := io.ReadAll(read)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	entries, perr := contract.ParseTimeline(told)
	if err != nil || perr != nil || len(entries) != 2 || entries[1].Tool != "shell_exec" || entries[1].Code != contract.CodeOK {
		t.Errorf("the timeline is %q, %v, %v", told, err, perr)
	}
	first, _, _ := strings.Cut(b.read(filepath.Join(b.out, "responses.jsonl")), "\n")
	if !strings.Contains(first, `"stdout":""`) {
		t.Errorf("a program of the plan sees the descriptor: %.400s", first)
	}
	if again := b.read(filepath.Join(b.out, "timeline.jsonl")); again == string(told) {
		t.Errorf("the copy was not changed: %q", again)
	}
}

func TestNoChannel(t *testing.T) {
	b := newBench(t)
	t.Setenv(contract.TimelineEnv, "no number")
	if code, _, errs := b.run(b.plan(`file_read {"path":"a"}`)); code != exitTrouble || !strings.Contains(errs, "descriptor") {
		t.Errorf("code %d, %q", code, errs)
	}
}
