package ast

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestRenameInRealRepositories renames in code that others wrote, which then still builds and passes its tests.
func TestRenameInRealRepositories(t *testing.T) {
	for _, tt := range []struct {
		module, where, to string
		files             int
	}{
		{"github.com/google/uuid@v1.6.0", `{"type":"fn","name_like":"Parse","file_glob":"uuid.go"}`, "Read", 6},
		{"github.com/fzipp/gocyclo@v0.6.0", `{"type":"fn","name_like":"Analyze"}`, "Measure", 3},
	} {
		out, err := exec.Command("go", "mod", "download", "-json", tt.module).Output()
		var got struct{ Dir string }
		if err != nil || json.Unmarshal(out, &got) != nil {
			t.Fatalf("%s: %v: %s", tt.module, err, out)
		}
		b := newBench(t, nil).servers("gopls: {}")
		if err := os.CopyFS(b.w.Dir, os.DirFS(got.Dir)); err != nil {
			t.Fatal(err)
		}
		raw, e := b.call("ast_edit", fmt.Sprintf(`{"operation":"rename_symbol","new_name":%q,"where":%s}`, tt.to, tt.where))
		var edited Edited
		if e != nil || json.Unmarshal([]byte(raw), &edited) != nil || len(edited.FilesTouched) != tt.files {
			t.Errorf("%s: %s, %v", tt.module, raw, e)
			continue
		}
		cmd := exec.Command("go", "test", "./...")
		cmd.Dir, cmd.Env = b.w.Dir, append(os.Environ(), "GOFLAGS=", "GOPROXY=off")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "ok") {
			t.Errorf("%s: %v: %s", tt.module, err, out)
		}
	}
}
