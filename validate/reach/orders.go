package reach

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
)

//go:embed orders.txt
var ordersText string

var (
	orderPatterns = readPatterns(ordersText)

	command = orderPatterns.compileWithin("command", `(?:^|[^\w./-]|bin/)`,
		strings.NewReplacer("OPTIONS", `(?:-{1,2}[\w=./:-]+\s+)*`))
	orders             = orderPatterns.compile("order")
	installWord        = orderPatterns.compile("word")
	object             = orderPatterns.compile("object")
	managerName        = orderPatterns.compile("manager")
	reporting          = orderPatterns.compile("reporting")
	ordersConclusion   = orderPatterns.compile("conclusion")
	ordersDenial       = orderPatterns.compile("denial")
	ordersDeniedBehind = orderPatterns.compile("denied-after")
	reminder           = orderPatterns.compile("reminder")
	howTo              = orderPatterns.compile("how-to")
	recorded           = orderPatterns.compile("recorded")
	question           = orderPatterns.compile("question")
	dataBefore         = orderPatterns.compile("data-before")
	dataOrder          = orderPatterns.compile("data-order")
)

// Span is a place in a text.
type Span struct {
	Offset, End int
	Text        string
}

// Bounds of looking at text.
const (
	maxSpans    = 20      // places in one text
	maxVerbs    = 8       // of one sentence
	ordersReach = 4 << 10 // bytes around an order that may say something of it
	objectReach = 90      // bytes behind a verb in which its object stands
)

// InstallsInText finds commands that install packages in a string of code. Negation
// does not matter there.
func InstallsInText(text string) []Span {
	var out []Span
	for _, m := range command.FindAllStringSubmatchIndex(text, maxSpans) {
		out = append(out, Span{m[2], m[3], text[m[2]:m[3]]})
	}
	return out
}

// sentenceEnd matches a mark with a blank behind it, an empty line, and a new item of a list.
var sentenceEnd = regexp.MustCompile(`[.!?;]+(?:\s+|$)|\n\s*\n\s*|\n\s*[-*+]\s`)

// InstallsInProse finds instructions to install packages in text for people. A sentence
// that denies it, or that reports on installed packages as data, is none.
func InstallsInProse(text string) []Span {
	var out []Span
	start := 0
	for _, m := range append(sentenceEnd.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if found, ok := instruction(text[start:m[0]]); ok && len(out) < maxSpans {
			found.Offset += start
			found.End += start
			out = append(out, found)
		}
		start = m[1]
	}
	return out
}

// sentence is one sentence that is judged.
type sentence struct {
	text string
	// words is the text with paths and "don't forget" blanked out: a "no" in them denies nothing.
	words string
}

var anyPath = regexp.MustCompile(`\S*/\S*`)

// instruction finds the first thing in a sentence that asks for an installation.
func instruction(text string) (Span, bool) {
	blank := func(s string) string { return strings.Repeat("x", len(s)) }
	s := sentence{text, reminder.ReplaceAllStringFunc(anyPath.ReplaceAllStringFunc(text, blank), blank)}
	for _, find := range []func() (Span, bool){s.command, s.order, s.word} {
		if found, ok := find(); ok {
			return found, true
		}
	}
	return Span{}, false
}

func (s sentence) span(from, to int) (Span, bool) {
	text := strings.Trim(s.text[from:to], " \t\r\n,.:;!")
	from += strings.Index(s.text[from:to], text)
	return Span{from, from + len(text), text}, true
}

// before is the part of the sentence before a place that says something of it.
func (s sentence) before(at int) string { return s.text[max(0, at-ordersReach):at] }

// denied says whether the sentence denies what stands at a place. What stands before a
// conclusion denies nothing behind it.
func (s sentence) denied(at int) bool {
	words := s.words[max(0, at-ordersReach):at]
	if m := ordersConclusion.FindAllStringIndex(words, -1); m != nil {
		words = words[m[len(m)-1][0]:]
	}
	return ordersDenial.MatchString(words)
}

// deniedBehind says whether the sentence denies behind the verb: "installing
// packages is not needed".
func (s sentence) deniedBehind(at int) bool {
	return ordersDeniedBehind.MatchString(s.text[at:min(len(s.text), at+ordersReach)])
}

// command finds a command, unless the sentence is about it as data: counts lines
// such as "pip install x".
func (s sentence) command() (Span, bool) {
	for _, c := range InstallsInText(s.text) {
		before := s.before(c.Offset)
		quoted := dataBefore.MatchString(before) && !dataOrder.MatchString(before) || question.MatchString(before)
		if !quoted && !s.denied(c.Offset) && !recorded.MatchString(s.text[c.End:]) {
			return c, true
		}
	}
	return Span{}, false
}

// order finds what asks for an installation by its whole form.
func (s sentence) order() (Span, bool) {
	if strings.Contains(strings.ToLower(s.text), "already") {
		return Span{}, false
	}
	for _, m := range orders.FindAllStringIndex(s.text, maxVerbs) {
		if !s.denied(m[1]) {
			return s.span(m[0], m[1])
		}
	}
	return Span{}, false
}

// weak are words that only ask for an installation with a package manager.
var weak = []string{"add", "fetch", "set up", "pull in", "bring in"}

// word finds any word of installing with a package or a package manager behind it.
func (s sentence) word() (Span, bool) {
	for _, m := range installWord.FindAllStringIndex(s.text, maxVerbs) {
		near := s.text[m[1]:min(len(s.text), m[1]+objectReach)]
		what, tool := object.FindStringIndex(near), managerName.FindStringIndex(near)
		needsTool := slices.Contains(weak, strings.ToLower(s.text[m[0]:m[1]]))
		switch {
		case tool == nil && (needsTool || what == nil):
		case tool == nil && reporting.MatchString(s.text):
		case s.denied(m[0]), s.deniedBehind(m[1]), howTo.MatchString(s.before(m[0])):
		default:
			end := 0
			for _, x := range [][]int{what, tool} {
				if x != nil {
					end = max(end, x[1])
				}
			}
			return s.span(m[0], m[1]+end)
		}
	}
	return Span{}, false
}
