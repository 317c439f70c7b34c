// Package judge holds a change to the rules of the specification's section 7 that need no toolchain. It is pure:
// the tools use it on what is staged, and whoever gets a patch can use it again outside of the sandbox.
//
// Patches are hostile. One that is not as git diff writes it, to the last line, is an error and not judged.
package judge

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Change is what a patch does to one file.
type Change struct {
	// Path is where it is after the change, Old where it was: they differ for one that was moved or copied.
	Path, Old string
	// Mode is that of the file after the change in octal, as "120000" for a link, or empty if the patch does not say.
	Mode    string
	Deleted bool
	// Binary says that the patch does not hold the content.
	Binary  bool
	Added   []Line
	Removed int
}

// Line is one line that a change adds. Text has no line end.
type Line struct {
	No   int
	Text string
}

var (
	hunkHeader = regexp.MustCompile(`^@@ -\d{1,9}(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@`)
	extended   = regexp.MustCompile(`^(?:old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|` +
		`rename to|similarity index|dissimilarity index|index) (.*)$`)
)

// Parse reads a patch as git diff writes it.
func Parse(patch []byte) ([]Change, error) {
	var changes []Change
	p := parser{gone: map[string]bool{}}
	for len(patch) > 0 {
		line, rest, _ := bytes.Cut(patch, []byte("\n"))
		patch = rest
		p.line++
		if names, ok := strings.CutPrefix(string(line), "diff --git "); ok && p.old+p.new == 0 {
			err := p.end()
			changes = append(changes, Change{})
			p.change, p.inHunks, p.made, p.none = &changes[len(changes)-1], false, false, [2]bool{}
			if err = errors.Join(err, p.names(names)); err != nil {
				return nil, fmt.Errorf("line %d: %w", p.line, err)
			}
			continue
		}
		if err := p.read(string(line)); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.line, err)
		}
	}
	if p.old+p.new > 0 {
		return nil, errors.New("the last hunk is cut off")
	}
	if err := p.end(); err != nil {
		return nil, fmt.Errorf("the last file: %w", err)
	}
	return changes, nil
}

// end looks at a whole change. A link whose mode is not told could be taken for text, and one that a change before
// made could be moved to where it leads out. Where no mode says that a file comes or goes, git takes /dev/null for a
// path.
func (p *parser) end() error {
	c := p.change
	switch {
	case c == nil:
		return nil
	case p.inHunks && c.Mode == "" && !c.Deleted:
		return errors.New("the file before has no mode")
	case p.none != [2]bool{p.made && p.none[0], c.Deleted && p.none[1]}:
		return errors.New("the file before is /dev/null, and no mode says that it comes or goes")
	}
	for _, name := range slices.Compact([]string{c.Old, c.Path}) {
		gone, seen := p.gone[name]
		if seen && name != "" && !(gone && p.made) { // a file becomes a link in two changes
			return fmt.Errorf("%q is changed twice", name)
		}
		p.gone[name] = c.Deleted
	}
	return nil
}

const noNewline = `\ No newline at end of file`

type parser struct {
	change   *Change
	line     int
	inHunks  bool
	old, new int // lines that the hunk still has
	no       int // the next line's number in the new file
	// made says that the file is new, none which of its names are /dev/null.
	made bool
	none [2]bool
	// gone are the names of changes, and whether they were deleted.
	gone map[string]bool
}

// names reads both paths of a header. Where they differ, later lines say which they are.
func (p *parser) names(s string) error {
	if strings.ContainsAny(s, "\t\r") {
		return fmt.Errorf("the names %q are not as git writes them", s)
	}
	half := (len(s) - 1) / 2
	if len(s) < 5 || len(s)%2 == 0 || s[half] != ' ' {
		return nil
	}
	old, err1 := gitPath(s[:half], "a/")
	name, err2 := gitPath(s[half+1:], "b/")
	if err := errors.Join(err1, err2); err != nil || old != name {
		return nil
	}
	p.change.Old, p.change.Path = old, name
	return nil
}

// is sets a path that no line before named otherwise: programs differ in which line they follow.
func is(path *string, name string) error {
	if *path != "" && *path != name {
		return fmt.Errorf("it names %q, and a line before %q", name, *path)
	}
	*path = name
	return nil
}

// named reads a path and sets it.
func named(path *string, s, prefix string) error {
	name, err := gitPath(s, prefix)
	if err != nil {
		return err
	}
	return is(path, name)
}

// gitPath reads a path as git writes it.
func gitPath(s, prefix string) (string, error) {
	s, err := unquoted(s)
	if err != nil {
		return "", err
	}
	name, ok := strings.CutPrefix(s, prefix)
	if !ok || name == "" {
		return "", fmt.Errorf("the path %q does not begin with %s", s, prefix)
	}
	return name, nil
}

// gitQuoted is a name in quotes, with the escapes that git knows.
var gitQuoted = regexp.MustCompile(`^"(?:[^"\\\x00-\x1f\x7f]|\\(?:[abtnvfr"\\]|[0-3][0-7]{2}))*"$`)

// unquoted reads a name, which git quotes if it has unusual bytes. Anything else is an error: git ends an unquoted name
// at some control characters and keeps others.
func unquoted(s string) (string, error) {
	if gitQuoted.MatchString(s) {
		return strconv.Unquote(s)
	}
	if strings.HasPrefix(s, `"`) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("the path %q is not as git writes it", s)
	}
	return s, nil
}

func (p *parser) read(line string) error {
	switch {
	case p.change == nil:
		return errors.New("no file is named before this line")
	case p.old+p.new > 0:
		return p.body(line)
	case line == noNewline && p.inHunks:
		return nil
	case strings.HasPrefix(line, "@@ "):
		return p.hunk(line)
	case p.inHunks:
		return errors.New("it belongs to no hunk")
	}
	return p.header(line)
}

func (p *parser) hunk(line string) error {
	m := hunkHeader.FindStringSubmatch(line)
	if m == nil || p.change.Path == "" {
		return errors.New("this header of a hunk can't be read")
	}
	count := func(s string) int {
		if s == "" {
			return 1
		}
		n, _ := strconv.Atoi(s) // at most nine digits
		return n
	}
	p.old, p.new, p.no, p.inHunks = count(m[1]), count(m[3]), count(m[2]), true
	return nil
}

func (p *parser) body(line string) error {
	kind := byte(0)
	if line != "" {
		kind = line[0]
	}
	switch {
	case kind == '+':
		p.change.Added = append(p.change.Added, Line{p.no, strings.TrimSuffix(line[1:], "\r")})
		p.new, p.no = p.new-1, p.no+1
	case kind == '-':
		p.change.Removed++
		p.old--
	case kind == ' ':
		p.old, p.new, p.no = p.old-1, p.new-1, p.no+1
	case line == noNewline:
	default:
		return errors.New("it is no line of a hunk")
	}
	if p.old < 0 || p.new < 0 {
		return errors.New("the hunk has more lines than it says")
	}
	return nil
}

// fileLine is the name on a line that begins with mark. Git ends a name that has a blank with a tab.
func fileLine(line, mark string) (name string, ok bool) {
	name, ok = strings.CutPrefix(line, mark)
	if strings.Contains(name, " ") {
		name = strings.TrimSuffix(name, "\t")
	}
	return name, ok
}

// header reads a line between the names and the first hunk.
func (p *parser) header(line string) (err error) {
	c := p.change
	if name, ok := fileLine(line, "--- "); ok {
		if name == "/dev/null" {
			p.none[0] = true
			return nil
		}
		return named(&c.Old, name, "a/")
	}
	if name, ok := fileLine(line, "+++ "); ok {
		if name == "/dev/null" {
			p.none[1] = true
			return nil
		}
		return named(&c.Path, name, "b/")
	}
	if strings.HasPrefix(line, "Binary files ") || line == "GIT binary patch" {
		c.Binary = true
		if line == "GIT binary patch" || c.Path == "" {
			return errors.New("a binary patch can't be judged")
		}
		return nil
	}
	m := extended.FindStringSubmatch(line)
	if m == nil {
		return errors.New("it belongs to no header")
	}
	switch key := strings.TrimSuffix(line, " "+m[1]); key {
	case "new mode", "new file mode":
		p.made = p.made || key == "new file mode"
		err = is(&c.Mode, m[1])
	case "index": // of a file that keeps its mode, also with it
		if _, mode, ok := strings.Cut(m[1], " "); ok {
			err = is(&c.Mode, mode)
		}
	case "deleted file mode":
		c.Deleted = true
	case "rename from", "copy from":
		err = named(&c.Old, m[1], "")
	case "rename to", "copy to":
		err = named(&c.Path, m[1], "")
	}
	return err
}
