package disguise

import "bytes"

// What tokens reads, by how it is written.
const (
	howSigns  = "with signs or digits in its words"
	howHumps  = "in words that are run together"
	howJoined = "in words that are joined by signs"
	howCase   = "in small letters and capitals by turns"
)

// The bytes that stand around words and belong to none.
var (
	opening = set("\"'([{<*_~`>#=-:;,.&%")
	closing = set("\"')]}>*_~`.,;:!?=-#<&%")
)

// ending are the signs behind words that a reading keeps.
var ending = set(".,:;?")

func set(s string) (t [256]bool) {
	for _, c := range []byte(s) {
		t[c] = true
	}
	return t
}

// tokens reads a line word by word: those that are written with signs or digits in
// them, and those that are several.
func (r *reader) tokens(x Reading, line []byte) {
	out, hits, long, total := r.out[:0], 0, 0, 0
	how := ""
	r.left = r.left[:0]
	for i := 0; i < len(line); {
		if line[i] <= ' ' {
			out = append(out, ' ')
			i++
			continue
		}
		end := i
		made := tokenKinds(0)
		for end < len(line) && line[end] > ' ' {
			made += tokenKind[line[end]]
			end++
		}
		token := line[i:end]
		i = end
		total++
		var plain []byte
		var by string
		if made.mayHide(len(token)) {
			plain, by = r.token(token, made)
		}
		if plain == nil {
			if made.of(countDigits) > 0 && len(token) <= longNumber {
				r.left = append(r.left, [2]int{len(out), len(out) + len(token)})
			}
			out = appendLower(out, token)
			continue
		}
		if len(plain) > 2 {
			hits++
			how = by
		}
		if len(plain) >= minAlone {
			long++
		}
		if by == howJoined || by == howHumps {
			total += bytes.Count(plain, []byte(" "))
			hits += bytes.Count(plain, []byte(" "))
		}
		out = append(out, plain...)
		if c := token[len(token)-1]; by == howSigns && ending[c] && bytes.IndexByte(token, c) == len(token)-1 {
			out = append(out, c)
		}
	}
	r.out = out
	if len(r.left) > 0 && (how == howSigns || how == "" && 2*len(r.left) >= total) {
		if n := r.figures(hits); how == "" && n >= leastSigns {
			how, hits, long = howSigns, n, n
		}
	}
	if how == "" || long == 0 && hits < 2 {
		return
	}
	x.How, x.Text, x.Sure = how, r.out, x.Sure || (how == howSigns || how == howCase) && hits >= 3 && 2*hits >= total
	r.emit(x)
}

// figures replaces the digits of the tokens that are left over by the letters that
// they are drawn for, and returns of how many words. Numbers are replaced only in
// lines where other words, hits of them, are written so.
func (r *reader) figures(hits int) (n int) {
	for _, at := range r.left {
		t := r.out[at[0]:at[1]]
		for len(t) > 0 && closing[t[len(t)-1]] {
			t = t[:len(t)-1]
		}
		letters, drawable, inner := 0, true, false
		for k, c := range t {
			if small(c) {
				letters++
				inner = inner || k > 0 && !small(t[k-1])
			} else if c != '-' && c != '\'' {
				drawable = drawable && drawn[c] != "" && c != '2' && (letters > 0 || c != '6')
			}
		}
		switch {
		case len(t) == 0 || !drawable || len(t) > longNumber || letters > 0 && address(t):
			continue
		case letters == 0:
			if w := r.match.match(t, false); hits >= 2 && len(w) == len(t) {
				copy(t, w)
			}
			continue
		case hits == 0 && !inner: // x12 is a name
			continue
		}
		n++
		for k, c := range t {
			if drawn[c] != "" {
				t[k] = drawn[c][0]
			}
		}
	}
	return n
}

// minAlone is the length of a word that is a disguise by itself.
const minAlone = 5

// token returns what one token is meant to be read as and how it is written, or nil.
func (r *reader) token(t []byte, made tokenKinds) (plain []byte, how string) {
	letters, signs, high := made.of(countLetters), made.of(countSigns), made.of(countHigh)
	humps := 0
	if made.of(countCapitals) >= leastHumps {
		humps = humpsOf(t)
	}
	switch {
	case high > 0 || bytes.Contains(t, []byte("](")) || letters == 0 && (signs == 0 || len(t) > 3 && !figured(t)) || len(t) > maxSplit || bytes.Contains(t, []byte("://")) && humps < leastHumps:
		return nil, ""
	case humps > 1 && r.v.rank(appendLower(r.word[:0], t)) > 0:
		return appendLower(r.word[:0], t), howCase
	case humps >= leastHumps:
		return r.humps(t)
	}
	r.word = appendLower(r.word[:0], t)
	inner := r.word
	for len(inner) > 0 && opening[inner[0]] {
		inner = inner[1:]
	}
	for len(inner) > 0 && closing[inner[len(inner)-1]] {
		inner = inner[:len(inner)-1]
	}
	if len(inner) < 2 {
		return nil, ""
	}
	if bare, longest := lettersOf(inner); bare == len(inner) {
		if r.v.rank(inner) > 0 {
			return nil, ""
		}
		if bare >= longRun && made.of(countCapitals) < 2 {
			return r.together(inner), howHumps
		}
		if signs == 0 || !leet(r.word) {
			return nil, ""
		}
	} else if plain := r.pieces(inner, longest); plain != nil {
		return plain, howJoined
	} else if address(inner) {
		return nil, ""
	}
	if figured(r.word) {
		if w := r.match.match(r.word, false); len(w) > 1 {
			return w, howSigns
		}
	}
	if r.ordinary(inner) {
		return nil, ""
	}
	if w := r.match.match(inner, false); len(w) > 1 {
		return w, howSigns
	}
	if len(inner) < len(r.word) && (leet(r.word) || letters > 1 && bytes.IndexByte(inner, '*') > 0) {
		if w := r.match.match(r.word, false); len(w) > 2 {
			return w, howSigns
		}
	}
	return nil, ""
}

// figured says whether letters may be drawn with several signs in t.
func figured(t []byte) bool {
	return len(t) <= maxToken && bytes.ContainsAny(t, "|\\") && bytes.IndexByte(t, ':') < 0
}

// ordinary says whether one sign in a word is of those that stand in many: it's,
// re-run.
func (r *reader) ordinary(t []byte) bool {
	k := bytes.IndexFunc(t, func(c rune) bool { return c < 'a' || c > 'z' })
	if k <= 0 || k == len(t)-1 {
		return false
	}
	n, _ := lettersOf(t[k+1:])
	if n < len(t)-k-1 {
		return false
	}
	return t[k] == '\'' || t[k] == '-' && (n > 2 && r.v.rank(t[k+1:]) > 0 || k > 2 && r.v.rank(t[:k]) > 0)
}

// longNumber is from which length on a token with digits is no word.
const longNumber = 24

// tokenKinds counts the bytes of a token by what they are, in twelve bits each.
type tokenKinds uint64

const (
	countLetters = 12 * iota
	countCapitals
	countDigits
	countSigns
	countHigh
)

func (k tokenKinds) of(kind int) int { return int(k >> kind & 0xFFF) }

var tokenKind = func() (t [256]tokenKinds) {
	for i := range t {
		switch c := byte(i); {
		case i >= 0x80:
			t[i] = 1 << countHigh
		case small(c):
			t[i] = 1 << countLetters
		case letter(c):
			t[i] = 1<<countLetters | 1<<countCapitals
		case c >= '0' && c <= '9':
			t[i] = 1 << countDigits
		default:
			t[i] = 1 << countSigns
		}
	}
	return t
}()

// mayHide says whether a token of n bytes can be anything but what it looks like.
func (k tokenKinds) mayHide(n int) bool {
	letters, digits := k.of(countLetters), k.of(countDigits)
	switch {
	case letters == n:
		return n >= longRun || k.of(countCapitals) >= leastHumps
	case digits > 0:
		return n <= longNumber && digits <= n-digits+2
	}
	return true
}

// humpsOf counts the capitals behind small letters.
func humpsOf(t []byte) (n int) {
	for i := 1; i < len(t); i++ {
		if t[i] >= 'A' && t[i] <= 'Z' && small(t[i-1]) {
			n++
		}
	}
	return n
}

// together returns the words that stand without blanks in t, or nil if they are no
// sentence.
func (r *reader) together(t []byte) []byte {
	out := r.split.split(t)
	n, glued := 0, 0
	for w := range bytes.FieldsSeq(out) {
		if n++; glue[string(w)] {
			glued++
		}
	}
	if n < minPieces || glued == 0 {
		return nil
	}
	return out
}

// lettersOf counts the letters of a token and those of its longest run.
func lettersOf(t []byte) (n, longest int) {
	run := 0
	for _, c := range t {
		if small(c) {
			n++
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return n, longest
}

// leet says whether a token begins or ends with a sign that is drawn for a letter.
func leet(t []byte) bool {
	c, d := t[0], t[len(t)-1]
	return !small(c) && drawn[c] != "" || !small(d) && drawn[d] != "" && d != '.'
}

// pieces returns the words that signs join to one token, or nil if they are no
// sentence.
func (r *reader) pieces(t []byte, longest int) []byte {
	if longest < 2 {
		return nil
	}
	sign := byte(0)
	n, known, glued := 0, 0, 0
	for i := 0; i < len(t); {
		if !small(t[i]) {
			if sign == 0 {
				sign = t[i]
			} else if sign != t[i] {
				return nil
			}
			i++
			continue
		}
		from := i
		for i < len(t) && small(t[i]) {
			i++
		}
		n++
		if rank := r.v.rank(t[from:i]); rank > 0 {
			known++
			if r.v.glue[rank] {
				glued++
			}
		}
	}
	if first, _, _ := bytes.Cut(t, []byte{sign}); testName[string(first)] {
		return nil
	}
	if n < minPieces || 4*known < 3*n || glued == 0 {
		return nil
	}
	return bytes.ReplaceAll(t, []byte{sign}, []byte(" "))
}

// testName are the words with which the names of tests begin.
var testName = map[string]bool{"test": true, "tests": true, "should": true, "it": true}

// minPieces is how many words are joined at least.
const minPieces = 4

// address says whether a token is an address or a number, which stays as it is.
func address(t []byte) bool {
	dot := bytes.LastIndexByte(t, '.')
	if dot > 0 && dot < len(t)-2 && len(t)-dot <= 8 && t[dot-1] != '.' {
		tail, _ := lettersOf(t[dot+1:])
		before, longest := lettersOf(t[:dot])
		if tail == len(t)-dot-1 && longest > 1 && before > 2 {
			return true
		}
	}
	return bytes.IndexByte(t, '@') > 0 && dot > 0
}

// humps splits a token at its capitals.
func (r *reader) humps(t []byte) (plain []byte, how string) {
	out := r.word[:0]
	n, known, glued, from := 1, 0, 0, 0
	for i, c := range t {
		upper := c >= 'A' && c <= 'Z'
		if upper && i > 0 && (small(t[i-1]) || i+1 < len(t) && small(t[i+1]) && t[i-1] >= 'A' && t[i-1] <= 'Z') {
			if glue[string(out[from:])] {
				glued++
			}
			if r.v.rank(out[from:]) > 0 {
				known++
			}
			out = append(out, ' ')
			from = len(out)
			n++
		}
		if upper {
			c |= 0x20
		}
		out = append(out, c)
	}
	r.word = out
	if n < minPieces || glued == 0 || 3*known < 2*(n-1) {
		return nil, ""
	}
	return out, howHumps
}

func appendLower(out, b []byte) []byte {
	for _, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		out = append(out, c)
	}
	return out
}
