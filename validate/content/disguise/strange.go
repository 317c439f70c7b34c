package disguise

import (
	"bytes"
	"slices"
)

// way is how the letters of words were changed, and what undoes that.
type way struct {
	how string
	// all says that every word of the line was changed, not only those that are strange.
	all bool
	// undo returns the word that w is meant to be, or nil.
	undo func(r *reader, w []byte) []byte
}

var ways = []way{
	{"with letters mixed up", false, func(r *reader, w []byte) []byte {
		if len(w) < longWord {
			return nil
		}
		return r.known(r.v.mixed(w))
	}},
	{howMisspelt, false, (*reader).respelt},
	{"with letters repeated", false, func(r *reader, w []byte) []byte {
		if !repeats(w) {
			return nil
		}
		return r.match.match(w, true)
	}},
	{"backwards", true, func(r *reader, w []byte) []byte {
		r.word = append(r.word[:0], w...)
		slices.Reverse(r.word)
		return r.ranked(r.word)
	}},
	{"with the alphabet backwards", true, func(r *reader, w []byte) []byte {
		r.word = append(r.word[:0], w...)
		for i, c := range r.word {
			r.word[i] = 'a' + 'z' - c
		}
		return r.ranked(r.word)
	}},
	{"in pig Latin", true, func(r *reader, w []byte) []byte { return r.ranked(r.pig(w)) }},
	{howBare, false, func(r *reader, w []byte) []byte {
		if slices.ContainsFunc(w[1:], vowel) {
			return nil
		}
		return r.known(r.v.withVowels(w))
	}},
}

const howBare = "without vowels"

// short looks at a line of short words: whether they lack their vowels, or are torn.
func (r *reader) short(x Reading, line []byte, m marks) {
	vowels := 0
	for _, c := range line {
		if vowel(c | 0x20) {
			vowels++
		}
	}
	if 6*vowels < m.letters {
		k := slices.IndexFunc(ways, func(w way) bool { return w.how == howBare })
		r.changed(x, line, &ways[k])
	}
	if 4*m.long < m.words {
		r.elsewhere(x, line)
	}
}

// least is how many words of a line must be changed in this way.
func (w *way) least() int {
	if w.how == howMisspelt || w.how == howBare {
		return leastStrange + 1
	}
	return leastStrange
}

const howMisspelt = "with misspelt words"

// chat are words as people write them in haste.
var chat = map[string]string{"u": "you", "ur": "your", "r": "are", "teh": "the", "plz": "please", "pls": "please", "al": "all", "an": "and", "snd": "send", "wth": "with", "frm": "from", "ths": "this", "tht": "that", "yr": "your", "adn": "and", "hte": "the", "nad": "and", "tho": "the", "thru": "through", "msg": "message", "pwd": "password", "pw": "password"}

// respelt returns the word that w is most likely misspelt for, or nil.
func (r *reader) respelt(w []byte) []byte {
	if s := chat[string(w)]; s != "" {
		return append(r.word[:0], s...)
	}
	if len(w) < longWord {
		return nil
	}
	if s := r.v.mixed(w); s != "" && s[0] == w[0] {
		return r.known(s)
	}
	return r.known(r.v.near(w))
}

// known returns a word of the vocabulary, or nil for "".
func (r *reader) known(s string) []byte {
	if s == "" {
		return nil
	}
	return append(r.word[:0], s...)
}

func (r *reader) ranked(w []byte) []byte {
	if r.v.rank(w) == 0 {
		return nil
	}
	return w
}

// repeats says whether at least as many pairs of neighbours are equal as a third of
// the letters, or three in a row are.
func repeats(w []byte) bool {
	pairs, row := 0, 0
	for i := 1; i < len(w); i++ {
		if w[i] != w[i-1] {
			row = 0
			continue
		}
		pairs++
		if row++; row >= 2 {
			return true
		}
	}
	return 3*pairs >= len(w)
}

// pig undoes pig Latin: "untray" is "runt" moved by one.
func (r *reader) pig(w []byte) []byte {
	n := len(w) - 2
	if n < 2 || w[n] != 'a' || w[n+1] != 'y' {
		return nil
	}
	w = w[:n]
	if (w[n-1] == 'w' || w[n-1] == 'y') && r.v.rank(w[:n-1]) > 0 && vowel(w[0]) {
		return append(r.word[:0], w[:n-1]...)
	}
	k := 0
	for k < min(n-1, 4) && !vowel(w[n-k-1]) {
		k++
	}
	for ; k > 0; k-- {
		r.word = append(append(r.word[:0], w[n-k:]...), w[:n-k]...)
		if r.v.rank(r.word) > 0 {
			return r.word
		}
	}
	return nil
}

// samples is how many strange words tell how a line was changed.
const samples = 12

// strange looks for the way in which words were changed that the vocabulary does
// not know.
func (r *reader) strange(x Reading, line []byte) {
	var hits [8]int
	moved := map[int]int{}
	n := 0
	var before []byte
	for w := range r.runs(line) {
		if len(w) < longWord || r.v.rank(w) > 0 || string(w) == string(before) {
			continue
		}
		before = append(r.plainWord[:0], w...)
		r.plainWord = before
		if n++; n > samples || n == samples/2+1 && nothing(hits[:]) && len(moved) == 0 {
			break
		}
		for i := range ways {
			if ways[i].undo(r, w) != nil {
				hits[i]++
			}
		}
		if by, ok := r.v.shift(w); ok {
			moved[by]++
		}
	}
	n = min(n, samples)
	r.elsewhere(x, line)
	r.spoken(x, line)
	for i, h := range hits {
		if i < len(ways) && h >= leastStrange && 2*h >= n {
			r.changed(x, line, &ways[i])
		}
	}
	for by, h := range moved {
		if h > leastStrange && 2*h >= n || h == leastStrange && n == leastStrange {
			r.shifted(x, line, by)
		}
	}
}

func nothing(hits []int) bool {
	for _, h := range hits {
		if h > 0 {
			return false
		}
	}
	return true
}

// runs yields the words of a line that are of letters only, in small ones.
func (r *reader) runs(line []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		var room [maxToken]byte
		for i := 0; i < len(line); {
			from := i
			for i < len(line) && letter(line[i]) {
				i++
			}
			if i > from && i-from <= maxToken && bare(line, from, i) && !name(line, from, i) {
				w := appendLower(room[:0], line[from:i])
				if !yield(w) {
					return
				}
			}
			if i == from {
				i++
			}
		}
	}
}

// name says whether a word begins with a capital in the middle of a line.
func name(line []byte, from, end int) bool {
	return from > 1 && line[from] < 'a' && end > from+1 && line[from+1] >= 'a' && line[from-1] == ' ' && line[from-2] != '.'
}

// bare says whether the letters of a line from from to end are a word of their own,
// and not part of an address or of a name.
func bare(line []byte, from, end int) bool {
	if from > 0 && (wordByte(line[from-1]) || addressSign[line[from-1]] && from > 1 && wordByte(line[from-2])) {
		return false
	}
	return end == len(line) || !wordByte(line[end]) && (!addressSign[line[end]] || end+1 == len(line) || !wordByte(line[end+1]))
}

var addressSign = set("./@_:\\=")

// shifted reads a line whose letters were moved in the alphabet.
func (r *reader) shifted(x Reading, line []byte, by int) {
	out := lowered(&r.out, line)
	for i, c := range out {
		if small(c) {
			out[i] = 'a' + byte((int(c-'a')+by)%26)
		}
	}
	if r.sensible(out) {
		x.How, x.Text, x.Sure = "with letters moved in the alphabet", out, true
		r.emit(x)
	}
}

// plainly says whether the vocabulary knows most of what stands between blanks.
func (r *reader) plainly(line []byte) bool {
	known := 0
	for w := range r.runs(line) {
		if r.v.rank(w) > 0 {
			known++
		}
	}
	return known > leastStrange && 5*known >= 3*len(bytes.Fields(line))
}

// sensible says whether the vocabulary knows most of the words of a line, or many in
// a row.
func (r *reader) sensible(line []byte) bool {
	n, known, row, most := 0, 0, 0, 0
	for w := range r.runs(line) {
		n++
		if r.v.rank(w) == 0 {
			row = 0
			continue
		}
		known++
		row++
		most = max(most, row)
	}
	return known > leastStrange && 5*known >= 3*n || most > 2*leastStrange
}

// changed reads a line whose words were changed in one way.
func (r *reader) changed(x Reading, line []byte, w *way) {
	out, hits, n := r.out[:0], 0, 0
	for i := 0; i < len(line); {
		from := i
		for i < len(line) && letter(line[i]) {
			i++
		}
		if i == from {
			out = append(out, line[i])
			i++
			continue
		}
		at := len(out)
		out = appendLower(out, line[from:i])
		if !w.all && name(line, from, i) || i-from > maxToken || i-from < 2 && w.how != howMisspelt || !w.all && !bare(line, from, i) {
			continue
		}
		n++
		var room [maxToken]byte
		word := append(room[:0], out[at:]...)
		if known := r.v.rank(word) > 0; known && !w.all && (w.how != howMisspelt || chat[string(word)] == "") {
			continue
		}
		if undone := w.undo(r, word); undone != nil {
			out = append(out[:at], undone...)
			hits++
		}
	}
	r.out = out
	if hits < w.least() || w.all && !r.sensible(out) {
		return
	}
	x.How, x.Text, x.Sure = w.how, out, w.how != howMisspelt && hits >= 3 && 2*hits >= n
	r.emit(x)
	if w.how != "backwards" {
		return
	}
	// So far each word by itself was turned round; now the line as a whole.
	out = lowered(&r.out, line)
	slices.Reverse(out)
	x.Text = out
	r.emit(x)
}
