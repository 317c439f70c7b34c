package text

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Strip returns b without hidden characters (see Hidden); newlines, tabs and
// carriage returns stay. changed says whether there were any.
func Strip(b []byte) (m *Mapped, changed bool) {
	m = &Mapped{Text: make([]byte, 0, len(b))}
	m.mark(0)
	for i := 0; i < len(b); {
		if c := b[i]; c >= 0x20 && c < 0x7F || c == '\n' || c == '\t' || c == '\r' {
			m.Text = append(m.Text, c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if _, hid := Hidden(r); hid {
			changed = true
			i += n
			m.mark(i)
			continue
		}
		m.Text = append(m.Text, b[i:i+n]...)
		i += n
	}
	return m, changed
}

// Fold returns b as a reader's eye takes it in: without hidden characters and
// accents, compatibility forms and confusable letters as the ASCII letters that
// they look like, in lower case, with plain spaces and quotes. Newlines stay.
func Fold(b []byte) *Mapped {
	m := &Mapped{Text: make([]byte, 0, len(b))}
	m.mark(0)
	for i := 0; i < len(b); {
		c := b[i]
		if c < utf8.RuneSelf {
			switch {
			case c >= 'A' && c <= 'Z':
				m.Text = append(m.Text, c+'a'-'A')
			case c >= 0x20 && c < 0x7F || c == '\n' || c == '\t':
				m.Text = append(m.Text, c)
			case c == '\r':
				m.Text = append(m.Text, '\n')
			default: // a control
				i++
				m.mark(i)
				continue
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		m.mark(i)
		m.foldRune(r, b[i:i+n])
		i += n
		m.mark(i)
	}
	return m
}

func (m *Mapped) foldRune(r rune, src []byte) {
	if r == utf8.RuneError && len(src) == 1 {
		m.Text = append(m.Text, '?')
		return
	}
	if _, hid := Hidden(r); hid {
		if r == 0x85 || r == 0x2028 || r == 0x2029 {
			m.Text = append(m.Text, '\n')
		}
		return
	}
	if _, sp := lookup(spaceSpans, r); sp {
		m.Text = append(m.Text, ' ')
		return
	}
	if l, ok := Confusable(r); ok {
		m.Text = utf8.AppendRune(m.Text, unicode.ToLower(l))
		return
	}
	switch r {
	case '‘', '’', '‛', 'ʼ', '′':
		m.Text = append(m.Text, '\'')
		return
	case '“', '”', '„', '«', '»', '″':
		m.Text = append(m.Text, '"')
		return
	case '–', '—', '‐', '‑', '−':
		m.Text = append(m.Text, '-')
		return
	}
	for _, d := range norm.NFKD.String(string(r)) {
		if unicode.Is(unicode.Mn, d) {
			continue
		}
		if l, ok := Confusable(d); ok {
			d = l
		}
		m.Text = utf8.AppendRune(m.Text, unicode.ToLower(d))
	}
}

// leet maps digits and signs to the letter that they are drawn for.
var leet = map[byte]byte{'0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', '$': 's', '!': 'i'}

// Unleet replaces digits that stand for letters inside of words ("1gn0re") in
// folded text; offsets stay the same. Only lines that hold such words, and their
// neighbours, are in the result: all else is blank. changed says whether there
// were any.
func Unleet(folded []byte) (out []byte, changed bool) {
	out = bytes.Repeat([]byte{'\n'}, len(folded))
	keep := func(at int) { // the line around at, with one more on each side
		lo := bytes.LastIndexByte(folded[:at], '\n')
		lo = bytes.LastIndexByte(folded[:max(lo, 0)], '\n') + 1
		hi := at
		for range 2 {
			i := bytes.IndexByte(folded[hi:], '\n')
			if i < 0 {
				hi = len(folded)
				break
			}
			hi += i + 1
		}
		copy(out[lo:hi], folded[lo:hi])
	}
	var words []word
	var strong []bool // mostly of digits: a word only among others
	for i := 0; i < len(folded); {
		j, letters, subs, run, most, known := i, 0, 0, 0, 0, false
		for j < len(folded) && isLeet(folded[j]) {
			if folded[j] >= 'a' && folded[j] <= 'z' {
				letters++
				run = 0
			} else {
				subs++
				run++
				most = max(most, run)
				_, ok := leet[folded[j]]
				known = known || ok && (folded[j] != '!' || j+1 < len(folded) && isLeet(folded[j+1]))
			}
			j++
		}
		// Numbers with a unit, hashes and identifiers are no words in disguise.
		switch {
		case known && letters >= 2 && letters >= subs && most <= 2 && j-i <= 20:
			words = append(words, word{i, j})
			strong = append(strong, false)
		case known && letters >= 1 && most <= 4 && j-i <= 20 && spells(folded[i:j]):
			words = append(words, word{i, j})
			strong = append(strong, true)
		}
		i = max(j, i+1)
	}
	words = together(folded, words, strong)
	if len(words) == 0 {
		return nil, false
	}
	kept := -1
	for _, w := range words {
		if w.from >= kept { // once a line
			keep(w.from)
			kept = w.to
			if i := bytes.IndexByte(folded[w.to:], '\n'); i >= 0 {
				kept += i
			} else {
				kept = len(folded)
			}
		}
	}
	for _, w := range words {
		for k := w.from; k < w.to; k++ {
			if l, ok := leet[folded[k]]; ok && (folded[k] != '!' || k < w.to-1) {
				out[k] = l
			}
		}
	}
	return out, true
}

type word struct{ from, to int }

// spells says whether every digit of a word stands for a letter.
func spells(w []byte) bool {
	for _, c := range w {
		if _, ok := leet[c]; !ok && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// together drops the words that are mostly of digits ("3x3cu73") from lines
// with fewer than minTogether words in disguise.
func together(folded []byte, words []word, strong []bool) []word {
	const minTogether = 3
	var out []word
	for i := 0; i < len(words); {
		end := len(folded)
		if n := bytes.IndexByte(folded[words[i].from:], '\n'); n >= 0 {
			end = words[i].from + n
		}
		j := i
		for j < len(words) && words[j].from < end {
			j++
		}
		for k := i; k < j; k++ {
			if !strong[k] || j-i >= minTogether {
				out = append(out, words[k])
			}
		}
		i = max(j, i+1)
	}
	return out
}

func isLeet(c byte) bool {
	_, ok := leet[c]
	return ok || c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
}

// minSpaced is how many single letters in a row are a word with blanks in it;
// where there is one, shorter ones of minShort letters are taken for words too.
const (
	minSpaced = 5
	minShort  = 2
)

// Unspace joins letters that are set apart ("i g n o r e") in folded text: runs
// of single characters with one blank, dot, dash or underscore between them.
// nil means that there is no long one.
func Unspace(folded []byte) *Mapped {
	long := false
	for i := 0; i < len(folded) && !long; {
		end, n := spacedRun(folded, i)
		long = n >= minSpaced
		i = max(end, i+1)
	}
	if !long {
		return nil
	}
	m := &Mapped{}
	m.mark(0)
	done := 0
	for i := 0; i < len(folded); {
		end, n := spacedRun(folded, i)
		if n < minShort {
			i = max(end, i+1)
			continue
		}
		m.Text = append(m.Text, folded[done:i]...)
		for k := i; k < end; k += 2 {
			m.mark(k)
			m.Text = append(m.Text, folded[k])
		}
		m.mark(end)
		done, i = end, end
		// Between words that are set apart there are several blanks for one.
		if k := end; k+1 < len(folded) && folded[k] == ' ' && folded[k+1] == ' ' {
			for k+1 < len(folded) && folded[k+1] == ' ' {
				k++
			}
			m.mark(k)
			done, i = k, k
		}
	}
	m.Text = append(m.Text, folded[done:]...)
	return m
}

// spacedRun returns where the run of single letters at i ends and how many they are.
func spacedRun(b []byte, i int) (end, n int) {
	letter := func(k int) bool { return k < len(b) && (b[k] >= 'a' && b[k] <= 'z') }
	if i > 0 && isLeet(b[i-1]) {
		return i, 0
	}
	for letter(i) && !letter(i+1) {
		n++
		end = i + 1
		if end >= len(b) || b[end] != ' ' && b[end] != '.' && b[end] != '-' && b[end] != '_' && b[end] != '*' {
			return end, n
		}
		i += 2
	}
	return end, n
}
