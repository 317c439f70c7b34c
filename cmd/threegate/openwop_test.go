package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestServerGivesUpRights starts the server of OpenWOP: it answers, and can neither read a file that
// nobody named, nor write one, nor connect to anything. It prints no key, and stops in order.
func TestServerGivesUpRights(t *testing.T) {
	dir := t.TempDir()
	secret, key := filepath.Join(dir, "secret"), filepath.Join(dir, "key")
	const bearer = "0123456789abcdef0123456789abcdef"
	for file, content := range map[string]string{secret: "", key: bearer + "\n"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	node := filepath.Join(dir, "node")
	if out, err := exec.Command("threegate", "init", node, "--images", "none").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command("threegate-probe", "openwop", "serve", "--listen", "127.0.0.1:0", "--key-file", key, "--node", node)
	cmd.Env = append(os.Environ(), "PROBE_FILE="+secret, "PROBE_ADDRESS=127.0.0.1:1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	base, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %v: %s", err, cmd.Wait(), errs.String())
	}
	req, err := http.NewRequest("GET", strings.TrimSpace(base)+"/v1/tools", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || string(body) != "[]\n" {
		t.Errorf("%d %v %s", resp.StatusCode, err, body)
	}
	_ = resp.Body.Close()
	if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if out := errs.String(); !strings.HasPrefix(out, "probe: read ") || !strings.HasSuffix(out, "connect true\n") ||
		strings.Count(out, "\n") != 1 || strings.Contains(out, bearer) {
		t.Errorf("it said %q", out)
	}
}
