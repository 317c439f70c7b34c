package command

import (
	"slices"
	"strings"

	"github.com/threegate/tool-exec/validate/code"
	"github.com/threegate/tool-exec/validate/document"
	"github.com/threegate/tool-exec/validate/reach"
)

var (
	// Options of programs with a pattern whose value is the next word and no pattern.
	patternValued = set(`-A -B -C -m -D -v -F -M -j -T -r --after-context --before-context --context
		--max-count --sort --type --assign --color --indent`)
	// Their options that bring the pattern, so that no other word is one, and those
	// of them whose value is a file with patterns.
	patternGiven = set(`-f --file --from-file -e --regexp --expression`)
	patternFile  = set(`-f --file --from-file`)
	// Options whose value is text or a separator, which may look like a path.
	textOptions = set(`-d -t -F -s -S -e --regexp --delimiter --separator --sep --field-separator
		--output-delimiter --output-separator --xpath --route --prefix --url-path --endpoint --filter
		--query --expression --format --join -g`)
	// Those whose value is a pattern or shown to people: it opens nothing.
	patternOptions = set(`--pattern --regex --title --label --xlabel --ylabel --caption --name -name -iname -path
		-ipath -wholename -iwholename -regex -iregex --include --exclude --exclude-dir --include-dir --glob
		--iglob --ignore --skip --match --strip-prefix`)
)

// paths looks for host paths and devices in the words of one program. The code in them
// has a check of its own.
func (c *checker) paths(name string, argv []word, programs []literalCode) {
	read := patternReader{name: name, seen: !is("pattern", name)}
	for i, w := range argv {
		isProgram := func(p literalCode) bool {
			return p.text == w.text && (p.offset == w.offset || p.offset == w.offset+1)
		}
		if slices.ContainsFunc(programs, isProgram) {
			continue
		}
		ctx := reach.Argument
		if i > 0 || name == "" {
			before := ""
			if i > 0 {
				before = argv[i-1].text
			}
			var skip bool
			if ctx, skip = read.context(before, w.text); skip {
				continue
			}
		}
		for _, ref := range reach.Paths(w.text, ctx) {
			code.PathNote(ref, func(rule, message, hint string) {
				if i == 0 && name != "" {
					message += ", not a program of the image"
					hint = "write just the program's name: " + document.Quote(baseName(w.text))
				}
				at := w.offset + ref.Offset
				if w.quoted {
					at++
				}
				c.add(rule, at, message, hint)
			})
		}
	}
}

// patternReader tells the patterns of a program's arguments from its files.
type patternReader struct {
	name string
	seen bool // the pattern
}

// context says how a word is read that stands behind another one. skip says that it
// is a pattern.
func (r *patternReader) context(before, text string) (ctx reach.Context, skip bool) {
	option, _, attached := strings.Cut(text, "=")
	first := is("pattern", r.name)
	switch {
	case first && patternGiven[before]:
		r.seen = true
		return reach.Argument, !patternFile[before]
	case first && attached && patternGiven[option]:
		r.seen = true
		return reach.Argument, !patternFile[option]
	case r.name == "ln":
	case patternOptions[before], attached && patternOptions[option]:
		return reach.Literal, true
	case is("text", r.name), textOptions[before], attached && textOptions[option]:
		return reach.Literal, false
	case !r.seen && patternValued[before] && (before != "-r" && before != "-T" || r.name == "rg"):
	case !r.seen && !strings.HasPrefix(text, "-"):
		r.seen = true
		return reach.Literal, !is("script", r.name)
	}
	return reach.Argument, false
}
