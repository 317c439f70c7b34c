package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

type bench struct {
	t   *testing.T
	dir string
	w   *Workspace
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	for name, content := range files {
		name = filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Open(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	b.w = w
	return b
}

// toolOf is the tool of a name.
func toolOf(w *Workspace, name string) contract.Tool {
	all := Tools(w)
	return all[slices.IndexFunc(all, func(t contract.Tool) bool { return t.Name == name })]
}

// call returns the result as JSON, or the code of the error.
func (b *bench) call(name, args string) string {
	b.t.Helper()
	c, err := toolOf(b.w, name).Prepare([]byte(args))
	if err != nil {
		return string(contract.AsError(err).Code)
	}
	result, err := c.Run(context.Background())
	var e *contract.Error
	if errors.As(err, &e) {
		return string(e.Code)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := json.Marshal(result)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(out)
}

func (b *bench) want(want, name, args string) {
	b.t.Helper()
	if got := b.call(name, args); got != want {
		b.t.Errorf("%s %s:\n got %s\nwant %s", name, args, got, want)
	}
}

func TestList(t *testing.T) {
	b := newBench(t, map[string]string{"src/a.rs": "", "src/x/b.rs": "", "src/c.txt": "", "src/.hidden.rs": "", ".git/config": "",
		"src/sub/.git/x.rs": ""})
	if err := os.Symlink("/etc", filepath.Join(b.dir, "src/link")); err != nil {
		t.Fatal(err)
	}
	b.want(`{"files":["src/a.rs","src/x/b.rs"],"truncated":false}`, "fs_list", `{"glob":"src/**/*.rs"}`)
	b.want(`{"files":["src/.hidden.rs","src/a.rs","src/x/b.rs"],"truncated":false}`, "fs_list", `{"glob":"./src/**/*.rs","include_hidden":true}`)
	b.want(`{"files":["src/.hidden.rs","src/a.rs","src/c.txt","src/x/b.rs"],"truncated":false}`, "fs_list", `{"glob":"**","include_hidden":true}`)
	for _, glob := range []string{"src/.hidden.rs", "src/.*", "**/.h*.rs", "{x,src}/{.hidden,.y}.rs"} {
		b.want(`{"files":["src/.hidden.rs"],"truncated":false}`, "fs_list", `{"glob":"`+glob+`"}`)
	}
	b.want(`{"files":["src/a.rs"],"truncated":true}`, "fs_list", `{"glob":"**","max_results":1}`)
	b.want(`{"files":["src/a.rs","src/c.txt"],"truncated":false}`, "fs_list", `{"glob":"src/*.{rs,txt}"}`)
	b.want(`{"files":[],"truncated":false}`, "fs_list", `{"glob":"none"}`)
	b.want("E_POLICY", "fs_list", `{"glob":"../**"}`)
	b.want("E_POLICY", "fs_list", `{"glob":"/etc/*"}`)
	for _, bad := range []string{`{"glob":""}`, `{"glob":"["}`, `{"glob":"**/**/**/**/**/**"}`, `{"glob":"{a,{b,{c,{d,{e,f}}}}}"}`,
		`{"glob":"*","max_results":0}`, `{"glob":"*","max_results":1e9}`, `{"GLOB":"*"}`, `{"glob":null}`} {
		b.want("E_VALIDATION_FAIL", "fs_list", bad)
	}
}

func TestReadAndWrite(t *testing.T) {
	b := newBench(t, map[string]string{"a": "text\r\n", "bin": "\xff\x00"})
	sum := "7830b26b0ee6f35d118457f44e61961a44d8893ff51b02f8fcf08e188af77b0e"
	b.want(`{"content":"text\r\n","sha256":"`+sum+`"}`, "file_read", `{"path":"a"}`)
	b.want("E_FILE_IO", "file_read", `{"path":"a","max_bytes":5}`)
	b.want("E_FILE_IO", "file_read", `{"path":"bin"}`)
	b.want("E_FILE_IO", "file_read", `{"path":"none"}`)
	b.want("E_POLICY", "file_read", `{"path":"/etc/passwd"}`)
	b.want("E_VALIDATION_FAIL", "file_write", `{"path":"a","content":"x","expect_sha256":"`+strings.Repeat("0", 64)+`"}`)
	b.want(`{"written":true,"bytes":4}`, "file_write", `{"path":"a","content":"$&\r\n","expect_sha256":"`+sum+`"}`)
	if got, _ := os.ReadFile(filepath.Join(b.dir, "a")); string(got) != "$&\r\n" {
		t.Errorf("a holds %q", got)
	}
	b.want("E_FILE_IO", "file_write", `{"path":"d/e","content":""}`)
	b.want(`{"written":true,"bytes":0}`, "file_write", `{"path":"d/e","content":"","create_dirs":true,"mode_octal":"0755","attribution":{"task_id":1}}`)
	for _, mode := range []string{"4755", "0888", "000", "rwx", "-755"} {
		b.want("E_VALIDATION_FAIL", "file_write", `{"path":"x","content":"","mode_octal":"`+mode+`"}`)
	}
	b.want("E_POLICY", "file_write", `{"path":".git/hooks/pre-commit","content":"","create_dirs":true}`)
}

func TestMoveCopyDelete(t *testing.T) {
	b := newBench(t, map[string]string{"a": "a"})
	b.want(`{"copied":true}`, "fs_copy", `{"src":"a","dst":"b"}`)
	b.want("E_FILE_IO", "fs_move", `{"src":"a","dst":"b"}`)
	b.want(`{"moved":true}`, "fs_move", `{"src":"a","dst":"b","overwrite":true}`)
	b.want(`{"deleted":true}`, "fs_delete", `{"path":"b"}`)
	b.want("E_FILE_IO", "fs_delete", `{"path":"b"}`)
	b.want(`{"deleted":true}`, "fs_delete", `{"path":"b","force":true}`)
}

func TestGrep(t *testing.T) {
	long := strings.Repeat("é", 1000)
	b := newBench(t, map[string]string{"src/x.rs": "fn a() {}\n  PANIC!(\"x\")\r\n", "src/bin": "panic!\x00", "vendor/v.rs": "panic!",
		".hidden": "panic!", ".github/ci.yml": "on: push\n", ".github/.cache/x": "on: push\n", "src/long": long + "needle" + long,
		"bom": "\ufefffirst\nsecond\n"})
	if err := os.Symlink("src/x.rs", filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	b.want(`{"matches":[{"file":"src/x.rs","line":2,"col":3,"snippet":"  PANIC!(\"x\")"}],"truncated":false}`, "grep", `{"pattern":"panic!"}`)
	b.want(`{"matches":[],"truncated":false}`, "grep", `{"pattern":"panic!","case_sensitive":true}`)
	for _, glob := range []string{".github/ci.yml", "./.github/**", "**/.github/*"} {
		b.want(`{"matches":[{"file":".github/ci.yml","line":1,"col":1,"snippet":"on: push"}],"truncated":false}`, "grep",
			`{"pattern":"^on:","glob":"`+glob+`"}`)
	}
	b.want(`{"matches":[{"file":".github/ci.yml","line":1,"col":1,"snippet":"on: push"}],"truncated":false}`, "grep",
		`{"pattern":"^on:","glob":"**/*.yml","include_hidden":true}`)
	b.want(`{"matches":[],"truncated":false}`, "grep", `{"pattern":"^on:","glob":"**/*.yml"}`)
	b.want(`{"matches":[{"file":"bom","line":1,"col":4,"snippet":"first"}],"truncated":false}`, "grep", `{"pattern":"^first$"}`)
	b.want(`{"matches":[{"file":"vendor/v.rs","line":1,"col":1,"snippet":"panic!"}],"truncated":false}`, "grep",
		`{"pattern":"panic!","glob":"vendor/**"}`)
	b.want(`{"matches":[{"file":"src/x.rs","line":1,"col":1,"snippet":"fn a() {}"}],"truncated":true}`, "grep", `{"pattern":".*","glob":"src/x.rs","max_results":1}`)
	var m grepResult
	if err := json.Unmarshal([]byte(b.call("grep", `{"pattern":"needle"}`)), &m); err != nil || len(m.Matches) != 1 ||
		!strings.Contains(m.Matches[0].Snippet, "needle") || len(m.Matches[0].Snippet) > 2*maxSnippet || m.Matches[0].Col != 2001 {
		t.Errorf("got %+v, %v", m, err)
	}
	for _, bad := range []string{`{"pattern":"("}`, `{"pattern":"(a)\\1"}`, `{"pattern":""}`, `{"pattern":"a{1001}"}`} {
		b.want("E_VALIDATION_FAIL", "grep", bad)
	}
}
