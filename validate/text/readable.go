package text

import (
	"bytes"
	"unicode/utf8"
)

// The bounds of a stretch of text among other bytes.
const (
	// minText is how many bytes of text it has. Chance bytes hardly ever come to that.
	minText = 16
	// oddCost is how many bytes of text make up for one that is none, and maxCredit how many at most.
	oddCost   = 8
	maxCredit = 64
)

// Readable returns what a reader finds in b: b itself if it is text, else its stretches
// of text, each on a line of its own. A stretch may hold few bytes that are no text.
// NUL bytes between single characters are left out, so that UTF-16 reads as what it spells;
// others end a line. whole says that all of b is text.
func Readable(b []byte) (m *Mapped, whole bool) {
	if utf8.Valid(b) && !bytes.ContainsFunc(b, odd) {
		return &Mapped{Text: b}, true
	}
	m = &Mapped{}
	s := island{m: m}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		src := b[i : i+n]
		switch isText := !odd(r) && (r != utf8.RuneError || n > 1); {
		case isText:
			s.good += n
			s.run += n
			s.credit = min(s.credit+n, maxCredit)
			m.Add(src, i)
		case r == 0 && s.run == 1:
			s.run = 0
		case s.good > 0:
			s.run = 0
			if s.credit -= oddCost * n; s.credit < 0 {
				s.end()
				break
			}
			if r == 0 {
				src = []byte{'\n'}
			}
			m.Add(src, i)
		}
		i += n
	}
	s.end()
	return m, false
}

// odd says whether r is no part of text: a control other than those of lines, pages and
// terminals.
func odd(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != 0x1b || r >= 0x7f && r <= 0x9f
}

// island is the stretch that is being read.
type island struct {
	m             *Mapped
	start, places int // where it begins in m.Text and m.to
	good, credit  int // bytes of text, and how many of them make up for others
	run           int // bytes of text behind the last that was none
}

// end keeps the stretch if it is long enough, and begins another one.
func (s *island) end() {
	m := s.m
	if s.good < minText {
		m.Text, m.from, m.to = m.Text[:s.start], m.from[:s.places], m.to[:s.places]
	} else {
		m.Text = append(m.Text, '\n')
	}
	*s = island{m: m, start: len(m.Text), places: len(m.to)}
}
