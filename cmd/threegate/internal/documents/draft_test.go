package documents

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/frontmatter"
	"github.com/threegate/tool-exec/gate/confine"
)

// TestDraftsOfOneMoment: two drafts into one folder never share an id, nor does one get the inputs of
// another. What a killed draft left takes its name and nothing else.
func TestDraftsOfOneMoment(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(t.TempDir(), "in.csv")
	folder := filepath.Join(dir, "drafts")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(input, []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, ".TR-20260209-160501Z-same-3.md.claim"), 0o700); err != nil {
		t.Fatal(err)
	}
	const drafts = 12
	var wg sync.WaitGroup
	for i := range drafts {
		wg.Go(func() {
			a := cli.New(strings.NewReader(""), io.Discard, io.Discard)
			a.Now = func() time.Time { return time.Date(2026, 2, 9, 16, 5, 1, 0, time.UTC) }
			a.Confine = func(confine.Needs) error { return nil }
			root := cli.Group("threegate", "", Commands(a)...)
			root.SetArgs([]string{"draft", "ERA", "--slug", "same", "--output", "x", "-o", folder})
			if i%2 == 0 {
				root.SetArgs([]string{"draft", "ERA", "--slug", "same", "-o", folder, "--input", input})
			}
			if err := root.Execute(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	files, err := filepath.Glob(filepath.Join(folder, "TR-*.md"))
	if err != nil || len(files) != drafts {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := frontmatter.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		id := strings.TrimSuffix(filepath.Base(file), ".md")
		if doc.Values["request_id"] != id {
			t.Errorf("%s says that it is %s", id, doc.Values["request_id"])
		}
		if _, err := os.Stat(filepath.Join(folder, id+".inputs", "in.csv")); (err == nil) != (len(doc.Inputs) == 1) {
			t.Errorf("%s declares %d inputs, and: %v", id, len(doc.Inputs), err)
		}
		if id == "TR-20260209-160501Z-same-3" {
			t.Error("a name was taken that somebody else had claimed")
		}
	}
	left, err := filepath.Glob(filepath.Join(folder, ".*"))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
