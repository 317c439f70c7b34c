package command

import (
	"regexp"
	"strings"

	"github.com/threegate/tool-exec/validate/code"
	"github.com/threegate/tool-exec/validate/document"
	"github.com/threegate/tool-exec/validate/reach"
)

var interpreterVersion = regexp.MustCompile(`^(python|pypy|perl|ruby|node)-?[0-9][0-9.]*$`)

// interpreterOf is the language of an interpreter, by its program's name, and the name of
// its table of options.
func interpreterOf(name string) (lang code.Language, table string, ok bool) {
	if m := interpreterVersion.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	switch name {
	case "python", "pypy", "monty":
		return code.Python, "python", true
	case "node", "nodejs":
		return code.JavaScript, "node", true
	case "ruby":
		return code.Ruby, "ruby", true
	case "perl":
		return code.Perl, "perl", true
	}
	return "", "", false
}

// askedOf reads the words of an interpreter; ok says that argv begins with one.
func askedOf(argv []word) (a asked, lang code.Language, ok bool) {
	lang, table, ok := interpreterOf(baseName(argv[0].text))
	if ok {
		a.read(table, lang, argv, 0)
	}
	return a, lang, ok
}

// interpreter judges what the words of an interpreter ask for.
func (c *checker) interpreter(lang code.Language, a asked, argv []word) {
	for _, w := range a.unknown {
		c.add("sec.shell.syntax", w.offset, document.Quote(w.text)+" is no known option of "+
			document.Quote(argv[0].text)+", so nobody can tell what stands behind it",
			"use options that the program's manual lists")
	}
	for _, w := range a.odd {
		c.add("sec.shell.code", w.offset, "the value of an option holds code: "+document.Quote(w.text),
			"put the code into an input file and run that")
	}
	for _, w := range a.code {
		for _, n := range code.Check(lang, w.text, code.Options{}) {
			if !w.exact {
				n.Offset = 0
			}
			n.Offset += w.offset
			c.notes.Add(n)
		}
	}
	for _, w := range a.loads {
		name, _, _ := strings.Cut(strings.TrimLeft(w.text, "-:"), "=")
		name, _, _ = strings.Cut(name, " ")
		for _, n := range code.CheckModule(lang, name) {
			n.Offset = w.offset
			c.notes.Add(n)
		}
	}
	for _, m := range a.modules {
		if what, ok := reach.InstallsModule(texts(m)); ok {
			c.installs(argv[0], what)
		}
	}
	if what, ok := reach.Installs(texts(a.rest)); ok {
		c.installs(argv[0], what)
	}
}

func (c *checker) installs(w word, what string) {
	c.add("sec.packages", w.offset, "the command installs packages: "+document.Quote(what),
		"remove it; ask for an image that holds the package already")
}

// optionVariables are the variables that interpreters take options from.
var optionVariables = map[string]string{"NODE_OPTIONS": "node", "PERL5OPT": "perl", "RUBYOPT": "ruby"}

// variable judges what env puts into a variable, at a word NAME=value.
func (c *checker) variable(w word) {
	name, value, _ := strings.Cut(w.text, "=")
	argv := []word{{text: optionVariables[name], offset: w.offset}}
	switch {
	case name == "PERL5DB":
		argv = []word{{text: "perl"}, {text: "-e"}, {text: value, offset: w.offset}}
	case argv[0].text == "":
		return
	default:
		for _, f := range strings.Fields(value) {
			argv = append(argv, word{text: "-" + strings.TrimPrefix(f, "-"), offset: w.offset})
		}
	}
	if a, lang, ok := askedOf(argv); ok {
		c.interpreter(lang, a, argv)
	}
}
