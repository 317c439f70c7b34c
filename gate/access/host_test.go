package access_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/threegate/tool-exec/gate/access"
	"github.com/threegate/tool-exec/gate/config"
)

// onHost runs a test again, in a mount namespace of its own with these files in the place of those in /etc, and says
// whether this is that run. in are the folder's files: a test changes them as an administrator does.
func onHost(t *testing.T, files map[string]string) (in string, here bool) {
	t.Helper()
	if in = os.Getenv("THREEGATE_TEST_HOST"); in != "" {
		return in, true
	}
	in = t.TempDir()
	script := ""
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(in, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		script += "mount --bind " + filepath.Join(in, name) + " /etc/" + name + " && "
	}
	cmd := exec.Command("/bin/sh", "-c", script+`exec "$0" -test.v -test.run "^$1$"`, os.Args[0], t.Name())
	cmd.Env = append(os.Environ(), "THREEGATE_TEST_HOST="+in)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
	return in, false
}

// TestHost: rights are what the host's databases say now.
func TestHost(t *testing.T) {
	const passwd = "root:x:0:0::/:/bin/sh\nalice:x:5001:5001::/:/bin/sh\nbob:x:5002:5100::/:/bin/sh\n"
	in, here := onHost(t, map[string]string{
		"passwd": passwd, "group": "root:x:0:\nauditors:x:5100:alice\n",
		"subuid":        "alice:100000:65536\n5002:200000:10\nnobody-knows:300000:10\nbroken\nroot:400000:10\nalice:0:10\n",
		"nsswitch.conf": "passwd: files\ngroup: files\n",
	})
	if !here {
		return
	}
	member := func(uid int, want bool) {
		t.Helper()
		if is, err := access.Member(uid, 5100); err != nil || is != want {
			t.Errorf("user %d: %v, %v, want %v", uid, is, err, want)
		}
	}
	member(5001, true) // by the group
	member(5002, true) // as their own group
	member(5003, false)
	for uid, owner := range map[int]int{100000: 5001, 165535: 5001, 165536: 165536, 200009: 5002, 5001: 5001, 300005: 300000,
		400005: 400000, 0: 0} {
		if got := access.Owner(uid); got != owner {
			t.Errorf("user %d is %d's, want %d", uid, got, owner)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(in, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("group", "root:x:0:\nauditors:x:5100:\n")
	member(5001, false)
	write("passwd", strings.Replace(passwd, "bob:", "#", 1))
	member(5002, false)

	if _, err := access.People(config.Access{Auditors: "nowhere"}); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("no database has the group: %v", err)
	}
}
