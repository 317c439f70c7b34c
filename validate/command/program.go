package command

import (
	_ "embed"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/validate/code"
	"github.com/threegate/tool-exec/validate/document"
	"github.com/threegate/tool-exec/validate/reach"
)

// Bounds of following wrappers.
const (
	maxDepth    = 6        // wrappers around wrappers
	maxPrograms = 200      // that are judged
	maxWords    = 64 << 10 // of all of them: each wrapper's are those of the next one, too
	maxSuffixes = 64       // words of one command at which another may begin
)

const (
	oneProgram  = "name the program itself: a request runs one program and no shell"
	noPrivilege = "remove it: programs run unprivileged in a sandbox of their own"
)

//go:embed programs.txt
var programsText string

// programs are the names that programs.txt lists, by role.
var programs = func() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for line := range strings.Lines(programsText) {
		role, names, _ := strings.Cut(line, " ")
		if out[role] == nil {
			out[role] = map[string]bool{}
		}
		for _, name := range strings.Fields(names) {
			out[role][name] = true
		}
	}
	return out
}()

func is(role, name string) bool { return programs[role][name] }

// program looks at what argv asks for. Wrappers call it again for the command
// that they start.
func (c *checker) program(argv []word, depth int) {
	if len(argv) == 0 || c.programs >= maxPrograms {
		return
	}
	first := argv[0]
	c.programs++
	if c.words += len(argv); c.words > maxWords || depth > maxDepth {
		c.programs = maxPrograms
		c.add("sec.shell.wrapped", first.offset, "too many wrappers around wrappers", oneProgram)
		return
	}
	name := baseName(first.text)
	switch {
	case strings.TrimSpace(first.text) == "":
		c.add("sec.shell.syntax", first.offset, "the program has no name", "write the program's name first")
	case first.text == "$" || first.text == "%" || first.text == ">":
		c.add("sec.shell.syntax", first.offset, "the command starts with a prompt", "remove the "+first.text)
	case code.IsShell(first.text):
		c.shell(argv, depth)
		return
	case is("builtin", name) && !strings.Contains(first.text, "/"):
		c.add("sec.shell.builtin", first.offset, document.Quote(name)+" is a command of a shell, not a program",
			oneProgram)
	case is("privileged", name):
		c.add("sec.privilege", first.offset, document.Quote(name)+" asks for privileges that no run has", noPrivilege)
		c.paths("", argv[1:], nil)
		c.wrapped(argv[1:], depth)
		return
	case is("remote", name):
		c.add("sec.shell.wrapped", first.offset, document.Quote(name)+" opens a shell on another host", oneProgram)
	case is("runner", name):
		c.add("sec.shell.wrapped", first.offset, document.Quote(name)+" starts commands through a shell", oneProgram)
		for _, w := range argv[1:] {
			c.inner(w, depth)
		}
	}
	if what, ok := reach.Installs(texts(argv)); ok {
		c.installs(first, what)
	}
	c.network(name, argv)
	a, lang, interprets := askedOf(argv)
	c.paths(name, argv, slices.Concat(a.code, a.patterns))
	switch {
	case is("wrapper", name):
		c.wrapped(argv[1:], depth)
	case interprets:
		c.interpreter(lang, a, argv)
	case name == "find" || name == "gfind":
		c.find(argv[1:], depth)
	case !is("reader", name):
		c.hidden(name, argv[1:], depth)
	}
}

// shell reports a shell and looks at what it is told to run.
func (c *checker) shell(argv []word, depth int) {
	rule, what := "sec.shell.program", "the program is a shell: "
	if depth > 0 {
		rule, what = "sec.shell.wrapped", "a shell hides behind a wrapper: "
	}
	c.add(rule, argv[0].offset, what+document.Quote(argv[0].text), oneProgram)
	for i, w := range argv[1:] {
		if runsNext(w.text) && i+2 < len(argv) {
			c.inner(argv[i+2], depth)
			return
		}
	}
	c.paths("", argv[1:], nil)
}

// runsNext says whether a shell's option makes it run the next word.
func runsNext(option string) bool {
	return strings.HasPrefix(option, "-") && strings.HasSuffix(option, "c")
}

// inner checks a command line that is one word of the outer one. Its findings
// stand at that word.
func (c *checker) inner(w word, depth int) {
	if depth >= maxDepth || len(w.text) > MaxBytes {
		return
	}
	in := &checker{programs: c.programs, words: c.words}
	var words []word
	for _, f := range strings.Fields(lineOption.ReplaceAllString(w.text, "")) {
		words = append(words, word{text: strings.Trim(f, `"';|&`)})
	}
	in.program(words, depth+1)
	in.wrapped(words, depth+1)
	c.programs, c.words = in.programs, in.words
	for _, n := range in.notes {
		c.add(n.Rule, w.offset, n.Message, n.Hint)
	}
}

// lineOption matches an option before its value that is a command line: env's -S.
var lineOption = regexp.MustCompile(`^-(?:[iv0]*S|-[\w-]+=)`)

// wrapped judges the command that a program starts: it begins at the first word that
// names a program that the rules know.
func (c *checker) wrapped(argv []word, depth int) {
	for i, w := range argv[:min(len(argv), maxSuffixes)] {
		switch {
		case c.knows(argv[i:]):
			c.program(argv[i:], depth+1)
			return
		case strings.ContainsAny(w.text, " \t"), lineOption.MatchString(w.text):
			c.inner(w, depth)
		}
		c.variable(w)
	}
}

// knows says whether the rules know the program that argv begins with.
func (c *checker) knows(argv []word) bool {
	name := baseName(argv[0].text)
	for _, role := range []string{"wrapper", "privileged", "remote", "runner", "reader", "network"} {
		if is(role, name) {
			return true
		}
	}
	_, _, interprets := interpreterOf(name)
	_, installs := reach.Installs(texts(argv))
	return interprets || installs || name == "find" || code.IsShell(argv[0].text)
}

func texts(argv []word) []string {
	out := make([]string, len(argv))
	for i, w := range argv {
		out[i] = w.text
	}
	return out
}

func baseName(s string) string { return strings.TrimSuffix(path.Base(s), ".exe") }

// find looks at the commands that find starts for each file.
func (c *checker) find(args []word, depth int) {
	for i := 0; i < len(args); i++ {
		switch args[i].text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := len(args)
			if n := slices.IndexFunc(args[i+1:], func(w word) bool { return w.text == ";" || w.text == "+" }); n >= 0 {
				end = i + 1 + n
			}
			c.program(args[i+1:end], depth+1)
			i = end
		}
	}
}

// shellInside matches a shell that is told to run a command, as part of an argument.
var shellInside = regexp.MustCompile(`(?:^|[\s=:|!("'/,])(?:ba|da|z|k|a|c|tc|fi)?sh\s+-[a-z]*c\b`)

// startsAt says whether the word at i, a shell's name, is no option's value, or has
// an option to run the next word behind it.
func startsAt(args []word, i int) bool {
	if i+1 < len(args) && runsNext(args[i+1].text) {
		return true
	}
	return i == 0 || !strings.HasPrefix(args[i-1].text, "-") || args[i-1].text == "--"
}

// shellOption matches an option by which a program starts the one that is named.
var shellOption = regexp.MustCompile(`^--?[\w-]*(?:command|exec|rsh)[\w-]*=(\S+)`)

// hidden finds a shell among the arguments of a program that is not known: as one
// argument with a command, or as a word with an option to run the next one.
func (c *checker) hidden(name string, args []word, depth int) {
	for i, w := range args {
		named := shellOption.FindStringSubmatch(w.text)
		switch {
		case shellInside.MatchString(w.text), named != nil && code.IsShell(named[1]):
			c.add("sec.shell.wrapped", w.offset,
				document.Quote(name)+" is told to start a shell: "+document.Quote(w.text), oneProgram)
			return
		case code.IsShell(w.text) && !strings.HasPrefix(w.text, "/in/") && startsAt(args, i):
			c.shell(args[i:], depth+1)
			return
		}
	}
}
