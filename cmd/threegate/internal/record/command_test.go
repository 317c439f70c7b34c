package record

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// now is when commands are called.
var now = time.Date(2026, 2, 10, 0, 0, 0, 0, time.UTC)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newNode(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "node")
	_, err := cli.CreateNode(dir, cli.NewNode{Name: "lab"})
	must(t, err)
	return dir
}

// record writes events.
func record(t *testing.T, node string, events ...ledger.Event) {
	t.Helper()
	l, err := ledger.Open(filepath.Join(node, spool.DirLedger), ledger.Options{}, func(ledger.Event) {})
	must(t, err)
	must(t, errors.Join(l.Append(events...), l.Close()))
}

// put writes a file and the folders that it lies in.
func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}

// refused puts an item into the quarantine, and gives its folder.
func refused(t *testing.T, node, item string, r quarantine.Reasons) string {
	t.Helper()
	r.Item = item
	at := spool.DirQuarantineRequests
	if r.Kind == schemas.KindResult {
		at = spool.DirQuarantineResults
	}
	dir := filepath.Join(node, at, item)
	reasons, people, err := r.Encode()
	must(t, err)
	put(t, filepath.Join(dir, quarantine.FileJSON), string(reasons))
	put(t, filepath.Join(dir, quarantine.FileMarkdown), string(people))
	return dir
}

func finding(file, rule string, line int) schemas.Finding {
	return schemas.Finding{Rule: rule, Severity: schemas.SeverityBlocking, File: file, Line: line, Message: "it is bad",
		Excerpt: "[masked]"}
}

// run calls a command of this package, and gives what it printed to standard output.
func run(node string, args ...string) (string, error) { return runOn(node, false, args...) }

// runOn does so on a terminal, or not on one.
func runOn(node string, terminal bool, args ...string) (string, error) {
	var out bytes.Buffer
	err := runContext(context.Background(), &out, node, terminal, args...)
	return out.String(), err
}

func runContext(ctx context.Context, out io.Writer, node string, terminal bool, args ...string) error {
	a := cli.New(nil, out, io.Discard)
	a.Confine = func(confine.Needs) error { return nil }
	a.Now = func() time.Time { return now }
	a.ReadGlobals(args)
	a.UI.OutTTY = terminal
	root := cli.Group("threegate", "", Commands(a)...)
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "")
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs(append(args, "--node", node))
	return root.ExecuteContext(ctx)
}

// say is what a command that succeeds prints.
func say(t *testing.T, node string, args ...string) string {
	t.Helper()
	got, err := run(node, args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return got
}
