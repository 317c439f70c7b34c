package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/confine"
)

// probe is threegate that, when a command has confined itself, tries once what it must
// not be able to, and says so on stderr.
func probe() {
	a := cli.New(os.Stdin, os.Stdout, os.Stderr)
	a.Confine = func(n confine.Needs) error {
		err := confine.Apply(n)
		_, rerr := os.ReadFile(os.Getenv("PROBE_FILE"))
		werr := os.WriteFile(os.Getenv("PROBE_FILE")+".new", nil, 0o600)
		_, cerr := net.Dial("tcp", os.Getenv("PROBE_ADDRESS"))
		fmt.Fprintf(os.Stderr, "probe: read %v, write %v, connect %v\n", errors.Is(rerr, os.ErrPermission),
			errors.Is(werr, os.ErrPermission), errors.Is(cerr, os.ErrPermission))
		return err
	}
	os.Exit(run(a, os.Args[1:]))
}

// unconfined are commands that keep their rights, and why.
var unconfined = map[string]string{
	"serve": "mounts, and starts containerd", "run": "mounts, and starts containerd",
	"posture":     "mounts, and starts containerd",
	"doctor":      "starts runtimes and makes namespaces to try them",
	"init":        "reads images of the operator's",
	"config show": "reads the operator's configuration",
	"image list":  "reads images of the operator's", "image verify": "reads images of the operator's",
	"image pack": "reads files of the operator's", "image build": "starts programs",
	"image export":   "reads images of the operator's",
	"image add":      "reads images of the operator's",
	"quickstart":     "starts commands that give up theirs",
	"openwop serve":  "gives up all but reading the node and answering: see TestServerGivesUpRights",
	"desk":           "gives up all but reading the node and answering: see TestDesk",
	"openwop schema": "reads nothing",
	"audit vkey":     "reads keys of the auditor's",
	"schema":         "reads nothing", "version": "reads nothing", "docs": "for those who build it",
	"sign":       "has the key, and reads what was approved",
	"note":       "writes what its parent refused into the node",
	"try":        "has no rights but those of who is tried for",
	"exit-codes": "text", "environment": "text", "output": "text",
}

// TestCommandsGiveUpRights runs every command that reads what somebody else wrote: each
// must do its work, and have lost all rights to a file that nobody named and to a host.
func TestCommandsGiveUpRights(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	work := filepath.Join(dir, "work")
	if err := errors.Join(os.WriteFile(secret, nil, 0o600), os.Mkdir(work, 0o700),
		os.Mkdir(filepath.Join(work, "drafts"), 0o700),
		os.WriteFile(filepath.Join(work, "in.txt"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	host, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	call := func(program string, args ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "PROBE_FILE="+secret, "PROBE_ADDRESS="+host.Addr().String(), "USER=alice")
		out, err := cmd.CombinedOutput()
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := call("threegate", "init", "node", "--images", "no-images"); code != 0 {
		t.Fatal(out)
	}
	if err := nameImages(filepath.Join(work, "node")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
		filepath.Join(dir, "key")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const id = "TR-20260209-160501Z-probe"
	tried := map[string]bool{}
	for _, c := range []struct {
		args string
		code int
	}{
		{"draft ERA --input in.txt --command cat_in.txt -o " + id + ".md", 0},
		{"lint " + id + ".md", 1}, // not approved
		{"review " + id + ".md --node node", 0},
		{"mcp --node node --drafts drafts", 0},
		{"approve " + id + ".md --yes --sign ../key", 0},
		{"promote " + id + ".md --inbox node/inbox/default", 0},
		{"status --node node", 0},
		{"status " + id + " --node node", 0},
		{"list drafts --node node", 0},
		{"show " + id + " --node node", 0},
		{"wait " + id + " --timeout 1ms --node node", cli.ExitTimeout},
		{"events --node node", 0},
		{"audit verify --node node", 0},
		{"audit checkpoint --node node --key ../key", 0},
		{"audit export log --node node", cli.ExitTrouble}, // nothing is signed
		{"audit witness --node node", cli.ExitTrouble},
		{"audit prove " + id + " -o case.tgz --node node", cli.ExitTrouble},
		{"audit check " + id + ".md --trust ../key.pub", cli.ExitReject},
		{"openwop export --node node", 0},
		{"openwop descriptors --node node", 0},
		{"openwop discovery --node node", 0},
		{"fsck --node node", 0},
		{"fsck --repair --node node", 0},
		{"quarantine list --node node", 0},
		{"quarantine show " + id + " --node node", cli.ExitNotFound},
		{"quarantine reject " + id + " --as alice --reason no --node node", cli.ExitNotFound},
		{"quarantine release " + id + " --as alice --reason no --node node", cli.ExitNotFound},
		{"cancel " + id + " --as alice --reason no --node node", cli.ExitTimeout}, // nobody serves the node
		{"reissue " + id + " --as alice --reason no --node node", cli.ExitReject},
		{"recall " + id + " --as alice --reason no --node node", cli.ExitReject}, // it has no result
		{"hold default --reason test --as alice --node node", 0},
		{"resume default --node node", 0},
		{"prune --older-than 1d --node node", 0},
		{"results list --node node", 0},
		{"results show " + id + " --node node", cli.ExitNotFound},
		{"logs " + id + " --node node", 0},
		{"explain approval.age", 0},
	} {
		args := strings.Fields(c.args)
		out, code := call("threegate-probe", args...)
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d: %s", c.args, code, c.code, out)
		}
		want := "probe: read true, write true, connect true\n"
		if confine.ABI() == 0 {
			want = "probe: read false, write false, connect true\n"
		}
		if strings.Count(out, want) != 1 || strings.Count(out, "probe:") != 1 {
			t.Errorf("%s: want once %q: %s", c.args, want, out)
		}
		tried[args[0]], tried[args[0]+" "+args[1]] = true, true
	}
	var visit func(c *cobra.Command, path string)
	visit = func(c *cobra.Command, path string) {
		for _, sub := range c.Commands() {
			visit(sub, strings.TrimSpace(path+" "+sub.Name()))
		}
		if !c.HasSubCommands() && tried[path] == (unconfined[path] != "") {
			t.Errorf("%q is neither tried here nor listed as one that keeps its rights, or both", path)
		}
	}
	visit(newRoot(cli.New(nil, os.Stdout, os.Stderr)), "")
}
