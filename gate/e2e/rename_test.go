//go:build toolchains

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// renames are functions of what others wrote that a language server of an image renames, in all files.
var renames = map[string]struct {
	image string
	// The repository is dir of a module of Go, and files that it gets.
	module, dir string
	more        map[string]string
	registry    string
	where, to   string
	files       map[string]string // that are changed, and what each has then
	inside      []string          // commands of the plan that must succeed after it
	here        []string          // commands that must succeed on this machine, after git apply
}{
	"go": {
		image: "tools-go", module: "github.com/google/uuid@v1.6.0",
		registry: "ast: {language: go, servers: {gopls: {}}}\nvalidators:\n- {rule: build.must.pass, enforcement: blocking}\n" +
			"- {rule: lint.must.pass, enforcement: blocking}\n- {rule: test.must.pass, enforcement: blocking}\n",
		where: `{"type":"fn","name_like":"Parse","file_glob":"uuid.go"}`, to: "Read",
		files: map[string]string{"hash.go": "Must(Read(", "json_test.go": "Read(", "sql.go": "Read(", "sql_test.go": "Read(",
			"uuid.go": "func Read(s string)", "uuid_test.go": "Read("},
		inside: []string{"go test -count=1 ./..."},
		here:   []string{"go build ./...", "go test -count=1 ./..."},
	},
	"c": {
		image: "tools-c", module: "github.com/PowerDNS/lmdb-go@v1.9.3", dir: "lmdb",
		more: map[string]string{".gitignore": "program\ndata\n", "main.c": lmdbMain},
		registry: "ast: {language: c, servers: {clangd: {}}}\nvalidators:\n- {rule: build.must.pass, enforcement: blocking, " +
			"run: [gcc -o /tmp/built -Werror=implicit-function-declaration main.c mdb.c midl.c]}\n",
		where: `{"type":"fn","name_like":"mdb_env_create","file_glob":"mdb.c"}`, to: "mdb_env_make",
		files:  map[string]string{"lmdb.h": "mdb_env_make(", "main.c": "mdb_env_make(", "mdb.c": "mdb_env_make("},
		inside: []string{"gcc -o program main.c mdb.c midl.c"},
		here:   []string{"gcc -o program main.c mdb.c midl.c -lpthread", "./program"},
	},
}

// lmdbMain puts a value and gets it again.
const lmdbMain = `#include <string.h>
#include <sys/stat.h>
#include "lmdb.h"

int main(void)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	MDB_val key = {3, "key"}, put = {5, "value"}, got;

	mkdir("data", 0700);
	if (mdb_env_create(&env) || mdb_env_open(env, "data", 0, 0600) || mdb_txn_begin(env, NULL, 0, &txn) ||
	    mdb_dbi_open(txn, NULL, 0, &dbi) || mdb_put(txn, dbi, &key, &put, 0) || mdb_txn_commit(txn) ||
	    mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) || mdb_get(txn, dbi, &key, &got))
		return 1;
	return memcmp(got.mv_data, "value", 5) != 0;
}
`

// TestToolchainRename: a plan renames a function across a repository with a language server, in a real sandbox. The
// patch is delivered, plain git apply takes it, and the code builds and passes its tests, in the second sandbox and here.
func TestToolchainRename(t *testing.T) {
	for name, r := range renames {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			out, err := exec.Command("go", "mod", "download", "-json", r.module).Output()
			var module struct{ Dir string }
			if err != nil || json.Unmarshal(out, &module) != nil {
				t.Fatalf("%s: %v: %s", r.module, err, out)
			}
			must(t, os.CopyFS(base, os.DirFS(filepath.Join(module.Dir, r.dir))))
			for file, text := range r.more {
				must(t, os.WriteFile(filepath.Join(base, file), []byte(text), 0o644))
			}
			plainGit(t, base, "init", "-q", "-b", "main")
			plainGit(t, base, "add", ".")
			plainGit(t, base, "commit", "-q", "-m", "feat: begin")
			plainGit(t, base, "bundle", "create", "-q", ".git/b", "HEAD", "main")

			plan := ""
			call := func(tool string, args map[string]any) {
				line, err := json.Marshal(map[string]any{"type": "ToolRequest", "tool": tool, "args": args,
					"request_id": tool, "session_id": name, "timestamp": 1770656400})
				must(t, err)
				plan += string(line) + "\n"
			}
			call("ast_edit", map[string]any{"operation": "rename_symbol", "where": json.RawMessage(r.where), "new_name": r.to,
				"timeout_ms": 300000})
			for _, cmd := range r.inside {
				call("shell_exec", map[string]any{"cmd": cmd, "must_succeed": true, "timeout_ms": 300000})
			}
			call("git_add", map[string]any{"paths": []string{"**"}})
			call("git_commit", map[string]any{"message": "refactor: call it " + r.to})
			n := toolchainNode(t, r.image, "version: 1\nshell_allow: ['^(go|gcc) ']\n"+r.registry)
			n.send(request{id: "TR-20260209-120000Z-rename", language: "fix", command: "threegate-tools run /in/plan.jsonl",
				cpu: "2", memoryMB: 1024, timeSec: 600, outputs: []string{"changes.patch", "responses.jsonl"},
				inputs: map[string]string{"plan.jsonl": plan, "repository.bundle": read(t, filepath.Join(base, ".git/b"))}})
			f := n.await("TR-20260209-120000Z-rename")
			res := n.result(f)
			artifacts := strings.TrimSuffix(f.ResultPath, ".md") + ".artifacts"
			responses := filepath.Join(artifacts, "responses.jsonl")
			if res.ExitCode != 0 || !exists(filepath.Join(artifacts, "changes.patch")) {
				t.Fatalf("exit code %d\n%s\n%s\n%s", res.ExitCode, res.Stdout.Text, res.Safety.Unexpected, read(t, responses))
			}
			if last := res.Provenance[len(res.Provenance)-1]; !strings.Contains(last.Value, "recheck, passed, exit code 0") {
				t.Errorf("the second sandbox: %v", last)
			}
			plainGit(t, base, "apply", filepath.Join(artifacts, "changes.patch"))
			changed := exec.Command("git", "-C", base, "diff", "--name-only")
			out, err = changed.Output()
			must(t, err)
			var want []string
			for file, has := range r.files {
				want = append(want, file)
				if !strings.Contains(read(t, filepath.Join(base, file)), has) {
					t.Errorf("%s lacks %q", file, has)
				}
			}
			if got := strings.Fields(string(out)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("changed are %q", got)
			}
			for _, cmd := range r.here {
				if out, err := onHost(t, base, cmd); err != nil {
					t.Errorf("%s, after git apply: %v\n%s", cmd, err, out)
				}
			}
			n.check()
		})
	}
}
