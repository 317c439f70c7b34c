package ast

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

// lineStart is the beginning of a line that is not empty.
var lineStart = regexp.MustCompile(`\n([^\r\n])`)

// longString is what may be a string of several lines, whose blanks are content: by its marks, by a line that goes on,
// or by a quote that is not closed in its line.
var longString = map[bool]*regexp.Regexp{
	true:  regexp.MustCompile("\"\"\"|'''|\\\\\n"),
	false: regexp.MustCompile("`|(?m)^[^\"\n]*\"(?:[^\"\n]*\"[^\"\n]*\")*[^\"\n]*$"),
}

// indents says whether indentation is structure in a language.
func (s *source) indents() bool { return s.lang == "python" }

// placed is a text as it is to stand at an offset: its lines after the first are indented as the line there is. A text
// with a string of several lines stays as it is, or is refused where indentation is structure.
func (s *source) placed(text string, at int) (string, error) {
	indent := indentation(s.data[:at], s.data[at:])
	if indent == "" || !strings.Contains(text, "\n") {
		return text, nil
	}
	if !longString[s.indents()].MatchString(text) {
		return lineStart.ReplaceAllString(text, "\n"+indent+"$1"), nil
	}
	if !s.indents() {
		return text, nil
	}
	return "", misplaced("the text has a string of several lines, and the place is indented")
}

// moved is what stands at a place, as it is to stand behind the bytes before. Where indentation is structure, its lines
// after the first move as far as the first one does.
func (s *source) moved(span Span, before []byte) ([]byte, error) {
	inner := s.data[span.Start:span.End]
	if !s.indents() || !bytes.Contains(inner, []byte("\n")) {
		return inner, nil
	}
	was, is := indentation(s.data[:span.Start], inner), indentation(before, inner)
	if was == is {
		return inner, nil
	}
	if longString[true].Match(inner) {
		return nil, misplaced("a $NAME stands for code with a string of several lines, which would be indented anew")
	}
	lines := bytes.SplitAfter(inner, []byte("\n"))
	for i, line := range lines[1:] {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		rest, ok := bytes.CutPrefix(line, []byte(was))
		if !ok {
			return nil, misplaced("a $NAME stands for lines that are indented less than the first one")
		}
		lines[i+1] = append([]byte(is), rest...)
	}
	return bytes.Join(lines, nil), nil
}

// indentation are the blanks that the line begins with in which before ends and after begins.
func indentation(before, after []byte) string {
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	if code := bytes.TrimLeft(line, " \t"); len(code) > 0 {
		return string(line[:len(line)-len(code)])
	}
	return string(line) + string(after[:len(after)-len(bytes.TrimLeft(after, " \t"))])
}

func misplaced(why string) error {
	return contract.Errorf(contract.ASTEdit, "%s: how its lines are to be indented can't be told", why).
		WithHint("change that place with file_patch, and leave it out here with where.file_glob")
}
