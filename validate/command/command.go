// Package command reads a command line as a shell would and accepts it only if
// no shell is needed: one simple command of literal words, which then runs as
// an argument vector. It also looks at what the words ask for: shells, wrappers
// that hide them, host paths, devices, packages and code on the command line.
// Its input is hostile; the length of a line is bounded by MaxBytes and the
// depth to which wrappers are followed by maxDepth.
package command

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/threegate/tool-exec/validate/code"
	"github.com/threegate/tool-exec/validate/document"
)

// MaxBytes is the length of the longest command line.
const MaxBytes = 8 << 10

// Check parses line, the text of a command. argv is its literal words, or nil
// when it is not exactly one simple command. Offsets of notes are those of line.
func Check(line string) (argv []string, notes []document.Note) {
	c := &checker{line: line}
	if len(line) > MaxBytes {
		c.add("sec.shell.syntax", 0, fmt.Sprintf("the command line has %d bytes, %d are allowed", len(line), MaxBytes),
			"put the program into an input file below /in and run that")
		return nil, c.notes
	}
	argv = c.parse()
	return argv, c.notes
}

type word struct {
	text   string
	offset int
	quoted bool // at least partly
}

type checker struct {
	line   string
	notes  code.Notes
	broken bool // the line is not one simple command
	// programs and words are how many were judged.
	programs, words int
}

func (c *checker) add(rule string, offset int, message, hint string) {
	c.notes.Add(document.Note{Rule: rule, Offset: offset, Message: message, Hint: hint})
}

const quoteIt = "put an argument that holds the character in single quotes"

// shapes are what makes a line more than one simple command, by rule: what is said of the
// text, and what to write in its place.
var shapes = map[string]struct{ is, hint string }{
	"sec.shell.assignment":   {"sets a variable of a shell", "pass it as an argument, or let the program set it"},
	"sec.shell.background":   {"starts the command in the background", "remove it, or " + quoteIt},
	"sec.shell.brace":        {"is a brace expansion", "write the words out, or put the word in single quotes"},
	"sec.shell.chaining":     {"begins a second command", "give every command a request of its own; " + quoteIt},
	"sec.shell.comment":      {"is a comment", "remove it, or " + quoteIt},
	"sec.shell.compound":     {"is a construct of the shell language", "write one program with its arguments"},
	"sec.shell.expansion":    {"would be expanded by a shell", "write the value out; " + quoteIt},
	"sec.shell.glob":         {"outside of quotes is a pattern for file names", "name the files; " + quoteIt},
	"sec.shell.heredoc":      {"begins a here-document", "put the text into an input file below /in"},
	"sec.shell.history":      {"recalls an earlier command", quoteIt},
	"sec.shell.pipeline":     {"pipes into a second command", "do both steps in one program; " + quoteIt},
	"sec.shell.redirection":  {"redirects input or output", "let the program open the files itself; " + quoteIt},
	"sec.shell.substitution": {"is a command substitution", "write the value out; " + quoteIt},
	"sec.shell.tilde":        {"would be expanded to a home folder", "name a path below /in or /out; " + quoteIt},
}

// shape reports what makes the line more than one simple command.
func (c *checker) shape(rule string, p syntax.Pos, text string) {
	c.broken = true
	c.add(rule, offset(p), document.Quote(text)+" "+shapes[rule].is, shapes[rule].hint)
}

// source is the text of a node.
func (c *checker) source(n syntax.Node) string {
	from := min(offset(n.Pos()), len(c.line))
	return c.line[from:max(from, min(offset(n.End()), len(c.line)))]
}

func offset(p syntax.Pos) int { return int(p.Offset()) }

func (c *checker) parse() []string {
	line := c.line
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		c.broken = true
		c.add("request.command", i, "the command runs over several lines",
			"write one command on one line; give further commands a request of their own")
	}
	if end := strings.TrimRight(line, `\`); (len(line)-len(end))%2 == 1 {
		c.broken = true
		c.add("sec.shell.syntax", len(line)-1, `"\" at the end goes on with the next line`,
			"write the whole command on one line")
	}
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	file, err := parser.Parse(strings.NewReader(line), "")
	if err != nil {
		c.unparsable(err)
		return nil
	}
	var calls [][]word
	c.statements(file.Stmts, &calls)
	c.comments(file.Last)
	for _, words := range calls {
		c.programs = 0
		c.program(words, 0)
	}
	if !c.broken && (len(calls) != 1 || len(calls[0]) == 0) {
		c.broken = true
		c.add("sec.shell.syntax", 0, "the command line holds no command", "write the program and its arguments")
	}
	if c.broken {
		return nil
	}
	return texts(calls[0])
}

func (c *checker) unparsable(err error) {
	at, what := syntax.Pos{}, err.Error()
	var parse syntax.ParseError
	var lang syntax.LangError
	switch {
	case errors.As(err, &parse):
		at, what = parse.Pos, parse.Text
	case errors.As(err, &lang):
		at, what = lang.Pos, lang.Feature
	}
	if strings.Contains(what, "here-document") {
		c.shape("sec.shell.heredoc", syntax.Pos{}, "<<")
	}
	c.broken = true
	c.add("sec.shell.syntax", min(offset(at), len(c.line)),
		"the command line can't be read: "+strings.Trim(document.Quote(what), `"`),
		`write one program with its arguments; put an argument with special characters in single quotes`)
}

func (c *checker) comments(list []syntax.Comment) {
	for _, comment := range list {
		c.shape("sec.shell.comment", comment.Hash, c.source(&comment))
	}
}

// statements walks the syntax tree, reports every construct that needs a shell,
// and gathers the simple commands in it.
func (c *checker) statements(list []*syntax.Stmt, calls *[][]word) {
	for i, s := range list {
		c.comments(s.Comments)
		if s.Semicolon.IsValid() && !s.Background {
			c.shape("sec.shell.chaining", s.Semicolon, ";")
		} else if i > 0 && !list[i-1].Semicolon.IsValid() {
			c.shape("sec.shell.chaining", s.Pos(), c.source(s))
		}
		c.statement(s, calls)
	}
}

func (c *checker) statement(s *syntax.Stmt, calls *[][]word) {
	if s.Background || s.Disown {
		c.shape("sec.shell.background", s.Semicolon, "&")
	}
	if s.Coprocess {
		c.shape("sec.shell.pipeline", s.Semicolon, "|&")
	}
	if s.Negated {
		c.shape("sec.shell.compound", s.Position, "!")
	}
	for _, r := range s.Redirs {
		rule := "sec.shell.redirection"
		if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc {
			rule = "sec.shell.heredoc"
		}
		c.shape(rule, r.OpPos, r.Op.String())
		c.nested(r, calls)
	}
	switch cmd := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		for _, a := range cmd.Assigns {
			c.shape("sec.shell.assignment", a.Pos(), c.source(a))
			c.nested(a, calls)
		}
		var words []word
		for _, w := range cmd.Args {
			words = append(words, c.literal(w))
			c.nested(w, calls)
		}
		*calls = append(*calls, words)
	case *syntax.BinaryCmd:
		rule := "sec.shell.chaining"
		if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
			rule = "sec.shell.pipeline"
		}
		c.shape(rule, cmd.OpPos, cmd.Op.String())
		c.statement(cmd.X, calls)
		c.statement(cmd.Y, calls)
	case *syntax.TimeClause: // a program of that name too
		head := []word{{text: "time", offset: offset(cmd.Pos())}}
		if cmd.PosixFormat {
			head = append(head, word{text: "-p", offset: offset(cmd.Pos())})
		}
		inner := [][]word{nil}
		if cmd.Stmt != nil {
			inner = nil
			c.statement(cmd.Stmt, &inner)
		}
		for _, words := range inner {
			*calls = append(*calls, slices.Concat(head, words))
		}
	case *syntax.DeclClause:
		c.shape("sec.shell.assignment", cmd.Pos(), cmd.Variant.Value)
		c.nested(cmd, calls)
	default:
		c.shape("sec.shell.compound", cmd.Pos(), c.source(cmd))
		c.nested(cmd, calls)
	}
}

// nested finds the commands inside of substitutions and constructs.
func (c *checker) nested(n syntax.Node, calls *[][]word) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			c.statement(n, calls)
			return false
		case *syntax.CmdSubst, *syntax.ProcSubst:
			c.shape("sec.shell.substitution", n.Pos(), c.source(n))
		}
		return true
	})
}

// literal is the value of a word, or its text if a shell would expand it, which is reported.
func (c *checker) literal(w *syntax.Word) word {
	out := word{text: c.source(w), offset: offset(w.Pos())}
	plain, split := true, *w
	split.Parts = slices.Clone(w.Parts)
	if syntax.SplitBraces(&split) && slices.ContainsFunc(split.Parts, isBraces) {
		plain = false
		c.shape("sec.shell.brace", w.Pos(), out.text)
	}
	if m := windows.FindString(out.text); m != "" { // a shell would take the backslashes out
		c.add("sec.paths.host", out.offset, document.Quote(m)+" is a path of the host",
			"pass the file as an input below /in")
	}
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			c.unquoted(p, i == 0)
		case *syntax.SglQuoted:
			out.quoted = true
			plain = !c.expanded(p, p.Dollar) && plain
		case *syntax.DblQuoted:
			out.quoted = true
			plain = !c.expanded(p, p.Dollar) && plain
			for _, inner := range p.Parts {
				_, lit := inner.(*syntax.Lit)
				plain = !c.expanded(inner, !lit) && plain
			}
		default:
			plain = !c.expanded(p, true) && plain
		}
	}
	if plain {
		fields, err := expand.Fields(&expand.Config{Env: expand.ListEnviron()}, w)
		if err != nil || len(fields) != 1 {
			c.shape("sec.shell.expansion", w.Pos(), out.text)
			return out
		}
		out.text = fields[0]
	}
	return out
}

// windows matches a word that begins like a path of Windows.
var windows = regexp.MustCompile(
	`^(?:[A-Za-z]:\\[A-Za-z0-9_.\\-]*|\\\\[A-Za-z0-9.-]+\\[A-Za-z0-9_.$\\-]*|\.\.\\[A-Za-z0-9_.\\-]*)`)

func isBraces(part syntax.WordPart) bool {
	b, ok := part.(*syntax.BraceExp)
	return ok && len(b.Elems) > 1
}

// expanded reports a part of a word if a shell expands it. Substitutions are reported elsewhere.
func (c *checker) expanded(part syntax.WordPart, expands bool) bool {
	switch part.(type) {
	case *syntax.CmdSubst, *syntax.ProcSubst:
	case *syntax.ExtGlob:
		c.shape("sec.shell.glob", part.Pos(), c.source(part))
	default:
		if expands {
			c.shape("sec.shell.expansion", part.Pos(), c.source(part))
		}
	}
	return expands
}

// recall matches what recalls an earlier command.
var recall = regexp.MustCompile(`^![-?0-9A-Za-z]|![!$*^:#]|^\^[^^]+\^`)

// unquoted reads a part without quotes, in which a shell would expand patterns,
// home folders and earlier commands.
func (c *checker) unquoted(p *syntax.Lit, first bool) {
	at, v := offset(p.Pos()), p.Value
	report := func(rule string, i, end int) { c.shape(rule, syntax.NewPos(uint(at+i), 1, 1), v[i:end]) }
	if first && strings.HasPrefix(v, "~") || strings.Contains(v, "=~/") || strings.Contains(v, ":~/") {
		report("sec.shell.tilde", strings.Index(v, "~"), len(v))
	}
	if i := recall.FindStringIndex(c.line[at:min(offset(p.End())+1, len(c.line))]); i != nil { // "!$" are two parts
		c.shape("sec.shell.history", syntax.NewPos(uint(at+i[0]), 1, 1), "!")
	}
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '\\':
			i++
		case '*':
			report("sec.shell.glob", i, i+1)
		case '?':
			// The query of a URL matches no file: a shell would leave it alone.
			if !first || !strings.HasPrefix(v, "http://") && !strings.HasPrefix(v, "https://") {
				report("sec.shell.glob", i, i+1)
			}
		case '[':
			if strings.Contains(v[i:], "]") {
				report("sec.shell.glob", i, i+1)
			}
		}
	}
}

func set(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}
