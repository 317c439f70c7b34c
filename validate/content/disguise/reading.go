// Package disguise reads text that is spelt in such a way that people and models
// understand it and programs that look for words do not: letters set apart or
// replaced by others that look alike, words run together or mixed up, characters
// that nobody sees. It finds such text by how it looks and says what it is meant
// to be read as; judging that is the caller's work.
//
// Its input is hostile. It is pure and takes time linear in its input.
package disguise

import (
	"bytes"
	"iter"
	"sync"
)

// Reading is what a stretch of a text is meant to be read as.
type Reading struct {
	// From and To bound the stretch in the text.
	From, To int
	// How says how it is spelt.
	How string
	// Text is what it reads as, in small letters. It is good until the next reading.
	Text []byte
	// Sure says that harmless text is hardly ever spelt so.
	Sure bool
	// Unseen says that the text is of characters that nobody sees.
	Unseen bool
}

// Lines are looked at in parts of this length at most.
const maxLine = 1000

// Readings yields what the disguised parts of raw are meant to be read as. spend, if not
// nil, is told of each line how many bytes were looked at, those that were looked at
// again counted again, and says whether there may be more.
func Readings(raw []byte, spend func(bytes int) bool) iter.Seq[Reading] {
	return func(yield func(Reading) bool) {
		r := readers.Get().(*reader)
		r.yield, r.spend, r.done, r.merged, r.spent = yield, spend, false, 0, 0
		r.text(raw)
		r.yield, r.spend = nil, nil
		readers.Put(r)
	}
}

var readers = sync.Pool{New: func() any {
	v := words()
	return &reader{v: v, match: matcher{v: v}, split: splitter{v: v}}
}}

// looked notes that n bytes were looked at so many times.
func (r *reader) looked(n, times int) { r.spent += n * times }

func (r *reader) text(raw []byte) {
	r.unseen(raw)
	r.masked = mayMask(raw)
	for at := 0; at < len(raw) && !r.done; {
		end := len(raw)
		if k := bytes.IndexByte(raw[at:], '\n'); k >= 0 {
			end = at + k
		}
		r.whole(at, raw[at:end])
		for from := at; from < end && !r.done; {
			to := cut(raw, from, end)
			r.looked(to-from, 1)
			r.line(from, raw[from:to])
			from = to
			if r.spend != nil && !r.spend(r.spent) {
				r.done = true
			}
			r.spent = 0
		}
		at = end + 1
	}
	r.column.flush(r)
	r.broken.flush(r)
	r.join(Reading{From: -1})
}

// cut returns where the part of a line ends that begins at from: at a blank, if it
// must be cut at all.
func cut(raw []byte, from, end int) int {
	if end-from <= maxLine {
		return end
	}
	to := from + maxLine
	if k := bytes.LastIndexByte(raw[from:to], ' '); k > 0 {
		return from + k
	}
	return to
}

// reader looks at the lines of one text, one after the other.
type reader struct {
	v     *vocabulary
	match matcher
	split splitter
	yield func(Reading) bool
	done  bool
	out   []byte // the reading that is being made
	plain []byte // a line of plain letters
	word  []byte
	// plainWord is the strange word that was looked at last.
	plainWord []byte
	left      [][2]int // the tokens with digits that no word comes of
	column    column
	broken    broken
	last      Reading // what goes on in the next line
	merged    int     // lines of last
	masked    bool    // addresses may be written in another way
	spent     int     // bytes that were looked at since spend was asked
	spend     func(bytes int) bool
}

// maxMerged bounds how much of a text that goes on over lines is read at once.
const maxMerged = 2000

// emit yields a reading, and later what it is together with its neighbours.
func (r *reader) emit(x Reading) {
	if r.done || len(x.Text) == 0 {
		return
	}
	if r.done = !r.yield(x); !r.done {
		r.join(x)
	}
}

// join puts a reading to the one of the line before if it is spelt alike.
func (r *reader) join(x Reading) {
	if r.merged > 0 && x.From == r.last.To+1 && x.How == r.last.How && len(r.last.Text)+len(x.Text) < maxMerged {
		r.last.Text = append(append(r.last.Text, ' '), x.Text...)
		r.last.To, r.last.Sure = x.To, r.last.Sure && x.Sure
		r.merged++
		return
	}
	if r.merged > 1 && !r.done {
		r.done = !r.yield(r.last)
	}
	room := r.last.Text[:0]
	if r.last, r.merged = x, 1; x.From < 0 {
		r.merged = 0
	}
	r.last.Text = append(room, x.Text...)
}

// line looks at one line, or a part of a long one.
func (r *reader) line(at int, line []byte) {
	m := r.v.look(line)
	x := Reading{From: at, To: at + len(line)}
	if m.foreign {
		r.apartForeign(x, line)
		var odd oddity
		line, odd = r.latin(line)
		m = r.v.look(line)
		if odd.real(m) {
			return
		}
		x.How = odd.how()
		if x.How == howAlike && odd.mixed < leastStrange && !r.plainly(line) {
			if 2*m.alone < m.letters {
				return
			}
			x.How = ""
		}
		if x.How != "" {
			x.Sure = odd.mixed != 2
			x.Text = lowered(&r.out, line)
			r.emit(x)
		}
	}
	r.undo(x, line, m)
}

// undo tries what the marks of a line speak for.
func (r *reader) undo(x Reading, line []byte, m marks) {
	if m.letters < leastLetters {
		if m.letters == 0 {
			r.signal(x, line)
		}
		return
	}
	if m.alone >= leastAlone {
		r.apart(x, line)
	}
	if m.digits >= leastAffixed {
		r.affixed(x, line)
	}
	if r.masked || m.punctuation > 2 && bracketed(line) {
		r.unmask(x, line)
	}
	if m.signs+m.pairs >= leastSigns || m.digits > 0 && 4*m.digits >= m.numbers || m.longest >= longRun || m.capitals >= leastHumps {
		r.looked(len(line), 2)
		r.tokens(x, line)
	}
	if m.punctuation >= leastMarkup && maybeMarkup(line) || m.punctuation > 1 && bytes.Count(line, []byte("- ")) > 1 {
		r.markup(x, line)
	}
	if m.punctuation >= leastCells-1 && m.numbers == 0 && m.words >= leastCells {
		r.listed(x, line)
	}
	if m.strange >= leastStrange && 5*m.strange >= 2*m.long {
		r.looked(len(line), 6)
		r.strange(x, line)
		r.affixed(x, line)
	} else if m.words >= shortWords && m.letters < 4*m.words && m.numbers == 0 {
		r.looked(len(line), 6)
		r.short(x, line, m)
	}
}

// The least that is taken for a sentence, or for a mark of a disguise.
const (
	leastLetters = 4
	leastAlone   = 5
	leastSigns   = 3
	leastHumps   = 3
	leastStrange = 2
	leastMarkup  = 6
	shortWords   = 5
	longRun      = 14
)

// lowered copies b in small letters to room.
func lowered(room *[]byte, b []byte) []byte {
	*room = append((*room)[:0], b...)
	for i, c := range *room {
		if c >= 'A' && c <= 'Z' {
			(*room)[i] = c | 0x20
		}
	}
	return *room
}
