//go:build toolsreal

package toolchain

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/proc"
)

// TestSuites: for the test suites of others, in the folders of THREEGATE_SUITES, test.must.pass says what the runner's own
// exit code says. A folder may be followed by =COMMAND, with _ for blanks; without it the runner is pytest.
func TestSuites(t *testing.T) {
	python(t)
	suites := strings.Fields(os.Getenv("THREEGATE_SUITES"))
	if len(suites) == 0 {
		t.Fatal("THREEGATE_SUITES names no folder")
	}
	differ := 0
	for _, suite := range suites {
		folder, command, _ := strings.Cut(suite, "=")
		if command = strings.ReplaceAll(command, "_", " "); command == "" {
			command = "pytest"
		}
		tree := func() Job {
			j := job(t, "ast: {language: python}\nvalidators: [{rule: test.must.pass, enforcement: blocking, run: ['"+command+"']}]\n", nil)
			if err := os.CopyFS(j.Dir, os.DirFS(folder)); err != nil {
				t.Fatal(err)
			}
			return j
		}
		own, err := tree().command(t.Context(), strings.Fields(command))
		if err != nil {
			t.Fatal(err)
		}
		j, base := tree(), tree()
		j.Base = &Base{Run: func(_ context.Context, do func(Job) error) error { return do(base) }}
		found, _, err := j.Check(t.Context(), Tests)
		if err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		t.Logf("%s: exit code %d, %d violations; %s", filepath.Base(folder), own.Code, len(found), lastLine(own))
		if (own.Code == 0) != (len(found) == 0) {
			differ++
			t.Errorf("%s: %v", folder, found[:min(len(found), 5)])
		}
	}
	t.Logf("%d suites, %d differences", len(suites), differ)
}

func lastLine(out proc.Output) string {
	text := strings.TrimSpace(out.Stdout + out.Stderr)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
