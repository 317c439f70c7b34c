package fsck

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
)

const (
	planLine = `{"type":"ToolRequest","tool":"file_read","args":{"path":"a"},"request_id":"1","session_id":"s","timestamp":1}` + "\n"
	noPlan   = "a line of text\n"
)

func tarOf(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range [][2]string{{"other.txt", noPlan}, {name, text}} {
		err := w.WriteHeader(&tar.Header{Name: f[0], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(f[1]))})
		if err == nil {
			_, err = w.Write([]byte(f[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPlanOf: the plan of a job is found wherever its command names it: an input, a file in a folder, or one in a
// folder tree.
func TestPlanOf(t *testing.T) {
	tree := tarOf(t, "sub/plan.jsonl", planLine)
	for name, c := range map[string]struct {
		argv   []string
		inputs map[string][]byte
		trees  []string
		found  bool
	}{
		"an input": {[]string{"run", "/in/plan.jsonl"}, map[string][]byte{"plan.jsonl": []byte(planLine)}, nil, true},
		"a folder": {[]string{"run", "/in/d/plan.jsonl"}, map[string][]byte{"d/plan.jsonl": []byte(planLine)}, nil, true},
		"a tree":   {[]string{"run", "/in/t/sub/plan.jsonl"}, map[string][]byte{"t": tree}, []string{"t"}, true},
		"a tree below, by a short path": {[]string{"run", "d/t/sub/plan.jsonl"}, map[string][]byte{"d/t": tree},
			[]string{"x", "d/t"}, true},
		"no such file":     {[]string{"run", "/in/t/plan.jsonl"}, map[string][]byte{"t": tree}, []string{"t"}, false},
		"a folder of it":   {[]string{"run", "/in/t/sub"}, map[string][]byte{"t": tree}, []string{"t"}, false},
		"no plan":          {[]string{"run", "/in/t/other.txt"}, map[string][]byte{"t": tree}, []string{"t"}, false},
		"a damaged tree":   {[]string{"run", "/in/t/sub/plan.jsonl"}, map[string][]byte{"t": tree[:1500]}, []string{"t"}, false},
		"no tree":          {[]string{"run", "/in/t/sub/plan.jsonl"}, map[string][]byte{"t": []byte(noPlan)}, []string{"t"}, false},
		"the tree is gone": {[]string{"run", "/in/t/sub/plan.jsonl"}, nil, []string{"t"}, false},
		"out of the job":   {[]string{"run", "/in/t/../../plan.jsonl"}, map[string][]byte{"t": tree}, []string{"t"}, false},
	} {
		dir := t.TempDir()
		var inputs []spool.InputFile
		for file, data := range c.inputs {
			sum := sha256.Sum256(data)
			inputs = append(inputs, spool.InputFile{Path: "/in/" + file, SHA256: hex.EncodeToString(sum[:])})
			file = filepath.Join(dir, spool.DirInputs, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		raw, err := json.Marshal(map[string]any{"task": executors.Task{Argv: c.argv, Trees: c.trees}})
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, ledger.FileAdmission), raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planOf(dir, inputs)
		if (err == nil) != c.found || c.found && (len(plan) != 1 || plan[0].Tool != "file_read") {
			t.Errorf("%s: %v, %v", name, plan, err)
		}
	}
}
