// Package frontmatter fills in single keys of a request's front matter and
// leaves every other byte as it is, so that a person finds the text that they
// wrote.
//
// It is an editor, not a check: what it makes is judged by validate afterwards,
// and nothing is approved on the word of this package. It reads untrusted
// documents, bounded by its caller.
package frontmatter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/threegate/tool-exec/validate/document"
)

// ErrShape says that the front matter is not the plain list of keys that can be
// edited line by line.
var ErrShape = errors.New("the front matter can't be edited")

// Input is one entry of the key "inputs". SHA256 may be empty.
type Input struct {
	Path   string `yaml:"path"`
	SHA256 string `yaml:"sha256"`
	Unpack string `yaml:"unpack"`
	CopyTo string `yaml:"copy_to"`
}

// Doc is a document whose front matter has been found.
type Doc struct {
	head  []byte // up to and with the opening line
	lines []string
	tail  []byte // from the closing line on
	eol   string
	// Values are the scalar values of the top level, as written.
	Values map[string]string
	Inputs []Input
}

// Parse finds the front matter and its keys.
func Parse(raw []byte) (*Doc, error) {
	d := &Doc{eol: "\n", Values: map[string]string{}}
	text := bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if first, _, _ := bytes.Cut(text, []byte("\n")); bytes.HasSuffix(first, []byte("\r")) {
		d.eol = "\r\n"
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	at, err := document.Split(text, d.parse)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrShape, err)
	}
	if at.Open[0] > 0 {
		return nil, fmt.Errorf("%w: the document does not begin with a line ---", ErrShape)
	}
	parts := bytes.SplitAfterN(raw, []byte("\n"), 2+len(d.lines))
	d.head, d.tail = parts[0], parts[len(parts)-1]
	return d, nil
}

// otherBreaks end a line in YAML, too. With one of them, YAML counts lines differently.
const otherBreaks = "\r\u0085\u2028\u2029"

var keyLine = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*):(?:[ \t]|$)`)

// parse wants a key of YAML for every line that looks like one, and the reverse.
func (d *Doc) parse(block []byte) error {
	if bytes.ContainsAny(block, otherBreaks) {
		return errors.New("a line in it ends with another character than a newline")
	}
	var top map[string]yaml.Node
	if err := yaml.Load(block, &top); err != nil {
		return err
	}
	d.lines = strings.Split(strings.TrimSuffix(string(block), "\n"), "\n")
	keys := 0
	for _, l := range d.lines {
		if m := keyLine.FindStringSubmatch(l); m != nil {
			keys++
			if _, ok := top[m[1]]; !ok {
				return errors.New("its keys are not one a line")
			}
		}
	}
	if keys == 0 || keys != len(top) {
		return errors.New("it is not a list of `key: value` lines")
	}
	for name, value := range top {
		if value.Kind == yaml.ScalarNode {
			d.Values[name] = value.Value
		}
	}
	if inputs, ok := top["inputs"]; ok {
		return d.parseInputs(&inputs)
	}
	return nil
}

// find is the half-open range of lines that a key takes. Blank lines and comments in front
// of the next key are that key's.
func (d *Doc) find(name string) (from, to int, ok bool) {
	isKey := func(l string) bool { return strings.HasPrefix(l, name+":") && keyLine.MatchString(l) }
	if from = slices.IndexFunc(d.lines, isKey); from < 0 {
		return len(d.lines), len(d.lines), false
	}
	to = from + 1
	for i := to; i < len(d.lines) && !keyLine.MatchString(d.lines[i]); i++ {
		if strings.TrimSpace(d.lines[i]) != "" && !strings.HasPrefix(d.lines[i], "#") {
			to = i + 1
		}
	}
	return from, to, true
}

// parseInputs reads the list of inputs. Dropping a key that is not understood would hide it from
// the rules, so such a list can't be edited.
func (d *Doc) parseInputs(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Value == "" {
		return nil
	}
	if err := n.Load(&d.Inputs, yaml.WithKnownFields()); err != nil {
		return fmt.Errorf("inputs must list `path` and `sha256`, and may say `unpack` and `copy_to`: %w", err)
	}
	return nil
}

// Set gives a key a text value: in place if the key is there, else behind the
// key after, else at the end.
func (d *Doc) Set(name, value, after string) {
	d.replace(name, after, []string{name + ": " + Quote(value)})
}

// SetInputs replaces the list of inputs; without any the key is removed.
func (d *Doc) SetInputs(inputs []Input) {
	if slices.Equal(inputs, d.Inputs) {
		return
	}
	d.Inputs = slices.Clone(inputs)
	var lines []string
	if len(inputs) > 0 {
		lines = append(lines, "inputs:")
	}
	for _, in := range inputs {
		lines = append(lines, "  - path: "+Quote(in.Path), "    sha256: "+Quote(in.SHA256))
		if in.Unpack != "" {
			lines = append(lines, "    unpack: "+Quote(in.Unpack))
		}
		if in.CopyTo != "" {
			lines = append(lines, "    copy_to: "+Quote(in.CopyTo))
		}
	}
	d.replace("inputs", "", lines)
}

func (d *Doc) replace(name, after string, lines []string) {
	from, to, ok := d.find(name)
	if !ok {
		_, to, _ = d.find(after)
		from = to
	}
	d.lines = slices.Concat(d.lines[:from], lines, d.lines[to:])
}

// Bytes is the whole document.
func (d *Doc) Bytes() []byte {
	var b bytes.Buffer
	b.Write(d.head)
	for _, l := range d.lines {
		b.WriteString(l)
		b.WriteString(d.eol)
	}
	b.Write(d.tail)
	return b.Bytes()
}

// Quote writes a text as a double-quoted YAML scalar.
func Quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string can always be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
