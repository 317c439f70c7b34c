package toolruntime

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

// contracts are arguments and results as section 5 prints them, and what a result has more here.
var contracts = map[string]struct{ args, result, more string }{
	"fs_list": {`{"glob": "src/**/*.rs", "max_results": 5000, "include_hidden": false}`,
		`{"files": ["src/lib.rs", "src/auth/mod.rs"]}`, `{"truncated":false}`},
	"fs_move":   {`{"src": "path/from", "dst": "path/to", "overwrite": false}`, `{"moved": true}`, ``},
	"fs_copy":   {`{"src": "path/from", "dst": "path/to", "overwrite": false, "preserve_mode": true}`, `{"copied": true}`, ``},
	"fs_delete": {`{"path": "path/to/delete", "recursive": false, "force": false}`, `{"deleted": true}`, ``},
	"file_read": {`{"path": "src/lib.rs", "max_bytes": 1048576}`, `{"content": "...", "sha256": "…"}`, ``},
	"file_write": {`{"path": "src/auth.rs", "content": "…", "attribution": {"task_id": 42}, "create_dirs": true,
		"mode_octal": "0644"}`, `{"written": true, "bytes": 1024}`, ``},
	"file_patch": {`{"path": "src/lib.rs", "unified_diff": "..."}`, `{"patched": true, "hunks_applied": 3}`, `{"offsets":[0,0,0]}`},
	"proc_list": {`{"filter": "cargo|node", "limit": 50}`,
		`{"processes":[{"pid":1234,"cmd":"cargo build","cpu":0.3,"mem_mb":120.4}]}`, `{"truncated":false}`},
	"shell_exec": {`{"cmd":"cargo test -q","cwd":".","timeout_ms":600000,"env":{"RUSTFLAGS":""},"stdin":null,
		"allow_network":false}`, `{"code":0,"stdout":"…","stderr":""}`, `{"truncated":false}`},
	"curl": {`{"method":"GET","url":"https://doc.rust-lang.org/std/","headers":{"User-Agent":"tool-runtime-sdk/1.0"},
		"body":null,"timeout_ms":15000,"max_bytes":5242880}`, `{"status":200,"headers":{"content-type":"text/html"},
		"body_b64":"…","truncated":false}`, `{"url":"https://doc.rust-lang.org/std/"}`},
	"git_status": {`{"porcelain": true}`,
		`{"branch":"feat/x","ahead":1,"behind":0,"changes":[{"path":"src/lib.rs","status":"M"}]}`,
		`{"changes":[{"path":"src/lib.rs","status":"M","staged":true,"unstaged":false}]}`},
	"git_diff": {`{"rev":"HEAD","paths":["src/**"]}`, `{"patch":"diff --git …"}`, `{"lossy":false}`},
	"git_add":  {`{"paths":["src/**"]}`, `{"added":12}`, ``},
	"git_commit": {`{"message":"feat(auth): add token parser","signoff":true,"allow_empty":false}`,
		`{"commit":"abcd1234"}`, `{"warnings":[]}`},
	"git_checkout": {`{"target":"feature/branch","create":false,"track":true}`, `{"checked_out":true}`, `{"warnings":[]}`},
	"git_merge": {`{"branch":"main","no_ff":true}`, `{"merged":true,"conflicts":[]}`,
		`{"warnings":[],"sides":[],"ours":"","theirs":""}`},
	"git_rebase": {`{"onto":"origin/main","autosquash":true}`, `{"rebased":true}`,
		`{"conflicts":[],"warnings":[],"sides":[],"ours":"","theirs":""}`},
	"git_push": {`{"remote":"origin","refspec":"HEAD:refs/heads/feature","force":false}`, `{"pushed":true}`, `{"warnings":[]}`},
	"git_pull": {`{"remote":"origin","rebase":true}`, `{"pulled":true}`,
		`{"branch":"origin/main","conflicts":[],"warnings":[],"sides":[],"ours":"","theirs":""}`},
	"ast_generate": {`{"paths":["src/**/*.rs"],"language":"rust","incremental":true,"max_files":5000}`,
		`{"parsed_files":123,"errors":[]}`, `{"truncated":false}`},
	"ast_query": {`{"where":{"type":"fn","name_like":"auth*","file_glob":"src/**"},"limit":200}`,
		`{"nodes":[{"id":"n1","type":"fn","name":"auth_login","file":"src/auth.rs","span":{"start":120,"end":240}}]}`,
		`{"nodes":[{"id":"n1","type":"fn","name":"auth_login","file":"src/auth.rs","span":{"start":120,"end":240},"line":7,
		"exported":true,"documented":false}],"truncated":false}`},
	"ast_validate": {`{"rules":[{"id":"exported_fn_docs","enforcement":"blocking","where":{"type":"fn","exported":true},
		"must_have":["docstring"]}]}`,
		`{"violations":[{"rule":"exported_fn_docs","node_id":"n42","message":"Missing rustdoc"}]}`, `{"violations":[{"rule":"exported_fn_docs","node_id":"n42",
		"message":"Missing rustdoc","file":"src/lib.rs","line":1}],"truncated":false}`},
	"ast_edit": {`{"operation":"rename_symbol","target_node_id":"n1","new_name":"auth_signin","format_on_save":true,
		"validate_build":true}`, `{"edited":true,"files_touched":["src/auth.rs"]}`, `{"replacements":1,"skipped":0}`},
	"ast_external": {`{"provider":"rust-analyzer","request":{"method":"textDocument/documentSymbol",
		"params":{"uri":"file:///…"}}}`, `{"provider":"rust-analyzer","response":{"…":"…"}}`, `{"unfinished":false}`},
	// Of these the specification names the keys only.
	"validate": {`{"rule_id":"secrets.scan","enforcement":"blocking","glob":"src/**"}`, `{"violations":[{"rule":"secrets.scan",
		"path":"src/x.rs","line":1,"message":"...","hint":"..."}]}`, `{"checked":["secrets.scan"],"notes":[]}`},
	"emit_metrics": {`{"interval":60,"session_id":"sess-123"}`, `{"status":"ok"}`, `{"metrics":{"requests":1}}`},
	"grep": {`{"pattern":"panic!", "glob":"src/**", "case_sensitive":false, "max_results":1000}`,
		`{"matches":[{"file":"src/x.rs","line":12,"col":8,"snippet":"…"}]}`, `{"truncated":false}`},
}

// TestContracts holds every tool to the specification's example, by a JSON Schema library
// that did not make the schemas, and by the Go types.
func TestContracts(t *testing.T) {
	tools := Contracts()
	for _, tool := range tools {
		c, ok := contracts[tool.Name]
		if !ok {
			t.Errorf("%s has no example", tool.Name)
			continue
		}
		check(t, tool.Name+" arguments", tool.Args, c.args)
		if _, err := tool.Prepare([]byte(c.args)); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
		check(t, tool.Name+" result", tool.Result, merge(t, c.result, c.more))
		if bad := merge(t, c.args, `{"unknown":1}`); compile(t, tool.Args).Validate(value(t, bad)) == nil {
			t.Errorf("%s takes %s", tool.Name, bad)
		}
		if tool.Purpose == "" || tool.Timeout <= 0 {
			t.Errorf("%s has no purpose or no limit of time", tool.Name)
		}
	}
	if len(tools) != len(contracts) {
		t.Errorf("%d tools for %d examples", len(tools), len(contracts))
	}
}

func check(t *testing.T, name string, s *contract.Schema, example string) {
	t.Helper()
	if err := compile(t, s).Validate(value(t, example)); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

func compile(t *testing.T, s *contract.Schema) *jsonschema.Schema {
	t.Helper()
	raw, err := json.Marshal(s.Doc)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:test", value(t, string(raw))); err != nil {
		t.Fatal(err)
	}
	out, err := c.Compile("urn:test")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func value(t *testing.T, raw string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(raw)))
	if err != nil {
		t.Fatal(err, raw)
	}
	return v
}

func merge(t *testing.T, a, b string) string {
	t.Helper()
	m := map[string]any{}
	for _, raw := range []string{a, b} {
		if raw != "" && json.Unmarshal([]byte(raw), &m) != nil {
			t.Fatal(raw)
		}
	}
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
