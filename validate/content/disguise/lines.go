package disguise

import "bytes"

// Readings of more than one line.

const (
	howColumn = "in one word a line"
	howBroken = "in words that are broken at the ends of lines"
)

// The bounds of what stands one word a line.
const (
	leastColumn = 4
	maxCell     = 40
	maxColumn   = 1500
)

// column collects lines that hold one word each.
type column struct {
	from, to, lines, letters, glued int
	text                            []byte
}

// cell returns the word that a line consists of, but for what makes it an item of a
// list, or nil.
func cell(line []byte) []byte {
	if len(line) > maxCell || bytes.IndexByte(line, ',') >= 0 {
		return nil
	}
	for len(line) > 0 && (line[0] <= ' ' || opening[line[0]] && len(line) > 1) {
		line = line[1:]
	}
	for k := range line { // the number of an item
		if line[k] < '0' || line[k] > '9' {
			if k > 0 && (line[k] == '.' || line[k] == ')') {
				line = line[k+1:]
			}
			break
		}
	}
	for len(line) > 0 && line[0] <= ' ' {
		line = line[1:]
	}
	for len(line) > 0 && (line[len(line)-1] <= ' ' || closing[line[len(line)-1]]) {
		line = line[:len(line)-1]
	}
	for _, c := range line {
		if c <= ' ' {
			return nil
		}
	}
	return line
}

// whole looks at a line for what goes on in the next.
func (r *reader) whole(at int, line []byte) {
	r.broken.line(r, at, line)
	if len(line) == 0 {
		return
	}
	w := cell(line)
	c := &r.column
	if len(w) == 0 || bytes.HasPrefix(line, []byte("```")) || !letter(w[0]) && w[0] < 0x80 && drawn[w[0]] == "" {
		c.flush(r)
		return
	}
	if c.lines == 0 {
		c.from = at
	}
	if c.lines++; len(w) == 1 {
		c.letters++
	}
	if len(c.text) > 0 {
		c.text = append(c.text, ' ')
	}
	if small := lowered(&r.word, w); glue[string(small)] {
		c.glued++
	}
	c.to = at + len(line)
	c.text = append(c.text, w...)
	if len(c.text) > maxColumn {
		c.flush(r)
	}
}

// flush reads what was collected.
func (c *column) flush(r *reader) {
	if c.lines >= leastColumn && !r.done {
		x := Reading{From: c.from, To: c.to, How: howColumn}
		text := append([]byte(nil), c.text...)
		if c.letters == c.lines {
			text = bytes.ReplaceAll(text, []byte(" "), nil)
			if lettersOnly(text) && c.lines >= leastLetters {
				if words := r.split.split(lowered(&r.out, text)); words != nil {
					x.Text, x.Sure = words, true
					r.emit(x)
				}
			}
		} else if c.glued > 0 {
			x.Text, x.Sure = lowered(&r.out, text), c.lines > leastColumn && 4*c.glued >= c.lines
			r.emit(x)
			r.line(x.From, text)
		}
	}
	*c = column{text: c.text[:0]}
}

func lettersOnly(b []byte) bool {
	for _, c := range b {
		if !letter(c) {
			return false
		}
	}
	return true
}

// broken collects lines that end in the middle of a word.
type broken struct {
	from, to int
	text     []byte
}

func (k *broken) line(r *reader, at int, line []byte) {
	n := len(line)
	goesOn := n > 1 && line[n-1] == '-' && letter(line[n-2])
	if len(k.text) == 0 && !goesOn {
		return
	}
	if len(k.text) == 0 {
		k.from = at
	}
	if k.to = at + n; goesOn {
		line = line[:n-1]
	}
	k.text = append(k.text, line...)
	if !goesOn || len(k.text) > maxMerged {
		k.flush(r)
	}
}

func (k *broken) flush(r *reader) {
	if len(k.text) > 0 && !r.done {
		r.emit(Reading{From: k.from, To: k.to, How: howBroken, Text: lowered(&r.out, k.text)})
	}
	*k = broken{text: k.text[:0]}
}
