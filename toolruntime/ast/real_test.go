package ast

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
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
		b := newBench(t, nil).servers("gopls: {}").copy(goSource(t, tt.module))
		raw, e := b.call("ast_edit", fmt.Sprintf(`{"operation":"rename_symbol","new_name":%q,"where":%s}`, tt.to, tt.where))
		var edited editResult
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

// goSource is the source of a module.
func goSource(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	var got struct{ Dir string }
	if err != nil || json.Unmarshal(out, &got) != nil {
		t.Fatalf("%s: %v: %s", module, err, out)
	}
	return got.Dir
}

func (b *bench) copy(dir string) *bench {
	b.t.Helper()
	if err := os.CopyFS(b.w.Dir, os.DirFS(dir)); err != nil {
		b.t.Fatal(err)
	}
	return b
}

// run runs a program in the workspace.
func (b *bench) run(argv ...string) string {
	b.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = b.w.Dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Errorf("%q: %v: %s", argv, err, out)
	}
	return string(out)
}

// renames renames a function, and says which files changed.
func (b *bench) renames(where, to string) []string {
	b.t.Helper()
	raw, e := b.call("ast_edit", fmt.Sprintf(`{"operation":"rename_symbol","new_name":%q,"where":%s}`, to, where))
	var edited editResult
	if e != nil || json.Unmarshal([]byte(raw), &edited) != nil {
		b.t.Fatalf("%s: %v", raw, e)
	}
	return edited.FilesTouched
}

// TestRenameC renames a function of LMDB with clangd, which knows only the files of which it is told. What comes of it
// still compiles, and keeps data.
func TestRenameC(t *testing.T) {
	b := newBench(t, map[string]string{"main.c": `#include <stdio.h>
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
	printf("%.*s", (int)got.mv_size, (char *)got.mv_data);
	return 0;
}
`}).servers("clangd: {}").copy(goSource(t, "github.com/PowerDNS/lmdb-go@v1.9.3") + "/lmdb")
	build := func() string {
		b.run("cc", "-o", "program", "main.c", "mdb.c", "midl.c", "-lpthread")
		return b.run("./program")
	}
	for _, tt := range []struct {
		where, to string
		files     []string
	}{
		{`{"type":"fn","name_like":"mdb_midl_append","file_glob":"midl.c"}`, "mdb_midl_push", []string{"mdb.c", "midl.c", "midl.h"}},
		{`{"type":"fn","name_like":"mdb_env_create","file_glob":"mdb.c"}`, "mdb_env_make", []string{"lmdb.h", "main.c", "mdb.c"}},
	} {
		if got := b.renames(tt.where, tt.to); !slices.Equal(got, tt.files) {
			t.Errorf("%s: it changed %q, want %q", tt.where, got, tt.files)
		}
		if got := build(); got != "value" {
			t.Errorf("%s: it says %q", tt.where, got)
		}
	}
	raw, e := b.call("ast_external", `{"provider":"clangd","request":{"method":"textDocument/hover","params":{`+
		`"textDocument":{"uri":"file:///main.c"},"position":{"line":12,"character":8}}}}`)
	if e != nil || !strings.Contains(raw, "mdb_env_make") {
		t.Errorf("%s, %v", raw, e)
	}
	// What does not parse for want of its macros stays so; an edit that adds to it is refused.
	_, e = b.call("ast_edit", `{"operation":"replace_node","text":"int main( {","where":{"type":"fn","name_like":"main","file_glob":"main.c"}}`)
	if e == nil || e.Code != contract.ASTParse {
		t.Errorf("an edit that does not parse: %v", e)
	}
}

// TestRenameTypeScript renames an exported function of immer, which still compiles and works.
func TestRenameTypeScript(t *testing.T) {
	b := newBench(t, nil).servers("typescript-language-server: {}").
		copy("../../build/ast/node_modules/immer/src")
	b.write("types/node.d.ts", "declare const process: any\n") // in place of another package
	files := b.renames(`{"type":"fn","name_like":"isDraftable","file_glob":"utils/common.ts"}`, "canBeDrafted")
	if want := []string{"core/current.ts", "core/finalize.ts", "core/immerClass.ts", "core/proxy.ts", "immer.ts",
		"plugins/mapset.ts", "plugins/patches.ts", "utils/common.ts"}; !slices.Equal(files, want) {
		t.Errorf("it changed %q, want %q", files, want)
	}
	tsc, err := filepath.Abs("../../build/ast/node_modules/typescript/lib/tsc.js")
	if err != nil {
		t.Fatal(err)
	}
	b.run("node", tsc, "--strict", "--target", "es2022", "--module", "commonjs", "--outDir", "out", "immer.ts",
		"types/globals.d.ts", "types/node.d.ts")
	got := b.run("node", "-e", `globalThis.__DEV__ = true; const i = require("./out/immer.js");
console.log(JSON.stringify(i.produce({a: [1]}, d => { d.a.push(2) })), i.canBeDrafted({}), i.isDraftable)`)
	if got != "{\"a\":[1,2]} true undefined\n" {
		t.Errorf("it says %q", got)
	}
	raw, e := b.call("ast_external", `{"provider":"typescript-language-server","request":{"method":"textDocument/definition",`+
		`"params":{"textDocument":{"uri":"file:///core/current.ts"},"position":{"line":8,"character":3}}}}`)
	if e != nil || !strings.Contains(raw, `"file:///utils/common.ts"`) {
		t.Errorf("%s, %v", raw, e)
	}
}
