package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/config"
)

// What somebody else than root may not read is not reported as missing.
func TestDoctorWithoutRights(t *testing.T) {
	denied := &fs.PathError{Op: "stat", Path: "/x", Err: fs.ErrPermission}
	for _, tt := range []struct {
		root  bool
		err   error
		state string
	}{
		{true, nil, checkOK}, {false, nil, checkOK},
		{true, denied, checkFail}, {false, denied, checkUnseen},
		{true, fs.ErrNotExist, checkFail}, {false, fs.ErrNotExist, checkFail},
	} {
		cs := &checks{root: tt.root, dir: "/node"}
		cs.add("thing", tt.err, "fine", "mkdir /x")
		c := cs.list[0]
		if c.State != tt.state || (c.State == checkUnseen) != strings.Contains(c.Hint,
			"sudo threegate doctor --node /node") {
			t.Errorf("root %v, %v: %+v", tt.root, tt.err, c)
		}
	}
}

func TestTamperers(t *testing.T) {
	for mode, want := range map[os.FileMode]string{
		0o755: "", 0o770: "all of its group", 0o777: "anybody", 0o773: "anybody", 0o750: "",
		0o777 | os.ModeSticky: "", 0o770 | os.ModeSticky: "",
	} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if got := tamperers(dir); got != want {
			t.Errorf("%v: %q, want %q", mode, got, want)
		}
	}
	if got := tamperers("/no/such/folder"); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func TestLookProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if path, err := executors.FindProgram("ldconfig"); err != nil || !strings.HasSuffix(path, "/sbin/ldconfig") {
		t.Errorf("%q, %v", path, err)
	}
	if _, err := executors.FindProgram("no-such-program"); !errors.Is(err, exec.ErrNotFound) {
		t.Error("found what is not there")
	}
}

// A language that may execute what it builds is a warning, others say nothing.
func TestExecCheck(t *testing.T) {
	cs := &checks{root: true}
	execCheck(cs, "python", config.Language{})
	execCheck(cs, "go", config.Language{ExecTmp: true})
	if len(cs.list) != 1 || cs.list[0].State != checkWarn || cs.list[0].Name != "exec_tmp go" ||
		!strings.Contains(cs.list[0].Hint, "backends.era.languages.go.exec_tmp") {
		t.Errorf("%+v", cs.list)
	}
}

// A runtime that is configured and not there is a failure of the node's own containerd;
// that of the host may have it.
func TestHandlerCheck(t *testing.T) {
	for address, want := range map[string]string{"": checkFail, "/run/containerd/containerd.sock": checkWarn} {
		cs := &checks{root: true}
		handlerCheck(cs, address, "io.containerd.kata.v2")
		if c := cs.list[0]; c.State != want || c.Hint == "" ||
			!strings.Contains(c.Detail, "containerd-shim-kata-v2 is not installed") {
			t.Errorf("%q: %+v", address, c)
		}
	}
}

// TestLandlockCheck: doctor says in one line what a kernel can't do.
func TestLandlockCheck(t *testing.T) {
	for abi, want := range map[int]string{0: checkWarn, 1: checkOK, 5: checkOK, fullABI: checkOK} {
		cs := &checks{}
		landlockCheck(cs, abi)
		if len(cs.list) != 1 || cs.list[0].State != want || strings.Contains(cs.list[0].Detail, "\n") || abi > 0 &&
			!strings.Contains(cs.list[0].Detail, fmt.Sprintf("ABI %d:", abi)) {
			t.Errorf("ABI %d: %+v", abi, cs.list)
		}
	}
}
