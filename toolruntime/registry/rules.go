package registry

// OnCommit is the When of rules that are looked at by a commit.
const OnCommit = "git_commit"

// Rule is one of section 7.
type Rule struct {
	ID string
	// Level is what the specification names for it.
	Level Level
	// When it is looked at.
	When string
	// What it demands.
	What string
}

// Rules are those of section 7, in its order.
var Rules = []Rule{
	{"sec.network.allowlist", Blocking, "curl, git_pull",
		"the host is one of network.allowed_domains, after each of at most three redirects"},
	{"sec.shell.allowlist", Blocking, "shell_exec", "a pattern of shell_allow matches the command"},
	{"sec.paths.sandbox", Blocking, "every path", "the path lies below the workspace"},
	{"sec.git.clean_tree", Blocking, "git_commit, git_checkout, git_merge, git_rebase, git_push, git_pull",
		"no tracked file has changes that are not staged; but for a commit, none that are"},
	{"code.ast.parsed", Blocking, "file_write, file_patch, ast_edit, git_commit",
		"changed files of a known language parse"},
	{"build.must.pass", Blocking, OnCommit, "the build succeeds"},
	{"lint.must.pass", Blocking, OnCommit, "the linter is content"},
	{"fmt.must.pass", Blocking, OnCommit, "the formatter has nothing to change"},
	{"test.must.pass", Blocking, OnCommit,
		"each test that the source declares runs and passes (not one of the specification's)"},
	{"code.todo.blockers", Blocking, OnCommit,
		"no TODO or FIXME is added on a branch of git.protected_branches, which are all if it is not said"},
	{"test.required.changed", Blocking, OnCommit,
		"where code gains lines a test does, too; or the message has a line Tests-Not-Needed: WHY"},
	{"secrets.scan", Blocking, OnCommit, "neither the change nor the message adds a secret"},
	{"code.fn.docs.exported", Blocking, OnCommit, "no exported function without documentation is added"},
	{"code.no.panic.in.lib", Warning, OnCommit, "no panic is added to library code (Go, Rust)"},
	{"code.no.unwrap", Warning, OnCommit, "no .unwrap() is added but in tests (Rust)"},
	{"code.mod.import.rules", Blocking, OnCommit,
		"no import is added that the registry's ast.imports do not allow"},
	{"commit.message.conventional", Warning, OnCommit,
		"the message is one of Conventional Commits: type(scope): what it does, then an empty line"},
	{"branch.naming.convention", Warning, "git_checkout with create, git_push",
		"the name of a new branch is main, master, develop or type/short-name"},
}
