package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nestedVar names the program to try with in a process for which the kernel makes
// no more user namespaces.
const nestedVar = "THREEGATE_TEST_NESTED"

func TestTryUserNamespace(t *testing.T) {
	if program := os.Getenv(nestedVar); program != "" {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			t.Fatal(err)
		}
		if err := TryUserNamespace(t.Context(), program); !errors.Is(err, ErrNoUserNamespace) ||
			!strings.Contains(err.Error(), "sysctl -w") {
			t.Errorf("where the kernel makes none: %v", err)
		}
		return
	}
	if out, err := exec.Command("make", "-C", "../..", "build").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, err := filepath.Abs("../../bin/threegate-init")
	if err != nil {
		t.Fatal(err)
	}
	if err := TryUserNamespace(t.Context(), program); err != nil {
		t.Errorf("on this host: %v", err)
	}
	for name, wrong := range map[string]string{"a program that fails": "/bin/false", "no program": "/nonexistent"} {
		if err := TryUserNamespace(t.Context(), wrong); !errors.Is(err, ErrNoUserNamespace) {
			t.Errorf("%s: %v", name, err)
		}
	}

	// A namespace whose limit can be set without touching the host's.
	all := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1<<32 - 1}}
	again := exec.Command(os.Args[0], "-test.run=^TestTryUserNamespace$", "-test.v")
	again.Env = append(os.Environ(), nestedVar+"="+program)
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: all, GidMappings: all}
	out, err := again.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestTryUserNamespace") {
		t.Errorf("without: %v\n%s", err, out)
	}
}
