package schemas

// toolRules are rules about the patch of a run of threegate-tools (the Tool Runtime's section 7). A registry says
// which of them hold and whether they block; those named sec.* and tools.* always hold.
var toolRules = []Rule{
	{ID: "tools.patch.form", Level: SeverityBlocking, Must: true, Applies: forResult,
		Title: "A patch is as git diff writes it",
		Why:   "What can't be read to its last line can't be judged, and two programs may read it differently.",
		Bad:   "a line between two hunks that git apply skips", Good: "diff --git a/x.py b/x.py, and whole hunks",
		Hint: "Let threegate-tools run write changes.patch, and let no program of the plan change it. A patch " +
			"above 8 MiB can't be judged.",
		Source: "design section 1, Sandbox output is hostile data"},
	{ID: "tools.registry", Level: SeverityBlocking, Must: true, Applies: forBoth,
		Title: "A run of tools has one registry, and the gate can read it",
		Why:   "The gate holds the patch to the same registry that the tools were held to, as it was approved.",
		Bad:   "threegate-tools run /in/plan.jsonl --registry /tmp/registry.yaml",
		Good:  "threegate-tools run /in/plan.jsonl, and the input /in/registry.yaml",
		Hint: "Put registry.yaml next to the plan, as an input, or name another input by --registry. A profile brings " +
			"its own: send none.",
		Source: "tool runtime, section 4; docs/tools.md"},
	{ID: "tools.outputs", Level: SeverityBlocking, Must: true, Applies: forRequest,
		Title: "Under a profile, files leave as a patch",
		Why:   "The rules of a profile are about a patch. A file that leaves with it would be held to none.",
		Bad:   "- /out/work/main.py: the program", Good: "- /out/changes.patch: what was changed",
		Hint:   "Declare changes.patch, responses.jsonl and timeline.jsonl only.",
		Source: "tool runtime, section 7; docs/tools.md"},
	{ID: "tools.command", Level: SeverityBlocking, Must: true, Applies: forRequest,
		Title: "Under a profile, a run of tools is not wrapped",
		Why: "Only a command that begins with threegate-tools run has the pipe for the record of its calls. Behind " +
			"env, nice, timeout or a path there is none, and an auditor could not tell which calls were made.",
		Bad: "timeout 60 threegate-tools run /in/plan.jsonl", Good: "threegate-tools run --max-time 60s /in/plan.jsonl",
		Hint: "Begin the command with the words threegate-tools run. Its own options bound time, calls and bytes; " +
			"time_limit_sec bounds the run.",
		Source: "tool runtime, section 8; docs/tools.md"},
	{ID: "sec.paths.sandbox", Level: SeverityBlocking, Must: true, Applies: forResult,
		Title: "A patch changes files of the workspace only",
		Why:   "Whoever applies the patch must not write to another place, to git's own files, or through a link.",
		Bad:   "+++ b/../x, +++ b/.git/config, a new link to /etc", Good: "+++ b/src/x.py",
		Hint:   "Keep to files below the workspace.",
		Source: "tool runtime, section 7"},
	{ID: "code.todo.blockers", Level: SeverityBlocking, Applies: forResult, Release: ReleaseText,
		Title: "A patch adds no TODO and no FIXME",
		Why:   "Work that is left is work that somebody else finds.",
		Bad:   "+# TODO: handle errors", Good: "+# errors are handled by the caller",
		Hint:   "Do it, or write it where tasks are kept.",
		Source: "tool runtime, section 7"},
	{ID: "tools.recheck", Level: SeverityBlocking, Must: true, Applies: forResult,
		Title: "A patch whose registry asks for a build, tests or rules of code was judged in a second sandbox",
		Why: "A program of the first run can lie about what was built and tested there. What nobody judged is not " +
			"delivered.",
		Bad: "a second run that ran out of time", Good: "a second run with exit code 0, 1 or 3",
		Hint:   "Look at the folder recheck of the job; give the request more time, or the profile more room.",
		Source: "tool runtime, section 7; docs/tools.md"},
	mustPass("build", "The source builds with the patch", "code that does not compile", "code that compiles"),
	mustPass("lint", "The linter is content with the patch", "an unused variable", "a variable that is used"),
	mustPass("fmt", "The formatter has nothing to change in the patch", "x=1 where it writes x = 1", "x = 1"),
	mustPass("test", "The tests pass with the patch", "a test that fails, or that is skipped now", "tests that pass"),
	ofCode("code.ast.parsed", SeverityBlocking, "Changed files of a known language parse", "x = (1", "x = (1)"),
	ofCode("code.fn.docs.exported", SeverityBlocking, "A patch adds no exported function without documentation",
		"func Open() {}", "// Open opens it."),
	ofCode("code.no.panic.in.lib", SeverityWarning, "A patch adds no panic to library code", "panic(err)",
		"return err"),
	ofCode("code.no.unwrap", SeverityWarning, "A patch adds no .unwrap() but in tests", "file.unwrap()", "file?"),
	ofCode("code.mod.import.rules", SeverityBlocking, "A patch adds only imports that the registry allows",
		"an import of net/http where ast.imports denies it", "an import that ast.imports allows"),
	{ID: "test.required.changed", Level: SeverityBlocking, Applies: forResult, Release: ReleaseText,
		Title: "A change of code comes with a change of tests",
		Why:   "A change that no test knows of can be undone unseen.",
		Bad:   "a patch of src/x.py alone", Good: "a patch of src/x.py and tests/test_x.py",
		Hint:   "Change a test too.",
		Source: "tool runtime, section 7"},
	ofNames("commit.message.conventional", "A commit's message is one of Conventional Commits",
		"fixed stuff", "fix(parser): keep empty lines",
		"Write type(scope): what it does, then an empty line. threegate-tools schema --markdown lists the types."),
	ofNames("branch.naming.convention", "A new branch has the name type/short-name",
		"My_Branch", "fix/empty-lines", "Name it such as feat/token-parser or fix/issue-12."),
}

// ofNames is a rule about what only a plan and its commits say. A plan is judged before it runs; the commits of a run
// under a profile are in a second sandbox, since a program of the run can make some, too.
func ofNames(id, title, bad, good, hint string) Rule {
	return Rule{ID: id, Level: SeverityWarning, Applies: forBoth, Release: ReleaseText, Title: title,
		Why: "Whoever reads the history later has only these words, and programs make change logs and releases of " +
			"them.",
		Bad: bad, Good: good, Hint: hint, Source: "tool runtime, section 7; docs/tools.md"}
}

// mustPass is a rule that is judged with a toolchain, in a second sandbox.
func mustPass(what, title, bad, good string) Rule {
	return Rule{ID: what + ".must.pass", Level: SeverityBlocking, Applies: forResult, Release: ReleaseText,
		Title: title,
		Why: "Whoever gets the patch should not be the first to try it. It is tried in a fresh sandbox, with the " +
			"request's inputs and nothing that the first run left.",
		Bad: bad, Good: good,
		Hint:   hintRecheck,
		Source: "tool runtime, section 7; test.must.pass is one of this project's"}
}

const hintRecheck = "Mend what the explanation names: it lies in the job's folder, as recheck/stdout."

// ofCode is a rule that knows code by its structure. It is judged in a second sandbox, too: a patch does not show
// files whole.
func ofCode(id string, level Severity, title, bad, good string) Rule {
	return Rule{ID: id, Level: level, Applies: forResult, Release: ReleaseText, Title: title,
		Why: "What a run says of its own work can be forged by what it ran. So the base and the patch are compared " +
			"in a fresh sandbox. What was there before is no violation.",
		Bad: bad, Good: good, Hint: hintRecheck, Source: "tool runtime, section 7; docs/tools.md"}
}
