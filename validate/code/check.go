package code

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/document"
	"github.com/threegate/tool-exec/validate/reach"
)

// MaxNotes bounds what Check returns.
const MaxNotes = 200

// Notes are findings, one of each rule at a place.
type Notes []document.Note

// Add adds n, unless there is one like it, or MaxNotes are there.
func (ns *Notes) Add(n document.Note) {
	same := func(o document.Note) bool { return o.Rule == n.Rule && o.Offset == n.Offset }
	if len(*ns) < MaxNotes && !slices.ContainsFunc(*ns, same) {
		*ns = append(*ns, n)
	}
}

// Bounds of reading.
const (
	maxNested   = 3    // code in literals of code in literals
	maxBrackets = 1000 // brackets in brackets
)

// RuleNetwork is the rule about a network that a request uses and does not declare.
// Who knows what the request declares drops its notes.
const RuleNetwork = "request.network.undeclared"

const (
	processHint = "do the work in the program itself: a request runs one program and no shell"
	montyHint   = "remove it: monty has no processes, it would fail at run time"
	installHint = "remove it; ask for an image that holds the package already"
	networkHint = "bring the data along as an input, or declare network: allowlist"
	pathHint    = "only /in, /out and /tmp exist in a sandbox: pass the file as an input below /in"
)

// Options say for whom code is judged.
type Options struct {
	// Monty is pydantic's interpreter, which has no processes: hints say so.
	Monty bool
}

// Check reports what src must not do. Offsets are those of src.
func Check(lang Language, src string, opt Options) []document.Note {
	c := &checker{lang: lang, opt: opt}
	c.check(src, 0, 0)
	return c.notes
}

// CheckModule reports what loading the module gives code the means to do. Offsets are 0.
func CheckModule(lang Language, module string) []document.Note {
	c := &checker{lang: lang}
	c.module(0, module)
	return c.notes
}

type checker struct {
	lang  Language
	opt   Options
	notes Notes
}

// source is one text that is judged: the code itself, or code in a literal of it.
type source struct {
	*checker
	src     string
	ts      []Token
	depth   int
	base    int // where a literal's code stands
	defined map[string]bool
	aliases map[string]string
	open    []bracket
}

// bracket is a bracket that is open.
type bracket struct {
	callee string // the function whose arguments it holds
	arg    int    // how many arguments stand before
	list   bool
}

func (c *checker) check(src string, base, depth int) {
	s := &source{checker: c, src: src, ts: join(c.lang, Tokens(c.lang, src)), depth: depth, base: base}
	s.definitions()
	if c.lang == Python {
		s.imports()
	}
	for i, t := range s.ts {
		switch t.Kind {
		case Name:
			s.name(i)
		case String:
			s.text(i)
		case Shell:
			s.process(s.at(i), "`"+t.Text+"`")
		case Code:
			s.inner(i)
		case Regex:
			if _, code, ok := strings.Cut(t.Text, "?{"); ok && c.lang == Perl && depth < maxNested {
				s.check(code, s.at(i), depth+1) // (?{ code })
			}
		case Punct:
			s.punct(i)
		}
	}
}

// at is where the finding about a token stands. Code in a literal has no better
// place than the literal.
func (s *source) at(i int) int {
	if s.depth > 0 {
		return s.base
	}
	return s.ts[i].Offset
}

// inner judges the literal at i as code.
func (s *source) inner(i int) {
	if s.depth < maxNested {
		s.check(s.ts[i].Text, s.at(i), s.depth+1)
	}
}

// punct keeps the list of open brackets.
func (s *source) punct(i int) {
	last := len(s.open) - 1
	switch s.ts[i].Text {
	case "(", "[", "{":
		if len(s.open) == maxBrackets {
			return
		}
		b := bracket{list: s.ts[i].Text == "["}
		if s.ts[i].Text == "(" && i > 0 && s.ts[i-1].Kind == Name {
			b.callee, _ = s.qualified(i - 1)
		}
		s.open = append(s.open, b)
	case ")", "]", "}":
		if last < 0 {
			return
		}
		s.open = s.open[:last]
	case ",":
		if last >= 0 {
			s.open[last].arg++
		}
	}
}

// name judges the name at i.
func (s *source) name(i int) {
	switch s.textOf(i - 1) {
	case "def", "function", "sub", "class", "@":
		return
	}
	name, head := s.qualified(i)
	called := s.called(i)
	before := s.textOf(head - 1)
	if s.lang == Perl && (before == "use" || before == "require") && s.textOf(i+1) != "::" {
		s.module(s.at(i), name)
		return
	}
	switch at := s.at(i); {
	case s.does(starts, name, called):
		s.process(at, name)
	case s.does(installs, name, called):
		s.install(at, name)
	case s.does(privileges, name, called):
		s.add("sec.privilege", at, "the code asks for privileges that no run has: "+document.Quote(name),
			"remove it: programs run unprivileged in a sandbox of their own")
	case s.does(homes, name, called):
		s.add("sec.paths.host", at, document.Quote(name)+" names a home folder of the host", pathHint)
	case s.does(networks, name, called):
		s.network(at, name)
	case s.does(runs, name, called):
		s.dynamic(i, name)
	}
}

// does says whether the function has the role where its name stands. A name alone
// means nothing unless it is called.
func (s *source) does(r role, name string, called bool) bool {
	dot := strings.LastIndexAny(name, ".:>")
	switch {
	case dot < 0 && (!called || s.defined[name]):
		return false
	case s.lang.has(false, r, name):
		return true
	case dot < 0:
		return false
	}
	if i := strings.LastIndexByte(name[:dot], '.'); i >= 0 && s.lang.has(false, r, name[i+1:]) { // platform.os.system
		return true
	}
	return called && s.lang.has(false, r, "*."+name[dot+1:])
}

// dynamic warns of the function at i, which runs text, if the text is no literal. Text
// that is decoded on the way is refused: it shows a reviewer something else.
func (s *source) dynamic(i int, name string) {
	from, end := i+1, ";"
	if s.textOf(from) == "{" {
		return // a block, which is judged as it stands there
	}
	if s.textOf(from) == "(" {
		from, end = from+1, ")"
	}
	if from < len(s.ts) && s.ts[from].Kind == String {
		if next := s.textOf(from + 1); next != "." && next != "[" && next != "%" {
			return // judged as code
		}
	}
	if s.lang == Ruby && s.textOf(from) == ":" { // send(:system, ...)
		if method := s.textOf(from + 1); s.does(starts, method, true) {
			s.process(s.at(i), name+" :"+method)
		}
		return
	}
	const message, hint = "the code runs text that no reviewer can read: ", "write the code out"
	const maxArguments = 60
	depth := 0
	for j := from; j < min(len(s.ts), from+maxArguments); j++ {
		t := s.ts[j]
		if depth == 0 && t.Kind == Punct && t.Text == end {
			break
		}
		switch {
		case t.Kind == Name:
			if full, _ := s.qualified(j); s.does(decodes, full, true) {
				s.notes.Add(document.Note{Rule: "sec.code.dynamic", Severity: schemas.SeverityBlocking,
					Offset: s.at(i), Message: message + document.Quote(name), Hint: hint})
				return
			}
		case t.Kind == Punct && t.Text == "(":
			depth++
		case t.Kind == Punct && t.Text == ")":
			depth--
		}
	}
	s.add("sec.code.dynamic", s.at(i), message+document.Quote(name), hint)
}

// text judges the literal at i.
func (s *source) text(i int) {
	t := s.ts[i]
	if s.lang == Python && len(s.open) == 0 && standsAlone(s.src, t) {
		return // documentation: a comment in all but name
	}
	call := s.takes(i)
	s.installing(i, call.callee)
	opens := s.lang.call(files, call.callee)
	switch {
	case call.arg == 0 && s.lang.call(loads, call.callee):
		s.module(s.at(i), t.Text)
	case s.lang.call(runs, call.callee):
		s.inner(i)
	case call.arg == 0 && (opens || s.lang.call(networks, call.callee)) && remoteURL(t.Text):
		s.network(s.at(i), t.Text)
	}
	switch {
	case call.arg == 0 && s.lang.call(patterns, call.callee):
	case s.lang.call(writes, call.callee) && call.arg > 0:
		s.paths(i, reach.Literal)
	case (s.lang == Perl || s.lang == Ruby) && isPipe(t.Text) && (opens || s.pipes(i)):
		s.process(s.at(i), t.Text)
	case opens, s.lang.call(writes, call.callee):
		s.paths(i, reach.Used)
	default:
		s.paths(i, reach.Literal)
	}
}

// installing looks for a command that installs something, with which the literal at i
// begins. One that is only shown, or sought in other text, is none.
func (s *source) installing(i int, callee string) {
	text := s.ts[i].Text
	if !reach.BeginsInstall(text) || s.lang.call(shows, callee) {
		return
	}
	found := reach.InstallsInText(text)
	if len(found) == 0 {
		return
	}
	before, after := strings.TrimSpace(text[:found[0].Offset]), text[found[0].End:]
	words := after == "" && len(s.open) > 0 && s.open[len(s.open)-1].list // may be a table of words
	next := slices.Contains([]string{".", "in", "=~", ":"}, s.textOf(i+1))
	last := slices.Contains([]string{"==", "in", "=~"}, s.textOf(i-1))
	if (before == "" || before == "sudo") && !words && !next && !last && !spokenOf.MatchString(after) {
		s.install(s.at(i), found[0].Text)
	}
}

// spokenOf matches what follows an installation that a sentence speaks of.
var spokenOf = regexp.MustCompile(`^ (?:\S+ )?(?:is|was|are|were|means|and|or|runs|fails|failed|count)\b`)

// takes is the call that the literal at i is an argument of.
func (s *source) takes(i int) bracket {
	var call bracket
	if n := len(s.open); n > 0 {
		call = s.open[n-1]
	}
	if s.lang != Python && i > 0 && s.ts[i-1].Kind == Name { // puts "x"
		call.arg = 0
		call.callee, _ = s.qualified(i - 1)
	}
	if s.defined[call.callee] {
		call.callee = ""
	}
	return call
}

// pipes says whether the literal at i is an argument of Perl's open without brackets.
func (s *source) pipes(i int) bool {
	const reach = 8
	for j := i - 1; s.lang == Perl && j >= 0 && j > i-reach && s.ts[j].Text != ";"; j-- {
		if s.ts[j].Text == "open" {
			return true
		}
	}
	return false
}

// isPipe says whether Perl's and Ruby's open start a program of that name.
func isPipe(name string) bool {
	name = strings.TrimSpace(name)
	return strings.HasPrefix(name, "|") || strings.HasSuffix(name, "|")
}

// paths looks for paths in the literal at i.
func (s *source) paths(i int, ctx reach.Context) {
	text := s.ts[i].Text
	switch {
	case ctx == reach.Literal && text == "~":
		return
	case ctx == reach.Used && s.lang == Perl:
		text = strings.TrimLeft(text, "<>+ ") // open(F, "</etc/x")
	}
	for _, ref := range reach.Paths(text, ctx) {
		at := s.at(i)
		if s.depth == 0 {
			at = placeIn(s.src, s.ts[i], ref.Offset)
		}
		PathNote(ref, func(rule, message, hint string) { s.add(rule, at, message, hint) })
	}
}

// module judges a module that is loaded.
func (c *checker) module(at int, name string) {
	switch {
	case c.lang.module(starts, name):
		c.process(at, name)
	case c.lang.module(installs, name):
		c.install(at, name)
	case c.lang.module(networks, name):
		c.network(at, name)
	}
}

func (c *checker) add(rule string, at int, message, hint string) {
	c.notes.Add(document.Note{Rule: rule, Offset: at, Message: message, Hint: hint})
}

func (c *checker) process(at int, what string) {
	hint := processHint
	if c.opt.Monty {
		hint = montyHint
	}
	c.add("sec.shell.code", at, "the code starts another program: "+document.Quote(what), hint)
}

func (c *checker) install(at int, what string) {
	c.add("sec.packages", at, "the code installs packages: "+document.Quote(what), installHint)
}

func (c *checker) network(at int, what string) {
	c.add(RuleNetwork, at,
		"the code reaches for the network by "+document.Quote(what)+", and the request declares none", networkHint)
}

// standsAlone says whether a string is a statement of its own: nothing before
// it on its first line and nothing behind it on its last.
func standsAlone(src string, t Token) bool {
	const blanks = " \t\r\f\v"
	start := len(strings.TrimRight(src[:t.Offset], blanks)) // not by lines: a line can be the whole source
	if start > 0 && src[start-1] != '\n' || strings.HasSuffix(src[:max(start-1, 0)], `\`) {
		return false
	}
	after := strings.TrimLeft(src[t.End:], blanks)
	return after == "" || after[0] == '\n'
}

// placeIn is where an offset of a literal's value stands. A value that the source
// spells otherwise has only the literal's place.
func placeIn(src string, t Token, offset int) int {
	if i := strings.Index(src[t.Offset:t.End], t.Text); i >= 0 && t.Text != "" {
		return t.Offset + i + offset
	}
	return t.Offset
}

func remoteURL(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && slices.Contains([]string{"http", "https", "ftp", "sftp", "ws", "wss", "s3"}, strings.ToLower(scheme))
}

// PathNote words the finding about a path that must not be named.
func PathNote(ref reach.Ref, add func(rule, message, hint string)) {
	p := document.Quote(ref.Path)
	switch ref.Kind {
	case reach.Device:
		add("sec.devices", fmt.Sprintf("%s names a device", p),
			"use no device but /dev/null, zero, random, urandom, stdin, stdout and stderr")
	case reach.Socket:
		add("sec.paths.host", fmt.Sprintf("%s names a socket of the host", p),
			"remove it: a sandbox reaches no services of its host")
	case reach.Escape:
		add("sec.paths.host", fmt.Sprintf(`%s leads out of its folder`, p),
			"write paths below /in or /out in full, without \"..\"")
	case reach.Home:
		add("sec.paths.host", fmt.Sprintf("%s names a home folder of the host", p), pathHint)
	default:
		add("sec.paths.host", fmt.Sprintf("%s is a path of the host", p), pathHint)
	}
}
