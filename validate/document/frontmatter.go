package document

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/adrg/frontmatter"
	"go.yaml.in/yaml/v4"
)

// Bounds of front matter.
const (
	// MaxFrontMatterBytes bounds the YAML before it is parsed.
	MaxFrontMatterBytes = 256 << 10
	// MaxDepth is how deep mappings and lists may nest.
	MaxDepth = 8
	// MaxNodes is how many keys and values there may be.
	MaxNodes = 10000
)

// delimiter matches a line of three dashes. One with blanks counts, and is reported.
var delimiter = regexp.MustCompile(`(?m)^[ \t]*---[ \t]*$`)

// Why a text has no front matter that every reader finds at the same place.
var (
	ErrNoFront      = errors.New(`its first line is not "---"`)
	ErrUnterminated = errors.New(`no line "---" ends the front matter`)
	ErrDashes       = errors.New(`only some readers take a line of the front matter for its end`)
)

// Delimiters are the places of the two lines of dashes around front matter, without their newlines.
type Delimiters struct{ Open, Close [2]int }

// Split finds the front matter of a text whose lines end with a newline alone, and has read look at what stands
// between the dashes. An error is one of the above, with the places as far as they are known, or that of read.
//
// The library that splits has no places, takes a text without a second line of dashes for one without front matter,
// and takes any blank of Unicode next to dashes: so the lines are looked at before.
func Split(text []byte, read func(block []byte) error) (d Delimiters, err error) {
	at := delimiter.FindAllIndex(text, 2)
	if len(at) == 0 || len(bytes.TrimSpace(text[:at[0][0]])) > 0 {
		return d, ErrNoFront
	}
	d.Open = [2]int(at[0])
	if len(at) == 1 {
		return d, ErrUnterminated
	}
	d.Close = [2]int(at[1])
	end := d.Open[1] + 1
	for line := range bytes.Lines(text[end:d.Close[0]]) {
		if string(bytes.TrimSpace(line)) == "---" {
			d.Close = [2]int{end, end + len(bytes.TrimSuffix(line, []byte("\n")))}
			return d, ErrDashes
		}
		end += len(line)
	}
	format := frontmatter.NewFormat("---", "---", func(block []byte, _ any) error { return read(block) })
	_, err = frontmatter.MustParse(bytes.NewReader(text[d.Open[0]:d.Close[1]]), nil, format)
	return d, err
}

// split finds the front matter and parses it.
func (d *Document) split() {
	r := d.report
	var block []byte
	at, err := Split(d.Text, func(b []byte) error { block = b; return nil })
	switch {
	case errors.Is(err, ErrNoFront):
		r.AtLine("doc.frontmatter.missing", 1, 1,
			"the document has no front matter: its first line is "+Quote(string(r.lines.Text(1)))+`, not "---"`,
			`begin with a line "---", the YAML keys, and a line "---"`)
		return
	case errors.Is(err, ErrUnterminated):
		r.AtLine("doc.frontmatter.unterminated", 1, 1, `the front matter that starts here never ends`,
			`put a line with just "---" behind the last key`)
		d.BodyOffset = len(d.Text)
		return
	}
	if at.Open[0] > 0 {
		r.AtLine("doc.frontmatter.delimiter", 1, 1, `the document does not start with its front matter`,
			`make "---" the very first line`)
	}
	for _, ix := range [][2]int{at.Open, at.Close} {
		if line := string(d.Text[ix[0]:ix[1]]); line != "---" {
			r.At("doc.frontmatter.delimiter", ix[0], "the line that delimits the front matter is "+Quote(line),
				`write "---" alone on its line, from the first column`)
		}
	}
	d.BodyOffset = min(at.Close[1]+1, len(d.Text))
	above, _ := d.Pos(at.Open[0])
	switch {
	case err != nil: // reported as the line that it is
	case len(block) > MaxFrontMatterBytes:
		r.AtLine("doc.size", above, 1,
			fmt.Sprintf("the front matter has %d bytes, %d are allowed", len(block), MaxFrontMatterBytes),
			"keep data out of the front matter")
	default:
		d.parseYAML(block, above)
	}
}

var secondYAML = regexp.MustCompile(`(?m)^(?:---|\.\.\.)(?:[ \t].*)?$`)

// parseYAML reads the block, which follows line number above of the document.
func (d *Document) parseYAML(block []byte, above int) {
	r := d.report
	if at := secondYAML.FindIndex(block); at != nil {
		r.AtLine("doc.frontmatter.documents", above+1+bytes.Count(block[:at[0]], []byte("\n")), 1,
			"the YAML document ends, or a second one starts, inside the front matter",
			"keep one YAML document between the dashes")
		return
	}
	c := checker{d: d, above: above, left: MaxNodes}
	var root yaml.Node
	if err := yaml.Unmarshal(block, &root); err != nil {
		c.failed(err)
		return
	}
	if len(root.Content) == 0 {
		r.AtLine("doc.frontmatter.root", above, 1, "the front matter is empty", "write one key: value a line")
		return
	}
	top := root.Content[0]
	if !c.node(top, 0) {
		return
	}
	if top.Kind != yaml.MappingNode {
		r.AtLine("doc.frontmatter.root", top.Line, top.Column,
			"the front matter is "+kindOf(top)+", not a list of keys and values", "write one key: value a line")
		return
	}
	d.Front = &Mapping{top}
}

// checker walks the YAML tree for what is never allowed in front matter, and gives each
// node its place in the document.
type checker struct {
	d     *Document
	above int
	left  int
	// The place that was located last: a line, and a character of it with its offset there.
	line, character, offset int
}

// locate makes the place of n, whose column counts characters of the YAML, that in bytes
// in the document. Nodes come in the order of their places.
func (c *checker) locate(n *yaml.Node) {
	// YAML ends a line at a lone CR, too; the document does not.
	n.Line = min(c.above+max(n.Line, 1), len(c.d.report.lines.starts))
	if n.Line != c.line || n.Column < c.character {
		c.line, c.character, c.offset = n.Line, 1, 0
	}
	for text := c.d.report.lines.Text(n.Line); c.character < n.Column && c.offset < len(text); c.character++ {
		_, size := utf8.DecodeRune(text[c.offset:])
		c.offset += size
	}
	n.Column = c.offset + 1
}

// failed turns an error of the decoder into a finding at its place.
func (c *checker) failed(err error) {
	at, message := yaml.Node{Line: 1, Column: 1}, err.Error()
	var le *yaml.LoadError
	if errors.As(err, &le) {
		message = le.Message
		if le.ContextMsg != "" {
			message = le.ContextMsg + ": " + message
		}
		at.Line, at.Column = le.Mark.Line, le.Mark.Column
		if le.ContextMark.Line > 0 && le.ContextMark.Line < at.Line { // where the unfinished thing began says more
			at.Line, at.Column = le.ContextMark.Line, le.ContextMark.Column
		}
	}
	c.locate(&at)
	if end, _ := c.d.Pos(c.d.BodyOffset - 1); at.Line >= end {
		at.Line, at.Column = max(end-1, c.above), 1
	}
	rule, hint := "doc.frontmatter.syntax", `write plain YAML, one "key: value" a line, and put text with ": " or `+
		`"#" in quotes`
	switch {
	case strings.Contains(message, "anchor"):
		rule, hint = "doc.frontmatter.alias", "write the value out instead of referring to it"
	case strings.Contains(message, "depth"), strings.Contains(message, "nest"):
		rule, hint = "doc.frontmatter.depth", "keep the front matter flat"
	}
	c.d.report.AtLine(rule, at.Line, at.Column,
		"the front matter is not valid YAML: "+strings.Trim(Quote(message), `"`), hint)
}

// node reports whether the tree below n is small enough to be used.
func (c *checker) node(n *yaml.Node, depth int) bool {
	c.locate(n)
	report := func(rule, message, hint string) { c.d.report.AtLine(rule, n.Line, n.Column, message, hint) }
	if depth > MaxDepth {
		report("doc.frontmatter.depth", fmt.Sprintf("the front matter nests deeper than %d levels", MaxDepth),
			"keep the front matter flat")
		return false
	}
	if c.left--; c.left < 0 {
		report("doc.size", fmt.Sprintf("the front matter holds more than %d values", MaxNodes),
			"keep data out of the front matter")
		return false
	}
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		report("doc.frontmatter.alias",
			"the front matter refers to a value: "+Quote(cmp.Or(n.Anchor, n.Value)), "write the value out")
	}
	if n.Kind == yaml.AliasNode {
		return true
	}
	// The decoder drops the spelling of the non-specific tag "!", so the source is asked too.
	text := c.d.report.lines.Text(n.Line)
	if n.Style&yaml.TaggedStyle != 0 || n.Column <= len(text) && text[n.Column-1] == '!' {
		report("doc.frontmatter.tag", "the front matter sets a YAML tag", "remove the tag and write a plain value")
	}
	for _, child := range n.Content {
		if !c.node(child, depth+1) {
			return false
		}
	}
	if n.Kind == yaml.MappingNode {
		c.keys(n)
	}
	return true
}

func (c *checker) keys(n *yaml.Node) {
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		report := func(rule, message, hint string) { c.d.report.AtLine(rule, key.Line, key.Column, message, hint) }
		switch first := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			report("doc.frontmatter.type", "a key of the front matter is "+kindOf(key), "use plain names as keys")
		case key.Tag == "!!merge":
			report("doc.frontmatter.alias", `the front matter merges keys ("<<")`, "write the keys out")
		case first > 0:
			report("doc.frontmatter.duplicate_key",
				fmt.Sprintf("the key %s is given again; it was first given in line %d", Quote(key.Value), first),
				"keep one of them")
		default:
			seen[key.Value] = key.Line
		}
	}
}

// kinds names values by their tag in messages; others are text.
var kinds = map[string]string{
	"!!map": "a mapping", "!!seq": "a list", "!!null": "empty", "!!int": "a number", "!!float": "a number",
	"!!bool": "a truth value", "!!timestamp": "a date",
}

func kindOf(n *yaml.Node) string {
	if n.Kind == yaml.AliasNode {
		return "an alias"
	}
	return cmp.Or(kinds[n.ShortTag()], "text")
}
