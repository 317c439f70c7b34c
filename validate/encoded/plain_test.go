package encoded

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// The finders as they read best: each looks at every byte. find.go and spelt.go
// skip what cannot be part of a stretch, and must find the same.

func plainBase64(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; i < len(b); {
			if !base64Class[b[i]] {
				i++
				continue
			}
			end := runEnd(b, i, &base64Class)
			if end-i < minBase64 {
				i = end
				continue
			}
			parts, to := plainWrapped(b, i, end, &base64Class)
			s, ok := plainTryBase64(b, parts, i, to)
			if !ok && len(parts) > 1 {
				last := parts[len(parts)-2][1]
				if s, ok = plainTryBase64(b, parts[:len(parts)-1], i, last); ok {
					to = last
				}
			}
			if ok && !yield(s) {
				return
			}
			// A short word on the next line may be no part of the value.
			if n := len(parts); ok && n > 1 && to == parts[n-1][1] && parts[n-1][1]-parts[n-1][0] < minBase64 && (to >= len(b) || b[to] != '=') {
				if short, ok := plainTryBase64(b, parts[:n-1], i, parts[n-2][1]); ok && !yield(short) {
					return
				}
			}
			if ok && (s.useful() || known(s.data) || len(parts) > 2) {
				i = to
				continue
			}
			// A path or an identifier in front may have shifted the groups of
			// four: look at the stretches between separators by themselves.
			for _, sub := range splitRun(b, i, end) {
				if s, ok := plainTryBase64(b, [][2]int{sub}, sub[0], sub[1]); ok && s.useful() && !yield(s) {
					return
				}
			}
			i = end
		}
	}
}

func plainHex(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; i < len(b); {
			if !hexClass[b[i]] {
				i++
				continue
			}
			end := runEnd(b, i, &hexClass)
			if end-i < minHex {
				i = end
				continue
			}
			parts, to := plainWrapped(b, i, end, &hexClass)
			var digits []byte
			for _, p := range parts {
				digits = append(digits, b[p[0]:p[1]]...)
			}
			out := make([]byte, 0, len(digits)/2)
			for k := 0; k+1 < len(digits); k += 2 {
				out = append(out, unhex(digits[k])<<4|unhex(digits[k+1]))
			}
			if !yield(stretch{i, to, Hex, out}) {
				return
			}
			i = to
		}
	}
}

func plainDump(b []byte) iter.Seq[stretch] {
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
			got, at, to := plainDumpLine(b[i:stop])
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

func plainEscapedLine(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for at := 0; at < len(b); {
			end := len(b)
			if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
				end = at + i
			}
			line := b[at:end]
			if bytes.Count(line, []byte{'\\'}) >= minEscapes {
				var out []byte
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
				if count >= minEscapes && !yield(stretch{at, end, Escape, out}) {
					return
				}
			}
			at = end + 1
		}
	}
}

func plainPercent(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; i < len(b); {
			if !urlClass[b[i]] {
				i++
				continue
			}
			end := runEnd(b, i, &urlClass)
			if bytes.IndexByte(b[i:end], '%') >= 0 {
				out, n := unpercent(b[i:end])
				if n > 0 && !yield(stretch{i, end, Percent, out}) {
					return
				}
				// In a query a blank is a plus sign.
				if n > 0 && bytes.IndexByte(b[i:end], '+') >= 0 {
					plain, _ := unpercent(bytes.ReplaceAll(b[i:end], []byte("+"), []byte(" ")))
					if !yield(stretch{i, end, Percent, plain}) {
						return
					}
				}
			}
			i = end
		}
	}
}

func plainBase32(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; i < len(b); {
			end := runEnd(b, i, &base64Class)
			if end-i < minBase32 {
				i = end + 1
				continue
			}
			digits := bytes.ToUpper(b[i:end])
			if runEnd(digits, 0, &base32Class) == len(digits) {
				digits = digits[:len(digits)-map[int]int{1: 1, 3: 1, 6: 1}[len(digits)%8]]
				out := make([]byte, base32.StdEncoding.WithPadding(base32.NoPadding).DecodedLen(len(digits)))
				if n, err := base32.StdEncoding.WithPadding(base32.NoPadding).Decode(out, digits); err == nil && (LooksText(out[:n]) || known(out[:n])) {
					if !yield(stretch{i, end, Base32, out[:n]}) {
						return
					}
				}
			}
			i = end
		}
	}
}

func plainNumbers(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; i < len(b); {
			c := b[i]
			if !digitClass[c] && c != '&' && c != '=' || i > 0 && hexClass[b[i-1]] {
				i++
				continue
			}
			var out []byte
			end := i
			switch {
			case c == '&':
				out, end = plainEntities(b, i)
			case c == '=':
				out, end = plainQuoted(b, i)
			case i+2 < len(b) && hexClass[b[i+1]] && b[i+2] == ':':
				out, end = plainColons(b, i)
			default:
				out, end = plainDecimals(b, i)
			}
			if len(out) >= minSpelt && !yield(stretch{i, end, Number, out}) {
				return
			}
			i = max(end, i+1)
		}
	}
}

func plainSpelt(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; i+4 < len(b); {
			if tokenClass[b[i]] && !tokenClass[b[i+1]] && (i == 0 || !tokenClass[b[i-1]]) {
				if out, end := plainLetters(b, i); len(out) >= minSpelt {
					if !yield(stretch{i, end, Spelt, out}) {
						return
					}
					i = end
					continue
				}
			}
			if b[i] == '"' || b[i] == '\'' {
				if out, from, end := plainJoined(b, i); len(out) >= minSpelt {
					if !yield(stretch{from, end, Spelt, out}) {
						return
					}
					i = end
					continue
				}
			}
			i++
		}
	}
}

func plainTryBase64(b []byte, parts [][2]int, from, to int) (stretch, bool) {
	n := 0
	for _, p := range parts {
		n += p[1] - p[0]
	}
	buf := make([]byte, 0, n)
	for _, p := range parts {
		for _, c := range b[p[0]:p[1]] {
			switch c {
			case '-':
				c = '+'
			case '_':
				c = '/'
			}
			buf = append(buf, c)
		}
	}
	if len(buf)%4 == 1 {
		buf = buf[:len(buf)-1]
	}
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(buf)))
	m, err := base64.RawStdEncoding.Decode(out, buf)
	if err != nil {
		return stretch{}, false
	}
	for k := 0; k < 2 && to < len(b) && b[to] == '='; k++ {
		to++
	}
	s := stretch{from, to, Base64, out[:m]}
	return s, LooksText(s.data) || known(s.data) || len(parts) > 1 || n >= 64
}

func plainDecimals(b []byte, i int) (out []byte, end int) {
	end = i
	for i < len(b) {
		n, from := 0, i
		for i < len(b) && i < from+4 && digitClass[b[i]] {
			n = 10*n + int(b[i]-'0')
			i++
		}
		if i == from || n > 126 || n < 32 && n != 10 && n != 9 {
			return out, end
		}
		out, end = append(out, byte(n)), i
		for k := 0; i < len(b) && k < 4 && (b[i] == ',' || b[i] == ' ' || b[i] == ';' || b[i] == '\n'); k++ {
			i++
		}
		if i == end {
			return out, end
		}
	}
	return out, end
}

func plainLetters(b []byte, i int) (out []byte, end int) {
	sep := 1
	for i+1+sep < len(b) && sep < 6 && (!tokenClass[b[i+1+sep]]) {
		sep++
	}
	if i+1+sep >= len(b) {
		return nil, i
	}
	between := b[i+1 : i+1+sep]
	for i < len(b) && tokenClass[b[i]] {
		out, end = append(out, b[i]), i+1
		if !bytes.HasPrefix(b[i+1:], between) {
			break
		}
		i += 1 + sep
	}
	return out, end
}

func plainJoined(b []byte, i int) (out []byte, from, end int) {
	from = i
	for from > 0 && i-from < maxJoinedPart && tokenClass[b[from-1]] {
		from--
	}
	if from == i {
		return nil, i, i
	}
	out, end = append(out, b[from:i]...), i
	for parts := 1; ; parts++ {
		k := end + 1
		for n := 0; k < len(b) && n < 12 && (b[k] == ' ' || b[k] == '+' || b[k] == '.' || b[k] == '\n' || b[k] == '\\' || b[k] == '&'); n++ {
			k++
		}
		if end >= len(b) || k >= len(b) || b[k] != b[end] {
			if parts == 1 {
				return nil, from, end
			}
			return out, from, end
		}
		to := k + 1
		for to < len(b) && to-k < maxJoinedPart && tokenClass[b[to]] {
			to++
		}
		if to == k+1 && parts == 1 { // nothing is joined to the first
			return nil, from, end
		} else if to == k+1 {
			return out, from, end
		}
		out, end = append(out, b[k+1:to]...), to
		if to >= len(b) || b[to] != b[k] {
			return out, from, end
		}
	}
}

func plainDumpLine(line []byte) (out []byte, from, to int) {
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
		case (n == 2 || n == 4 || n == 8) && (e == len(line) || bytes.IndexByte([]byte(" \t,\r]});|"), line[e]) >= 0):
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

func plainWrapped(b []byte, from, end int, c *class) (parts [][2]int, to int) {
	parts = append(parts, [2]int{from, end})
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

func plainColons(b []byte, i int) (out []byte, end int) {
	for i+1 < len(b) && hexClass[b[i]] && hexClass[b[i+1]] {
		out, end = append(out, unhex(b[i])<<4|unhex(b[i+1])), i+2
		if i+2 >= len(b) || b[i+2] != ':' {
			break
		}
		i += 3
	}
	return out, max(end, i)
}

func plainEntities(b []byte, i int) (out []byte, end int) {
	end = i
	for i+3 < len(b) && b[i] == '&' && b[i+1] == '#' {
		n, base := 0, 10
		i += 2
		if b[i]|0x20 == 'x' {
			base = 16
			i++
		}
		for k := 0; i < len(b) && k < 6 && hexClass[b[i]]; k++ {
			n = n*base + int(unhex(b[i]))
			i++
		}
		if i >= len(b) || b[i] != ';' || n == 0 || n > 0x7e {
			return out, end
		}
		i++
		out, end = append(out, byte(n)), i
	}
	return out, max(end, i)
}

func plainQuoted(b []byte, i int) (out []byte, end int) {
	end = i
	for i+2 < len(b) && b[i] == '=' && hexClass[b[i+1]] && hexClass[b[i+2]] {
		out = append(out, unhex(b[i+1])<<4|unhex(b[i+2]))
		i += 3
		end = i
		if i+1 < len(b) && b[i] == '=' && b[i+1] == '\n' { // a line that goes on
			i += 2
		}
	}
	return out, end
}

var plainFinders = []func([]byte) iter.Seq[stretch]{plainBase64, plainHex, plainDump, findEscape, plainEscapedLine, plainPercent, plainBase32, plainNumbers, plainSpelt}

func splitRun(b []byte, from, to int) (out [][2]int) {
	start := from
	for i := from; i <= to; i++ {
		if i == to || b[i] == '/' || b[i] == '-' || b[i] == '_' || b[i] == '+' {
			if i-start >= minBase64 && (start != from || i != to) {
				out = append(out, [2]int{start, i})
			}
			start = i + 1
		}
	}
	return out
}

// sameStretches fails if a finder finds something else than its plain form.
func sameStretches(t *testing.T, b []byte) {
	t.Helper()
	for i := range finders {
		var got, want []stretch
		for s := range finders[i](b) {
			got = append(got, stretch{s.from, s.to, s.enc, bytes.Clone(s.data)})
		}
		for s := range plainFinders[i](b) {
			want = append(want, s)
		}
		if !slices.EqualFunc(got, want, func(a, b stretch) bool {
			return a.from == b.from && a.to == b.to && a.enc == b.enc && bytes.Equal(a.data, b.data)
		}) {
			t.Fatalf("finder %d finds %d stretches in %.300q, its plain form %d:\n%v\n%v", i, len(got), b, len(want), got, want)
		}
	}
}

// TestFinders compares the finders with their plain forms on texts that are put
// together of what they look for.
func TestFinders(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	long := "the quick brown fox jumps over the lazy dog, twice; and once more, for luck"
	parts := []string{"a", "Z", "0", "7", "ff", "DEAD", "12345678", "0x41", "65", "65, ", "104 ", "33;", "\n", " ", "  ", ",", ", ", "=", "==", "=4", "=41", "=\n", "&#65;", "&#x41;", "&", "41:", ":",
		"\"", "'", "\" + \"", "' '", "\\", `\x41`, `\u0041`, `\101`, `\n`, "%", "%41", "%2f", "+", "/", "-", "_", ".", "|", "word", "reader", "/usr/lib/python3/dist-packages", "⟦", "é", "g h p ", "g-h-p-", "a\nb\n",
		"00000010  ", "0000020 ", "MZ", "MZXW6YTBOI", "mzxw6ytboi", "[", "]", "{", "(", ")", "x", "}", "#", ">", "`", "\t", "\r\n", ";",
		base64.StdEncoding.EncodeToString([]byte(long)), hex.EncodeToString([]byte(long)), hex.Dump([]byte(long)), base32.StdEncoding.EncodeToString([]byte(long)),
		strings.Join(strings.Split(long, ""), " "), strings.Join(strings.Split(long, ""), "', '"), fmt.Sprint([]byte(long)), fmt.Sprintf("% x", long), fmt.Sprintf("% X", long[:16]), url.QueryEscape(long), url.PathEscape(long)}
	for range 20000 {
		var b []byte
		common := parts[r.IntN(len(parts))] // what stands often is what is told apart badly
		for range 1 + r.IntN(60) {
			p := parts[r.IntN(len(parts))]
			if r.IntN(3) == 0 {
				p = common
			}
			if k := r.IntN(len(p) + 1); r.IntN(4) == 0 {
				p = p[k:]
			}
			b = append(b, p...)
		}
		sameStretches(t, b)
	}
}
