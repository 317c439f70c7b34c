package encoded

import (
	"bytes"
	"encoding/ascii85"
	"html"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/threegate/tool-exec/validate/internal/keyword"
)

// rare looks for spellings that hardly any text has. Each finder goes by marks, one
// of which each of its stretches holds, or by what costs next to nothing to look
// for; and each finds its own kind only.
var rare = []struct {
	find  func([]byte) iter.Seq[stretch]
	marks []string
}{
	{findQuery, nil}, {findTokenLines, nil}, {findCalls, callMarks()}, {findBytes, nil}, {findBits, nil}, {findDashes, nil}, {findArmour, []string{asciiMark, uuMark}},
	{findAskew, nil}, {findBackwards, slices.Concat(backwards, turned)}, {findConcatenated, nil}, {findLists, joiners}, {findEntities, entityMarks},
}

// marks finds those of all rare finders in one pass; of says whose each is.
var marks = sync.OnceValues(func() (all *keyword.Finder, of []int) {
	var words []string
	for i, f := range rare {
		for _, m := range f.marks {
			words, of = append(words, m), append(of, i)
		}
	}
	return keyword.New(words, false), of
})

// findRare yields the stretches of all rare spellings, one after the other.
func findRare(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		all, of := marks()
		seen := make([]bool, len(rare))
		for hit := range all.Walk(b) {
			seen[of[hit.Word]] = true
		}
		for i, f := range rare {
			if f.marks != nil && !seen[i] {
				continue
			}
			for s := range f.find(b) {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// places yields the places where mark begins.
func places(b []byte, mark string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := 0; ; {
			k := bytes.Index(b[at:], []byte(mark))
			if k < 0 || !yield(at+k) {
				return
			}
			at += k + len(mark)
		}
	}
}

// findQuery reads the queries of addresses, in which a blank is a plus sign and
// nothing else is written in another way.
func findQuery(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for from := range places(b, "?") {
			to := runEnd(b, from, &urlClass)
			run := b[from:to]
			if bytes.IndexByte(run, '=') < 0 || bytes.IndexByte(run, '+') < 0 || bytes.IndexByte(run, '%') >= 0 {
				continue
			}
			if !yield(stretch{from, to, Percent, bytes.ReplaceAll(run, []byte("+"), []byte(" "))}) {
				return
			}
		}
	}
}

// The bounds of a value that goes on over lines.
const (
	minLine  = 8
	maxLine  = 100
	maxLines = 4096 // characters in all
)

// findTokenLines joins a value that is broken into lines: the end of one line and
// the next ones, which hold nothing else.
func findTokenLines(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for at := 0; at < len(b); {
			end := lineEnd(b, at)
			from, to := lastToken(b[at:end])
			next := end + 1
			if to-from < minLine || next >= len(b) {
				at = next
				continue
			}
			out := bytes.Clone(b[at+from : at+to])
			start, stop := at+from, at+to
			width := 0
			for next < len(b) {
				e := lineEnd(b, next)
				f, t := lastToken(b[next:e])
				if t == f || !onlyMarks(b[next:next+f]) || t-f > maxLine || width > 0 && t-f > width {
					break
				}
				if len(out) <= maxLines {
					out = append(out, b[next+f:next+t]...)
				}
				stop = next + t
				next = e + 1
				if width > 0 && t-f < width {
					break
				}
				width = t - f
			}
			if width > 0 && len(out) >= minSpelt && len(out) <= maxLines && bytes.ContainsAny(out, "0123456789") && !yield(stretch{start, stop, Spelt, out}) {
				return
			}
			at = max(end+1, min(next, len(b)))
		}
	}
}

func lineEnd(b []byte, i int) int {
	if k := bytes.IndexByte(b[i:], '\n'); k >= 0 {
		return i + k
	}
	return len(b)
}

// lastToken bounds the token that line ends with, but for what joins lines.
func lastToken(line []byte) (from, to int) {
	to = len(line)
	for to > 0 && mark(line[to-1]) {
		to--
	}
	from = to
	for from > 0 && to-from <= maxLine && tokenClass[line[from-1]] {
		from--
	}
	return from, to
}

func mark(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\\' || c == '"' || c == '\'' || c == '+' || c == ',' || c == '#' || c == '>' || c == '|'
}

func onlyMarks(b []byte) bool {
	for _, c := range b {
		if !mark(c) {
			return false
		}
	}
	return true
}

// calls are the beginnings of what stands for one character, and the base of the
// number that follows: chr(65), [char]65, U+0041, \u{41}, \U00000041, %u0041.
var calls = []struct {
	mark string
	base int
}{{"hr(", 10}, {"HR(", 10}, {"har]", 10}, {"har(", 10}, {"HAR(", 10}, {"U+", 16}, {`\u{`, 16}, {`\U0`, 16}, {"%u00", 16}}

func callMarks() (out []string) {
	for _, c := range calls {
		out = append(out, c.mark)
	}
	return out
}

// minCalls is how many of them make a text.
const minCalls = 8

func findCalls(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for _, c := range calls {
			var out []byte
			start, stop := 0, 0
			flush := func() bool {
				ok := len(out) < minCalls || yield(stretch{start, stop, Escape, out})
				out = nil
				return ok
			}
			for at := range places(b, c.mark) {
				if len(out) > 0 && at-stop > 16 && !flush() {
					return
				}
				v, end := number(b, at+len(c.mark), c.base)
				if end == 0 || v == 0 || v > 0x7e {
					continue
				}
				if len(out) == 0 {
					start = at
				}
				out, stop = append(out, byte(v)), end
			}
			if !flush() {
				return
			}
		}
	}
}

// number reads the number at i; its end is 0 without one.
func number(b []byte, i, base int) (v, end int) {
	if base == 10 && i+2 < len(b) && (b[i] == '0' && b[i+1]|0x20 == 'x' || b[i] == '&' && b[i+1]|0x20 == 'h') {
		i, base = i+2, 16
	}
	from := i
	for i < len(b) && i-from < 8 && (digitClass[b[i]] || base == 16 && hexClass[b[i]]) {
		v = v*base + int(unhex(b[i]))
		i++
	}
	if i == from {
		return 0, 0
	}
	return v, i
}

var listClass = classOf("0123456789, -\n\t[](){};")

// findBytes reads lists of the values of bytes, with or without a sign, that come
// to a known format or to text with line ends of two characters.
func findBytes(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; ; {
			from, end := longRun(b, i, 2*minSpelt-1, &listClass)
			if from == len(b) {
				return
			}
			var out []byte
			start, stop := from, from
			flush := func() bool {
				ok := len(out) < minSpelt || !known(out) && (bytes.IndexByte(out, '\r') < 0 || !LooksText(out)) || yield(stretch{start, stop, Number, out})
				out = nil
				return ok
			}
			for k := from; k < end; {
				if !digitClass[b[k]] {
					k++
					continue
				}
				v, e := number(b[:end], k, 10)
				if k > from && b[k-1] == '-' {
					v = -v
				}
				if v < -128 || v > 255 || e-k > 3 {
					if !flush() {
						return
					}
				} else {
					if len(out) == 0 {
						start = k
					}
					out, stop = append(out, byte(v)), e
				}
				k = e
			}
			if !flush() {
				return
			}
			i = end
		}
	}
}

var bitClass = classOf("01, \nb_")

// findBits reads bytes that are written as eight digits each.
func findBits(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; ; {
			from, end := longRun(b, i, 9*minData-1, &bitClass)
			if from == len(b) {
				return
			}
			var out []byte
			v, n := 0, 0
			for k := from; k < end; k++ {
				switch c := b[k]; {
				case c == '0' && k+1 < end && b[k+1] == 'b':
					k++
					v, n = 0, 0
				case c == '0' || c == '1':
					v, n = v<<1|int(c-'0'), n+1
					if n == 8 {
						out = append(out, byte(v))
						v, n = 0, 0
					}
				}
			}
			if (LooksText(out) || known(out)) && !yield(stretch{from, end, Number, out}) {
				return
			}
			i = end
		}
	}
}

var dashClass = classOf("0123456789abcdefABCDEF-:")

// findDashes reads bytes with hyphens or colons between them: 41-4B-49.
func findDashes(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; ; {
			from, end := longRun(b, i, 3*minSpelt-1, &dashClass)
			if from == len(b) {
				return
			}
			var out []byte
			k := from
			for ; k+1 < end && hexClass[b[k]] && hexClass[b[k+1]] && (k+2 >= end || !hexClass[b[k+2]]); k += 3 {
				out = append(out, unhex(b[k])<<4|unhex(b[k+1]))
			}
			if len(out) >= minSpelt && !yield(stretch{from, min(k, end), Hex, out}) {
				return
			}
			i = end
		}
	}
}

// maxArmour bounds how much of one armoured stretch is read.
const maxArmour = 1 << 20

// The marks of Ascii85 and of uuencoded files.
const (
	asciiMark = "<~"
	uuMark    = "begin "
)

// findArmour reads Ascii85 between its marks and uuencoded files.
func findArmour(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for from := range places(b, asciiMark) {
			n := bytes.Index(b[from:min(len(b), from+maxArmour)], []byte("~>"))
			if n < minSpelt {
				continue
			}
			out := make([]byte, 4*n)
			if m, _, err := ascii85.Decode(out, b[from+2:from+n], true); err == nil && !yield(stretch{from, from + n + 2, "ascii85", out[:m]}) {
				return
			}
		}
		for from := range places(b, uuMark) {
			at := lineEnd(b, from) + 1
			if from+10 > len(b) || !digitClass[b[from+6]] || !digitClass[b[from+8]] || at-from > maxLine {
				continue
			}
			var out []byte
			for at < len(b) && len(out) < maxArmour {
				end := lineEnd(b, at)
				line := bytes.TrimRight(b[at:end], "\r")
				if len(line) < 2 || line[0] <= ' ' || line[0] > 'M' {
					break
				}
				out = append(out, uuLine(line)...)
				at = end + 1
			}
			if !yield(stretch{from, min(at, len(b)), "uuencode", out}) {
				return
			}
		}
	}
}

func uuLine(line []byte) (out []byte) {
	n := int(line[0] - ' ')
	line = line[1:]
	for len(line) >= 4 && len(out) < n {
		c := [4]byte{(line[0] - ' ') & 63, (line[1] - ' ') & 63, (line[2] - ' ') & 63, (line[3] - ' ') & 63}
		out = append(out, c[0]<<2|c[1]>>4, c[1]<<4|c[2]>>2, c[2]<<6|c[3])
		line = line[4:]
	}
	return out[:min(n, len(out))]
}

// minAskew is the least length of base64 that is read from another place than
// its beginning, probe how much of it is tried first.
const (
	minAskew = 24
	probe    = 24
)

// findAskew reads base64 that begins behind a few other letters, or that is
// written backwards.
func findAskew(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; ; {
			from, end := longRun(b, i, minAskew, &base64Class)
			if from == len(b) {
				return
			}
			i = end
			if readable(b[from : from+probe]) {
				continue // read from its beginning
			}
			for skip := 1; skip < 4 && from+skip+probe <= end; skip++ {
				if !readable(b[from+skip : from+skip+probe]) {
					continue
				}
				if s, ok := tryBase64(b, [][2]int{{from + skip, end}}, from+skip, end); ok && !yield(s) {
					return
				}
				break
			}
			// Backwards, padding comes first and the groups of four begin at the end.
			back := make([]byte, probe)
			for k := range back {
				back[k] = b[end-1-k]
			}
			if !readable(back) {
				continue
			}
			whole := make([]byte, end-from)
			for k := range whole {
				whole[k] = b[end-1-k]
			}
			if s, ok := tryBase64(whole, [][2]int{{0, len(whole)}}, 0, len(whole)); ok && !yield(stretch{from, end, Base64, s.data}) {
				return
			}
		}
	}
}

// readable says whether the beginning of base64 comes to text or a known format.
func readable(digits []byte) bool {
	var buf [probe]byte
	n := decode64(buf[:], digits[:probe])
	return LooksText(buf[:n]) || known(buf[:n])
}

// backwards are the ends of what begins a key or a program, written backwards;
// turned are such beginnings with each letter moved by 13 places.
var (
	backwards = []string{"YEK ETAVIRP", "_phg", "AIKA", "-bxox", "evil_ks", "hs/nib/!#", "hsab/nib/!#", "hs |", "hsab |", "lruc", "tegw", "XEI", "i- hsab", "pct/ved/", "metsys.so", "//:ptth", "//:sptth"}
	turned    = []string{"CEVINGR XRL", "tuc_", "NXVN", "kbkc-", "fx_yvir", "#!/ova/", "#!/hfe/ova", "phey -", "jtrg -", "uggc://", "uggcf://", "onfu -v", "vzcbeg bf", "/qri/gpc", "rkrp("}
)

// maxTurned is how much around such a beginning is read.
const maxTurned = 2048

// otherWays finds both kinds at once.
var otherWays = sync.OnceValue(func() *keyword.Finder { return keyword.New(slices.Concat(backwards, turned), false) })

func findBackwards(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		first := map[int]int{} // place of each
		for hit := range otherWays().Walk(b) {
			if _, ok := first[hit.Word]; !ok {
				first[hit.Word] = hit.From
			}
		}
		for _, n := range slices.Sorted(maps.Keys(first)) {
			from, to := max(0, first[n]-maxTurned), min(len(b), first[n]+maxTurned)
			out, enc := bytes.Clone(b[from:to]), Reverse
			if n < len(backwards) {
				slices.Reverse(out)
			} else {
				enc = Rot13
				for i := range out {
					out[i] = rot13(out[i])
				}
			}
			if !yield(stretch{from, to, enc, out}) {
				return
			}
		}
	}
}

func rot13(c byte) byte {
	switch l := c | 0x20; {
	case l >= 'a' && l <= 'm':
		return c + 13
	case l >= 'n' && l <= 'z':
		return c - 13
	}
	return c
}

// findConcatenated joins literals that hold more than one word each: "ab " + "cd".
func findConcatenated(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := nextQuote(b, 0); i < len(b); i = nextQuote(b, i+1) {
			k := glued(b, i)
			if k == 0 || i == 0 {
				continue
			}
			from := i
			for from > 0 && i-from < maxJoinedPart && b[from-1] != b[i] && b[from-1] != '\n' {
				from--
			}
			out := bytes.Clone(b[from:i])
			end, plain := i, runEnd(b[:i], from, &tokenClass) == i
			for k > 0 {
				to := k + 1
				for to < len(b) && to-k < maxJoinedPart && b[to] != b[k] && b[to] != '\n' {
					to++
				}
				plain = plain && runEnd(b[:to], k+1, &tokenClass) == to
				out, end = append(out, b[k+1:to]...), to
				if to >= len(b) || b[to] != b[k] {
					break
				}
				k = glued(b, to)
			}
			if len(out) >= minSpelt && !plain && !yield(stretch{from, end, Spelt, out}) {
				return
			}
			i = max(i, end)
		}
	}
}

// glued returns where the literal begins that is joined to the one whose closing
// quote stands at i, or 0.
func glued(b []byte, i int) int {
	for k := i + 1; k < len(b) && k-i < 12; k++ {
		switch b[k] {
		case ' ', '+', '.', '\n', '\\', '&', '\t':
		case b[i]:
			if k == i+1 {
				return 0
			}
			return k
		default:
			return 0
		}
	}
	return 0
}

// joiners are the names of what joins a list.
var joiners = []string{"join", "implode(", "concat("}

// findLists joins the literals of a list that code joins: ["ab", "cd"].join("").
func findLists(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for _, m := range joiners {
			for at := range places(b, m) {
				from, to := at, min(len(b), at+maxTurned)
				if n := len(bytes.TrimRight(b[max(0, at-4):at], ". \n")); n > 0 && b[max(0, at-4)+n-1] == ']' {
					to = at
					if from = bytes.LastIndexByte(b[max(0, at-maxTurned):at], '['); from < 0 {
						continue
					}
					from += max(0, at-maxTurned)
				} else if n := bytes.IndexByte(b[at:to], ')'); n >= 0 {
					to = at + n
				}
				if out := literals(b[from:to]); len(out) >= minSpelt && !yield(stretch{from, to, Spelt, out}) {
					return
				}
			}
		}
	}
}

// literals returns what stands in quotes in b, without anything between.
func literals(b []byte) (out []byte) {
	for i := nextQuote(b, 0); i < len(b); i = nextQuote(b, i+1) {
		n := bytes.IndexByte(b[i+1:], b[i])
		if n < 0 {
			return out
		}
		out = append(out, b[i+1:i+1+n]...)
		i += n + 1
	}
	return out
}

// entityMarks are the beginnings of entities for characters that need none, but for
// numbers of letters: names of what is invisible or nothing but a blank.
var entityMarks = []string{"&#", "&zwnj", "&zwj", "&shy", "&NoBreak", "&ThinSpace", "&ZeroWidth", "&Tab", "&NewLine", "&InvisibleTimes", "&period", "&lowbar", "&hairsp", "&Hacek"}

// findEntities reads lines that hold entities among other text.
func findEntities(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for at := 0; ; {
			from, end := marked(b, at, minEscapes, '&')
			if from == len(b) {
				return
			}
			at = end + 1
			line := b[from:end]
			n := 0
			for _, m := range entityMarks {
				if n += bytes.Count(line, []byte(m)); n >= minEscapes {
					break
				}
			}
			if n >= minEscapes && !yield(stretch{from, end, Entity, []byte(html.UnescapeString(string(line)))}) {
				return
			}
		}
	}
}
