package disguise

import "bytes"

const (
	howMarkup    = "with markup in its words"
	howElsewhere = "with blanks in other places"
	howListed    = "with one word in each cell"
)

// maxMarkup is the length of the longest tag or comment that is looked over.
const maxMarkup = 60

// markup reads a line without the tags, comments, colours and gaps in the middle of
// its words.
func (r *reader) markup(x Reading, line []byte) {
	out, cut, fresh := r.plainWord[:0], 0, 0
	for i := 0; i < len(line); {
		n := 0
		if len(out) > 0 && letter(out[len(out)-1]) {
			n = tags(line[i:])
		}
		if n == 0 || i+n >= len(line) || !letter(line[i+n]) {
			n = max(n, 1)
			out = append(out, line[i:i+n]...)
			i += n
			continue
		}
		i += n
		cut++
		from, to := len(out), i
		for from > 0 && letter(out[from-1]) {
			from--
		}
		for to < len(line) && letter(line[to]) {
			to++
		}
		if word := appendLower(appendLower(r.word[:0], out[from:]), line[i:to]); r.v.rank(word) > 0 {
			fresh++
		}
	}
	r.plainWord = out
	if cut < 2 || fresh < 2 {
		return
	}
	x.How, x.Text, x.Sure = howMarkup, lowered(&r.out, out), fresh >= 3
	r.emit(x)
}

// maybeMarkup says whether a line holds what tags and comments begin with.
func maybeMarkup(line []byte) bool {
	return bytes.IndexByte(line, '<') >= 0 || bytes.IndexByte(line, '\x1b') >= 0 || bytes.Contains(line, []byte("/*")) || bytes.Contains(line, []byte("{}"))
}

// tags returns the length of the tags and comments that b begins with.
func tags(b []byte) (n int) {
	for n+1 < len(b) {
		k := 0
		switch rest := b[n:min(len(b), n+maxMarkup)]; {
		case rest[0] == '<':
			k = bytes.IndexByte(rest, '>') + 1
		case rest[0] == '/' && rest[1] == '*':
			if k = bytes.Index(rest, []byte("*/")) + 2; k < 2 {
				return n
			}
		case rest[0] == '{' && rest[1] == '}', rest[0] == '-' && rest[1] == ' ':
			k = 2
		case rest[0] == '\x1b' && rest[1] == '[':
			k = bytes.IndexAny(rest, "mK") + 1
		}
		if k < 2 {
			return n
		}
		n += k
	}
	return n
}

// elsewhere reads a line whose blanks stand in the middle of words.
func (r *reader) elsewhere(x Reading, line []byte) {
	flat := r.plainWord[:0]
	for i, c := range line {
		switch {
		case i > 0 && c < 'a' && letter(c) && letter(line[i-1]): // names, rather
			return
		case letter(c):
			flat = append(flat, c|0x20)
		case c != ' ':
			return
		}
	}
	r.plainWord = flat
	if len(flat) < longRun {
		return
	}
	x.How, x.Text = howElsewhere, r.together(flat)
	r.emit(x)
}

// inNames are the signs that join words to a name, and blanks.
var inNames = []byte(" \t_-./\\")

// inMarkup returns the length of the tag or the entity that b begins with, or 0.
func inMarkup(b []byte) int {
	switch b[0] {
	case '<':
		return bytes.IndexByte(b[:min(len(b), maxMarkup)], '>') + 1
	case '&':
		return bytes.IndexByte(b[:min(len(b), maxMarkup)], ';') + 1
	}
	return 0
}

// leastCells is how many words stand in cells of their own at least.
const leastCells = 5

// listed reads a line of words with the same signs between each two of them.
func (r *reader) listed(x Reading, line []byte) {
	out, n, glued := r.out[:0], 0, 0
	var gap []byte // between the first two words
	last := 0      // the end of the last word
	for i := 0; i < len(line); {
		if !letter(line[i]) {
			i += max(1, inMarkup(line[i:]))
			continue
		}
		switch {
		case n == 1:
			gap = line[last:i]
		case n > 1 && !bytes.Equal(gap, line[last:i]):
			return
		}
		from := i
		for i < len(line) && (letter(line[i]) || (line[i] == '-' || line[i] == '\'' || line[i] == '.') && i+1 < len(line) && letter(line[i+1])) {
			i++
		}
		at := len(out)
		if out = appendLower(out, line[from:i]); glue[string(out[at:])] {
			glued++
		}
		out = append(out, ' ')
		n, last = n+1, i
	}
	r.out = out
	if n < leastCells || glued == 0 || len(bytes.TrimSpace(gap)) == 0 || len(gap) == 1 && bytes.IndexByte(inNames, gap[0]) >= 0 {
		return
	}
	x.How, x.Text = howListed, out
	r.emit(x)
}
