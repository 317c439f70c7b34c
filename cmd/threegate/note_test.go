package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusalsAreNoted: what approve, promote and review refuse lies in the node's folder of orders; what they take does
// not, nor what was refused without a node.
func TestRefusalsAreNoted(t *testing.T) {
	dir := t.TempDir()
	call := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command("threegate", args...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Fatalf("%v: exit code %d, want %d: %s", args, got, want, out)
		}
		return string(out)
	}
	seen := map[string]bool{}
	digest := func(file string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:])
	}
	// noted wants new orders, each of which holds all of the words.
	noted := func(count int, words ...string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, "node/orders/or-*.json"))
		if err != nil || len(files) != len(seen)+count {
			t.Fatalf("%d orders, want %d: %v", len(files), len(seen)+count, err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if seen[f] {
				continue
			}
			seen[f] = true
			for _, w := range append(words, `"kind": "request.refused"`) {
				if !strings.Contains(string(data), w) {
					t.Errorf("the note lacks %s: %s", w, data)
				}
			}
		}
	}
	const id = "TR-20260101-000000Z-noted"
	const file, broken = id + ".md", "TR-20260101-000001Z-broken.md"
	call(0, "init", "node", "--images", "no-images")
	yaml := filepath.Join(dir, "node/threegate.yaml")
	conf := "version: 1\nbackends: {era: {languages: {python: {image: sha256:" + strings.Repeat("0", 64) + "}}}}\n"
	if err := os.WriteFile(yaml, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, broken), []byte("---\nrequest_id: \x1b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	call(0, "draft", "ERA", "--input", "in.csv", "--requested-by", "bob", "-o", file)

	call(1, "promote", file, "--inbox", "./node/inbox/default/")
	call(1, "approve", file, "--as", "bob", "--yes")
	noted(0)
	call(1, "promote", file, "--node", "node")
	noted(1, `"subject": "`+id+`"`, `"request_sha256": "`+digest(file)+`"`, `"approval.missing"`, `"by": ""`)
	call(1, "approve", file, "--as", "bob", "--yes", "--config", "node/threegate.yaml")
	noted(1, `"subject": "`+id+`"`, `"request_sha256": "`+digest(file)+`"`, `"approval.self"`)
	call(1, "promote", file, broken, "--node", "node") // each file has a note; the name stands for an id that can't be read
	noted(2, `"rules": [`)

	s := onTerminal(t, dir, "review", file, "--node", "node")
	s.wait("a approve")
	s.press("r")
	s.wait("Why not")
	s.press("reads too much\r")
	s.wait("Your name")
	s.press("carol\r")
	if code := s.end(); code != 1 {
		t.Fatalf("refused: exit code %d", code)
	}
	noted(1, `"subject": "`+id+`"`, `"request_sha256": "`+digest(file)+`"`, `"by": "carol"`, `"reason": "reads too much"`)

	call(0, "approve", file, "--as", "alice", "--yes", "--config", "node/threegate.yaml")
	call(0, "promote", file, "--node", "node")
	noted(0)
}
