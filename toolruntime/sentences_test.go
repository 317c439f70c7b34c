package toolruntime

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sentences are those of sections 1 to 11 of the specification that say what a runtime does, each with the test that
// holds it, or with why none does.
var sentences = []struct{ section, sentence, test string }{
	{"1", "Session: Authenticated context for a set of tool calls.", "TestIds"},
	{"1", "Registry: Declarative config for tools, rules, and policies.", "TestRegistry"},
	{"1", "Coordinator: Optional planner/enforcer for budgets and policy.", "TestBudgets"},
	{"2", "Messages & Envelopes (JSON): ToolRequest, ToolResponse, EventMessage, ErrorMessage, Heartbeat", "TestSpecificationExamples"},
	{"2", "Transport is out-of-scope", "TestServe"},
	{"3", "Canonical error codes", "TestSchemaPrints"},
	{"3", "Network egress must match domain allowlist.", "TestRefused"},
	{"3", "Shell commands must match allowlist regex; redact sensitive env.", "TestShell"},
	{"3", "Paths must resolve under the workspace root (unless override).", "TestNothingOutside"},
	{"3", "Mutating git operations require a clean tree and validation pass.", "TestEveryWayIsJudged"},
	{"4", "Load per-session or at startup.", "TestRegistry"},
	{"4", "the registry's example", "TestSpecificationExample"},
	{"5", "Tool Catalog (Contracts): arguments and results as they are printed", "TestContracts"},
	{"6", "fs_*: Sandboxed to workspace", "TestNothingOutside"},
	{"6", "fs_move: Write locks", "TestLocks"},
	{"6", "fs_copy: Preserve perms optional", "TestWriteKeepsOrSetsTheMode"},
	{"6", "fs_delete: Safe defaults", "TestMoveCopyDelete"},
	{"6", "file_read: Size-limited", "TestReadIsBounded"},
	{"6", "file_write: Triggers AST refresh", "TestGuard"},
	{"6", "grep: Skips binary/vendor by default", "TestGrep"},
	{"6", "proc_list: Redacts secrets", "TestProcList"},
	{"6", "shell_exec: Allowlisted", "TestShell"},
	{"6", "git_commit: Validation gate", "TestRules"},
	{"6", "git_checkout: Dirty tree blocked", "TestMistakes"},
	{"6", "git_rebase: Clean tree required", "TestPull"},
	{"6", "git_push: Policy-gated", "TestPush"},
	{"6", "git_pull: Policy-gated", "TestPullFromServer"},
	{"6", "ast_edit: Auto-format/validate", "TestValidateBuild"},
	{"6", "ast_validate: Blocking/warning", "TestValidate"},
	{"6", "ast_external: LSP/Semgrep bridge", "TestExternal"},
	{"6", "validate: Enqueues fixes", "no: it returns hints; nothing is queued"},
	{"6", "emit_metrics: Rollups", "TestTimeline"},
	{"7", "host in allowlist; redirects ≤ 3", "TestRedirects"},
	{"7", "no unstaged changes; validation pass", "TestEveryWayIsJudged"},
	{"7", "files parse without errors", "TestGuard"},
	{"7", "build succeeds; linter passes; formatter check passes", "TestRulesOfToolchains"},
	{"7", "disallow TODO/FIXME in protected branches", "TestProtectedBranches"},
	{"7", "code change requires test change or override", "TestRules"},
	{"7", "diff secrets scan", "TestEveryWayIsJudged"},
	{"7", "exported fns must have docs; no panic! in library code; flag .unwrap() in non-tests; enforce import boundaries", "TestRulesOfCode"},
	{"7", "Conventional Commits; branch naming patterns", "TestConventions"},
	{"7", "Rule Pack example", "TestRaise"},
	{"8", "Pre-checks: Policy/budget checks, file locks.", "TestCancelledWhileItWaits"},
	{"8", "Execute: SDK runs tool; logs timeline {tool, args_hash, start_ts, end_ts}.", "TestTimeline"},
	{"8", "Sync: AST reparse on code change; update indices.", "TestGuard"},
	{"8", "Validate: Run rules; emit violations.", "TestRulesOfChanges"},
	{"8", "Emit: Metrics via EventMessage or metrics channel.", "TestTimeline"},
	{"8", "Per-file write locks; AST writes serialize.", "TestLocks"},
	{"8", "Request count, duration, files touched, errors, bytes, etc.", "TestTimeline"},
	{"9", "FS 10s; Git 30s; Shell 10m; Curl 15s; AST gen 5m; AST edit 30s; Grep 10s.", "TestLimits"},
	{"9", "Max stdout capture 5 MiB; Max HTTP body 5 MiB.", "TestOutputIsBounded"},
	{"9", "proc_list returns ≤50 rows unless specified.", "TestLimits"},
	{"10", "The SDK envelopes map 1:1 to MCP message types; sessions and security apply identically.", "TestCalls"},
	{"11", "MAJOR.MINOR.PATCH", "TestLimits"},
}

// TestSentences holds the table to the tests that there are.
func TestSentences(t *testing.T) {
	there := map[string]bool{}
	for _, pattern := range []string{"*_test.go", "*/*_test.go", "../cmd/threegate-tools/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
				there[string(m[1])] = true
			}
		}
	}
	sections := map[string]bool{}
	for _, s := range sentences {
		sections[s.section] = true
		if !there[s.test] && !strings.HasPrefix(s.test, "no: ") {
			t.Errorf("section %s, %q: there is no test %s", s.section, s.sentence, s.test)
		}
	}
	if len(sections) != 11 {
		t.Errorf("of %d sections", len(sections))
	}
}

// TestLimits are those of section 9, and the version is of the form of section 11.
func TestLimits(t *testing.T) {
	want := map[string]string{"fs_list": "10s", "fs_move": "10s", "fs_copy": "10s", "fs_delete": "10s", "file_read": "10s",
		"file_write": "10s", "file_patch": "10s", "grep": "10s", "git_status": "30s", "git_diff": "30s", "git_add": "30s",
		"git_commit": "30s", "git_checkout": "30s", "git_merge": "30s", "git_rebase": "30s", "git_push": "30s", "git_pull": "30s",
		"shell_exec": "10m0s", "curl": "15s", "ast_generate": "5m0s", "ast_edit": "30s"}
	for _, tool := range Contracts() {
		if limit := want[tool.Name]; limit != "" && tool.Timeout.String() != limit {
			t.Errorf("%s has %s, not %s", tool.Name, tool.Timeout, limit)
		}
		if tool.Name == "proc_list" && string(tool.Args.Doc.Properties["limit"].Default) != "50" {
			t.Errorf("proc_list returns %s", tool.Args.Doc.Properties["limit"].Default)
		}
	}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(Version) {
		t.Errorf("the version is %q", Version)
	}
}
