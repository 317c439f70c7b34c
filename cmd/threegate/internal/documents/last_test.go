package documents

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
)

// TestReviewShowsTheDifference: a request is compared with the last one that the node ran of the same slug, whatever
// number follows the slug.
func TestReviewShowsTheDifference(t *testing.T) {
	const first, job = "TR-20260209-162000Z-loan-2", "j01m7y2bdpdcrsgyvat4hpvd7tk"
	dir := t.TempDir()
	node := filepath.Join(dir, "node")
	if _, err := cli.CreateNode(node, cli.NewNode{Name: "lab"}); err != nil {
		t.Fatal(err)
	}
	registry := filepath.Join(node, config.FileName)
	text, err := os.ReadFile(registry)
	if err != nil {
		t.Fatal(err)
	}
	image := fmt.Sprintf("\nbackends:\n  monty: {image: \"sha256:%064d\"}\n", 0)
	if err := os.WriteFile(registry, bytes.Replace(text, []byte("\nbackends:\n"), []byte(image), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Glob("../../../../testdata/examples/good/monty-loan/TR-*.md")
	if err != nil || len(examples) != 1 {
		t.Fatalf("%v, %v", examples, err)
	}
	raw, err := os.ReadFile(examples[0])
	if err != nil {
		t.Fatal(err)
	}
	as := func(id string) []byte {
		return bytes.ReplaceAll(raw, []byte(strings.TrimSuffix(filepath.Base(examples[0]), ".md")), []byte(id))
	}
	ran := filepath.Join(node, spool.DirArchive, "2026/02", job)
	l, err := ledger.Open(filepath.Join(node, spool.DirLedger), ledger.Options{}, func(ledger.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(ran, 0o700), os.WriteFile(filepath.Join(ran, spool.FileRequest), as(first), 0o600),
		l.Append(ledger.Event{Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeAdmitted, RequestID: first, RunID: job}),
		l.Close()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"TR-20260210-160501Z-loan":   "that was " + first + "\n",
		"TR-20260210-160501Z-loan-3": "that was " + first + "\n",
		"TR-20260210-160501Z-loans":  "there is none\n",
	} {
		file := filepath.Join(dir, id+".md")
		if err := os.WriteFile(file, as(id), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		a := cli.New(strings.NewReader(""), &out, io.Discard)
		a.Confine = func(confine.Needs) error { return nil }
		root := cli.Group("threegate", "", Commands(a)...)
		root.SetArgs([]string{"review", file, "--node", node})
		root.SilenceErrors, root.SilenceUsage = true, true
		if err := root.Execute(); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if got := out.String(); !strings.Contains(got, want) ||
			strings.Contains(want, first) != strings.Contains(got, "request_id: \""+first) {
			t.Errorf("%s: %q is not in\n%s", id, want, got)
		}
	}
}
