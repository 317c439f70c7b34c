package encoded

import (
	"bytes"
	"iter"
	"unicode/utf8"
)

// stretch is one encoded stretch of a text and its content.
type stretch struct {
	from, to int
	enc      string
	data     []byte
}

// finders look for one encoding each, in one pass over the text.
var finders = []func([]byte) iter.Seq[stretch]{findBase64, findHex, findDump, findEscape, findEscapedLine, findPercent, findBase32, findNumbers, findSpelt}

// all are these and those of rare spellings.
var all = append(finders, findRare)

// The least number of characters that is taken for an encoding.
const (
	minBase64 = 16
	minHex    = 24
	minWrap   = 32 // length of a line that may continue on the next
)

// class is a set of bytes.
type class [256]bool

func classOf(s string) (c class) {
	for i := range len(s) {
		c[s[i]] = true
	}
	return c
}

const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

var (
	base64Class = classOf(alnum + "+/-_")
	hexClass    = classOf("0123456789abcdefABCDEF")
	urlClass    = classOf(alnum + "%+-._~:/?#[]@!$&*,;=|")
)

// runEnd returns the end of the run of c that starts at i.
func runEnd(b []byte, i int, c *class) int {
	for i < len(b) && c[b[i]] {
		i++
	}
	return i
}

// wrapped returns the parts of the run that starts at from, going on over line
// ends as long as the lines are equally long, and the end of the last part. They
// are appended to room.
// Lines may be quoted, indented, joined with "+" or end in "\n" spelt out.
func wrapped(room [][2]int, b []byte, from, end int, c *class) (parts [][2]int, to int) {
	parts = append(room, [2]int{from, end})
	width := end - from
	for width >= minWrap {
		next := skipWrap(b, end)
		if next == end || next >= len(b) || !c[b[next]] {
			break
		}
		e := runEnd(b, next, c)
		if e-next > width || e-next < width && !endsLine(b, e) {
			break
		}
		parts = append(parts, [2]int{next, e})
		end = e
		if e-next < width {
			break
		}
	}
	return parts, end
}

// skipWrap steps over what separates two lines of one wrapped value, or returns i.
func skipWrap(b []byte, i int) int {
	j, seen := i, false
	for k := 0; j < len(b) && k < 64; k++ {
		switch b[j] {
		case '"', '\'', ' ', '\t', '+', ',', '\r', '>', '#', '.', '`':
			j++
		case '\n':
			seen = true
			j++
		case '\\':
			if j+1 < len(b) && (b[j+1] == 'n' || b[j+1] == 'r') {
				seen = true
				j++
			}
			j++
		default:
			if seen {
				return j
			}
			return i
		}
	}
	return i
}

// endsLine reports whether a value may end at i: at padding or punctuation.
func endsLine(b []byte, i int) bool {
	if i >= len(b) {
		return true
	}
	switch b[i] {
	case '\n', '\r', '=', '"', '\'', '\\', ',', ';', ')', '`', '<', ' ':
		return true
	}
	return false
}

func findBase64(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		var room [8][2]int
		for i := 0; ; {
			from, end := longRun(b, i, minBase64, &base64Class)
			if from == len(b) {
				return
			}
			i = from
			parts, to := wrapped(room[:0], b, i, end, &base64Class)
			s, ok := tryBase64(b, parts, i, to)
			if !ok && len(parts) > 1 {
				last := parts[len(parts)-2][1]
				if s, ok = tryBase64(b, parts[:len(parts)-1], i, last); ok {
					to = last
				}
			}
			if ok && !yield(s) {
				return
			}
			// A short word on the next line may be no part of the value.
			if n := len(parts); ok && n > 1 && to == parts[n-1][1] && parts[n-1][1]-parts[n-1][0] < minBase64 && (to >= len(b) || b[to] != '=') {
				if short, ok := tryBase64(b, parts[:n-1], i, parts[n-2][1]); ok && !yield(short) {
					return
				}
			}
			if ok && (s.useful() || known(s.data) || len(parts) > 2) {
				i = to
				continue
			}
			// A path or an identifier in front may have shifted the groups of
			// four: look at the stretches between separators by themselves.
			start := i
			for k := i; k <= end; k++ {
				if k == end || b[k] == '/' || b[k] == '-' || b[k] == '_' || b[k] == '+' {
					if k-start >= minBase64 && (start != i || k != end) {
						if s, ok := tryBase64(b, append(room[:0], [2]int{start, k}), start, k); ok && s.useful() && !yield(s) {
							return
						}
					}
					start = k + 1
				}
			}
			i = end
		}
	}
}

// useful says that the content is more than chance.
func (s stretch) useful() bool { return LooksText(s.data) }

// digits64 are the values of the digits of base64, in both of its alphabets.
var digits64 = func() (t [256]byte) {
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = byte(i)
	}
	t['-'], t['_'] = t['+'], t['/']
	return t
}()

// decode64 writes what digits come to and returns how many bytes these are. A stray
// last digit is dropped.
func decode64(to, digits []byte) (n int) {
	for ; len(digits) >= 4; digits = digits[4:] {
		v := uint32(digits64[digits[0]])<<18 | uint32(digits64[digits[1]])<<12 | uint32(digits64[digits[2]])<<6 | uint32(digits64[digits[3]])
		to[n], to[n+1], to[n+2] = byte(v>>16), byte(v>>8), byte(v)
		n += 3
	}
	if len(digits) >= 2 {
		to[n] = digits64[digits[0]]<<2 | digits64[digits[1]]>>4
		n++
	}
	if len(digits) == 3 {
		to[n] = digits64[digits[1]]<<4 | digits64[digits[2]]>>2
		n++
	}
	return n
}

// tryBase64 decodes the parts, which are digits, as one value.
// ok is false if what comes out is short or if text was expected but chance
// bytes came: random words decode to noise, which is of no use.
func tryBase64(b []byte, parts [][2]int, from, to int) (stretch, bool) {
	n := 0
	for _, p := range parts {
		n += p[1] - p[0]
	}
	var small [128]byte
	buf := small[:0]
	if n > len(small) {
		buf = make([]byte, 0, n)
	}
	for _, p := range parts {
		buf = append(buf, b[p[0]:p[1]]...)
	}
	m := decode64(buf, buf) // what is written stays behind what is read
	for k := 0; k < 2 && to < len(b) && b[to] == '='; k++ {
		to++
	}
	if buf = buf[:m]; !LooksText(buf) && !known(buf) && len(parts) == 1 && n < 64 {
		return stretch{}, false
	}
	if n <= len(small) {
		buf = bytes.Clone(buf)
	}
	return stretch{from, to, Base64, buf}, true
}

// known reports whether data begins like a format that callers care about.
func known(data []byte) bool {
	if len(data) == 0 {
		return false
	}
	for _, m := range magics[data[0]] {
		if bytes.HasPrefix(data, []byte(m)) {
			return true
		}
	}
	return hasUTF16(data)
}

// magics are the beginnings of these formats, by their first byte.
var magics = func() (t [256][]string) {
	for _, m := range []string{"\x7fELF", "MZ", "\x1f\x8b", "PK\x03\x04", "\x00asm", "\xca\xfe\xba\xbe", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe",
		"\xfe\xed\xfa", "\xd0\xcf\x11\xe0", "BZh", "\x78\x9c", "\x78\xda", "\x78\x01", "dex\n", "BC\xc0\xde", "\x1bLua", "\xac\xed\x00\x05", "\x4c\x00\x00\x00\x01\x14"} {
		t[m[0]] = append(t[m[0]], m)
	}
	return t
}()

func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return c - 'A' + 10
}

func findHex(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		var room [8][2]int
		for i := 0; ; {
			from, end := longRun(b, i, minHex, &hexClass)
			if from == len(b) {
				return
			}
			i = from
			parts, to := wrapped(room[:0], b, i, end, &hexClass)
			n := 0
			for _, p := range parts {
				n += p[1] - p[0]
			}
			out := make([]byte, 0, n/2)
			var high byte
			k := 0
			for _, p := range parts {
				for _, c := range b[p[0]:p[1]] {
					if k++; k%2 == 1 {
						high = unhex(c) << 4
					} else {
						out = append(out, high|unhex(c))
					}
				}
			}
			if !yield(stretch{i, to, Hex, out}) {
				return
			}
			i = to
		}
	}
}

// findDump reads hex dumps (xxd, hexdump, od) and byte lists: groups of two to
// eight digits, each optionally behind "0x", with blanks or commas between.
func findDump(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		var out []byte
		start, end := -1, 0
		flush := func() bool {
			ok := true
			if len(out) >= minHex/2 {
				ok = yield(stretch{start, end, Hex, out})
			}
			out, start = nil, -1
			return ok
		}
		for i := 0; i < len(b); {
			stop := bytes.IndexByte(b[i:], '\n')
			if stop < 0 {
				stop = len(b)
			} else {
				stop += i
			}
			if start < 0 && !maybeDump(b[i:stop]) {
				i = stop + 1
				continue
			}
			got, at, to := dumpLine(b[i:stop])
			if len(got) < 4 && (start < 0 || len(got) == 0) { // the last line may be short
				if !flush() {
					return
				}
			} else {
				if start < 0 {
					start = i + at
				}
				out, end = append(out, got...), i+to
			}
			i = stop + 1
		}
		flush()
	}
}

// dumpEnds are the bytes that may stand behind a group of a dump.
var dumpEnds = classOf(" \t,\r]});|")

// dumpBetween are the bytes that may stand between two groups.
var dumpBetween = classOf(" \t,\r[{(0xX")

// maybeDump says whether groups of two, four or eight digits in line, with nothing
// else between them, come to four bytes or more.
func maybeDump(line []byte) bool {
	digits, last := 0, 0
	for i := 2; i <= len(line); i++ {
		if i < len(line) && !dumpEnds[line[i]] || !hexClass[line[i-1]] {
			continue
		}
		k := i - 1
		for k > 0 && i-k < 9 && hexClass[line[k-1]] {
			k--
		}
		switch n := i - k; n {
		case 2, 4, 8:
			for at := k - 1; at >= last; at-- {
				if !dumpBetween[line[at]] {
					digits = 0
					break
				}
			}
			if digits += n; digits >= 8 {
				return true
			}
			last = i
		}
	}
	return false
}

// dumpLine returns the bytes that a line of a dump lists and where they stand.
func dumpLine(line []byte) (out []byte, from, to int) {
	from = -1
	groups := 0
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ' ' || c == '\t' || c == ',' || c == '\r' || c == '[' || c == '{' || c == '(':
			if c == ' ' && i > 0 && line[i-1] == ' ' && groups >= 16 && i+1 < len(line) && line[i+1] != ' ' {
				return out, max(from, 0), to // the column of characters begins
			}
			i++
			continue
		case c == '0' && i+1 < len(line) && (line[i+1] == 'x' || line[i+1] == 'X'):
			i += 2
		}
		e := runEnd(line, i, &hexClass)
		n := e - i
		switch {
		case e < len(line) && line[e] == ':' && groups == 0 && n >= 1: // offset
			i = e + 1
			continue
		case groups == 0 && (n == 7 || n == 8) && e+1 < len(line) && line[e] == ' ' && from < 0 && len(out) == 0 && looksOffset(line[i:e]):
			i = e + 1
			groups = 0
			from = -1
			continue
		case (n == 2 || n == 4 || n == 8) && (e == len(line) || dumpEnds[line[e]]):
			if from < 0 {
				from = i
			}
			for k := i; k < e; k += 2 {
				out = append(out, unhex(line[k])<<4|unhex(line[k+1]))
			}
			groups++
			i, to = e, e
		case len(out) >= 4 || len(out) > 0 && i < len(line) && line[i] == '|':
			return out, max(from, 0), to
		default:
			// Something else stands in front: begin again behind it.
			out, from, groups = nil, -1, 0
			if e == i {
				e++
			}
			i = e
		}
	}
	return out, max(from, 0), to
}

// looksOffset reports whether digits is the offset column of hexdump or od: a
// multiple of 16 with leading zeros.
func looksOffset(digits []byte) bool { return digits[0] == '0' && digits[len(digits)-1] == '0' }

func findEscape(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; i < len(b); {
			j := bytes.IndexByte(b[i:], '\\')
			if j < 0 {
				return
			}
			i += j
			start, count := i, 0
			var out []byte
			for i < len(b) {
				n := escapeAt(b[i:], &out)
				if n == 0 {
					// A few ordinary characters between escapes belong to the value.
					if count > 0 && b[i] > ' ' && b[i] < 0x7F && b[i] != '\\' && b[i] != '"' && b[i] != '\'' {
						out = append(out, b[i])
						i++
						continue
					}
					break
				}
				count++
				i += n
			}
			if count >= minEscapes && !yield(stretch{start, i, Escape, out}) {
				return
			}
			if i == start {
				i++
			}
		}
	}
}

// minEscapes is how many escapes make a stretch, or a line, worth decoding.
const minEscapes = 4

// findEscapedLine decodes the lines that hold escapes among other text.
func findEscapedLine(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for from, end := range markedLines(b, minEscapes, '\\') {
			line := b[from:end]
			out := make([]byte, 0, len(line))
			count := 0
			for i := 0; i < len(line); {
				if n := escapeAt(line[i:], &out); n > 0 {
					count++
					i += n
					continue
				}
				out = append(out, line[i])
				i++
			}
			if count >= minEscapes && !yield(stretch{from, end, Escape, out}) {
				return
			}
		}
	}
}

// escapeAt appends the character that the escape at the start of b stands for
// and returns its length, or 0.
func escapeAt(b []byte, out *[]byte) int {
	digits := func(from, n, base int) (v rune, ok bool) {
		if len(b) < from+n {
			return 0, false
		}
		for _, c := range b[from : from+n] {
			if !hexClass[c] || base == 8 && c > '7' {
				return 0, false
			}
			v = v*rune(base) + rune(unhex(c))
		}
		return v, true
	}
	if len(b) < 4 || b[0] != '\\' {
		return 0
	}
	switch b[1] {
	case 'x':
		if v, ok := digits(2, 2, 16); ok {
			*out = append(*out, byte(v))
			return 4
		}
	case 'u':
		if v, ok := digits(2, 4, 16); ok {
			*out = utf8.AppendRune(*out, v)
			return 6
		}
	case '0', '1', '2', '3':
		if v, ok := digits(1, 3, 8); ok {
			*out = append(*out, byte(v))
			return 4
		}
	}
	return 0
}

func findPercent(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for at := 0; ; {
			k := bytes.IndexByte(b[at:], '%')
			if k < 0 {
				return
			}
			i, end := at+k, runEnd(b, at+k, &urlClass)
			for i > at && urlClass[b[i-1]] {
				i--
			}
			if out, n := unpercent(b[i:end]); n > 0 {
				if !yield(stretch{i, end, Percent, out}) {
					return
				}
				// In a query a blank is a plus sign.
				if bytes.IndexByte(b[i:end], '+') >= 0 {
					plain, _ := unpercent(bytes.ReplaceAll(b[i:end], []byte("+"), []byte(" ")))
					if !yield(stretch{i, end, Percent, plain}) {
						return
					}
				}
			}
			at = end
		}
	}
}

func unpercent(b []byte) (out []byte, count int) {
	out = make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '%' && i+2 < len(b) && hexClass[b[i+1]] && hexClass[b[i+2]] {
			out = append(out, unhex(b[i+1])<<4|unhex(b[i+2]))
			i += 2
			count++
			continue
		}
		out = append(out, b[i])
	}
	return out, count
}
