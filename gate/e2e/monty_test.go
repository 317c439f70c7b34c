package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors/monty"
)

// minSnippets is how many snippets must at least be compared.
const minSnippets = 182

// refusedSnippets are programs that the interpreter runs and no request may hold.
var refusedSnippets = map[string]string{
	"empty-program": "request.code",
	"file-resolve":  "sec.paths.host",
}

// TestMontyThroughTheGate sends every snippet of testdata/monty through the gate and through the
// driver alone, whose own test compares it with the bare interpreter: streams and exit code are the
// same.
func TestMontyThroughTheGate(t *testing.T) {
	snippets, err := filepath.Glob(filepath.Join(repo, "testdata", "monty", "snippets", "*.py"))
	if err != nil || len(snippets) < minSnippets {
		t.Fatalf("%d snippets, want at least %d (%v)", len(snippets), minSnippets, err)
	}
	in := filepath.Join(repo, "testdata", "monty", "in")
	inputs := map[string]string{}
	err = filepath.WalkDir(in, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, _ := filepath.Rel(in, p)
			inputs[rel] = read(t, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t)
	for i, path := range snippets {
		n.send(request{id: snippetID(i), backend: "monty", code: read(t, path), inputs: inputs})
	}
	for i, path := range snippets {
		name := strings.TrimSuffix(filepath.Base(path), ".py")
		t.Run(name, func(t *testing.T) {
			f := n.await(snippetID(i))
			if rule, ok := refusedSnippets[name]; ok {
				if f.State != "quarantined" || !slices.Contains(f.Rules, rule) {
					t.Errorf("became %s (rules %v), want quarantined by %s", f.State, f.Rules, rule)
				}
				return
			}
			aloneIn := t.TempDir()
			if err := os.CopyFS(aloneIn, os.DirFS(in)); err != nil {
				t.Fatal(err)
			}
			var wantOut, wantErr strings.Builder
			job := monty.Job{Code: read(t, path), Monty: filepath.Join(repo, "bin", "monty"),
				Limits: monty.Limits{MaxDurationSec: 20, MaxMemoryBytes: 256 << 20}}
			wantExit := monty.Run(job, monty.Env{In: aloneIn, Out: t.TempDir(),
				Stdout: &wantOut, Stderr: &wantErr, Now: time.Now})
			r := readResultOf(t, f)
			if r.ExitCode != wantExit {
				t.Errorf("exit code %d, alone %d", r.ExitCode, wantExit)
			}
			stdout := r.Stdout.Text
			if r.Stdout.Truncated {
				stdout = read(t, filepath.Join(strings.TrimSuffix(f.ResultPath, ".md")+".artifacts", "_stdout.txt"))
			}
			if stdout != wantOut.String() {
				t.Errorf("stdout differs\n gate: %q\nalone: %q", stdout, wantOut.String())
			}
			if r.Stderr.Text != wantErr.String() {
				t.Errorf("stderr differs\n gate: %q\nalone: %q", r.Stderr.Text, wantErr.String())
			}
		})
	}
	n.check()
}

func snippetID(i int) string { return fmt.Sprintf("TR-20260209-%06dZ-snippet", 200000+i) }
