package text

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"html"
	"iter"
	"regexp"
	"strconv"
	"unicode/utf8"
)

// stretch is one encoded stretch of a text and its content.
type stretch struct {
	from, to int
	enc      string
	data     []byte
	// plain says that it has no codes but those of line ends, quotes and slashes, which hide nothing.
	plain bool
}

// finders look for one encoding each, in one pass over the text.
var finders = []func([]byte) iter.Seq[stretch]{findBase64, findHex, findBytes, findGroups, percents.find,
	escapes.find, entities.find, tags.find}

// The least that is taken for an encoding, in characters.
const (
	minBase64 = 16
	minNoise  = 32 // of base64 that decodes to no text
	minHex    = 24
	minWrap   = 16 // length of a line that may continue on the next
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
	alnumClass  = classOf(alnum)
	joinClass   = classOf("\"' \t+,\r\n>#.`")
)

// run is a stretch of bytes of one class.
type run struct {
	from, to int
	// digits are its bytes, without what stands between its lines.
	digits []byte
	// last is how long the last line is, if it is shorter than those before. It may be
	// other text.
	last int
}

// runs yields the runs of c in b that have least bytes or more. One that is wrapped over
// several lines comes as one.
func runs(b []byte, least int, c *class) iter.Seq[run] {
	return func(yield func(run) bool) {
		for i := 0; i < len(b); i++ {
			from := i
			if i = end(b, i, c); i-from < least {
				continue
			}
			r := run{from, i, b[from:i:i], 0}
			r.unwrap(b, c)
			if !yield(r) {
				return
			}
			i = r.to
		}
	}
}

// end returns where the run of c ends that begins at i.
func end(b []byte, i int, c *class) int {
	for i < len(b) && c[b[i]] {
		i++
	}
	return i
}

// unwrap joins r with the lines that continue it: they are as long as the first one, and
// a shorter one is the last. Lines may be quoted, indented or joined with "+".
func (r *run) unwrap(b []byte, c *class) {
	width := r.to - r.from
	for width >= minWrap && r.last == 0 {
		from := nextLine(b, r.to, c)
		to := end(b, from, c)
		n := to - from
		if n == 0 || n > width || n < width && to < len(b) && !joinClass[b[to]] && b[to] != '=' {
			return
		}
		r.digits, r.to = append(r.digits, b[from:to]...), to
		if n < width {
			r.last = n
		}
	}
}

// nextLine steps over what separates two lines of one value: a line end, as it is or as
// "\n", with quotes and blanks around it. Without one it returns len(b).
func nextLine(b []byte, i int, c *class) int {
	ended := false
	for ; i < len(b); i++ {
		switch {
		case b[i] == '\\' && i+1 < len(b) && (b[i+1] == 'n' || b[i+1] == 'r'):
			ended = true
			i++
		case b[i] == '\n':
			ended = true
		case ended && (!joinClass[b[i]] || c[b[i]] && i+1 < len(b) && c[b[i+1]]): // "+" may be a digit
			return i
		case !joinClass[b[i]]:
			return len(b)
		}
	}
	return i
}

func findBase64(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for r := range runs(b, minBase64, &base64Class) {
			data := decode64(r.digits)
			readable := LooksText(data)
			if (readable || len(r.digits) >= minNoise) && !yield(stretch{r.from, r.to, Base64, data, false}) {
				return
			}
			if r.last > 0 && !yield(stretch{r.from, r.to, Base64, decode64(r.digits[:len(r.digits)-r.last]), false}) {
				return
			}
			if readable {
				continue
			}
			// A path or an identifier in front may have shifted the groups of four:
			// look at the parts between separators by themselves.
			for part := range runs(b[r.from:r.to], minBase64, &alnumClass) {
				data := decode64(part.digits)
				if LooksText(data) && !yield(stretch{r.from + part.from, r.from + part.to, Base64, data, false}) {
					return
				}
			}
		}
	}
}

// decode64 decodes digits of either alphabet. A stray last digit is dropped.
func decode64(digits []byte) []byte {
	if len(digits)%4 == 1 {
		digits = digits[:len(digits)-1]
	}
	digits = bytes.ReplaceAll(bytes.ReplaceAll(digits, []byte("-"), []byte("+")), []byte("_"), []byte("/"))
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(digits)))
	n, _ := base64.RawStdEncoding.Decode(out, digits) // all are digits
	return out[:n]
}

// findGroups reads base64 in groups of four or eight digits between blanks.
func findGroups(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; i < len(b); i++ {
			if i > 0 && base64Class[b[i-1]] {
				continue
			}
			for _, n := range []int{4, 8} {
				digits, to := groups(b, i, n)
				data := decode64(digits)
				if len(digits) < minNoise || !LooksText(data) {
					continue
				}
				if !yield(stretch{i, to, Base64, data, false}) {
					return
				}
				i = to
			}
		}
	}
}

// groups are the digits of the groups of n that begin at i, the last one of which may be shorter, and their end.
func groups(b []byte, i, n int) (digits []byte, to int) {
	for to = i; i < len(b); i++ {
		next := end(b[:min(len(b), i+n+1)], i, &base64Class)
		if next == i || next-i > n {
			return digits, to
		}
		digits = append(digits, b[i:next]...)
		if to = next; next-i < n || next == len(b) || b[next] != ' ' {
			return digits, to
		}
		i = next
	}
	return digits, to
}

func findHex(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for r := range runs(b, minHex, &hexClass) {
			if !yield(stretch{r.from, r.to, Hex, decodeHex(r.digits), false}) {
				return
			}
		}
	}
}

// decodeHex decodes digits, as far as they are some. A stray last one is dropped.
func decodeHex(digits []byte) []byte {
	out := make([]byte, len(digits)/2)
	n, _ := hex.Decode(out, digits[:len(digits)&^1])
	return out[:n]
}

// findBytes reads lists of bytes in hex (0x7f, 0x45) and dumps (xxd, hexdump, od), which
// go on over lines.
func findBytes(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		s := stretch{enc: Hex}
		at := 0
		for line := range bytes.Lines(b) {
			out := bytesOfLine(line)
			if len(out) < 4 && (len(s.data) == 0 || len(out) == 0) { // the last line may be short
				if len(s.data) >= minHex/2 && !yield(s) {
					return
				}
				s = stretch{from: at + len(line), enc: Hex}
			}
			at += len(line)
			s.data, s.to = append(s.data, out...), at
		}
		if len(s.data) >= minHex/2 {
			yield(s)
		}
	}
}

// dumpWidth is how many bytes a line of a dump shows. Their characters follow.
const dumpWidth = 16

// dumpOffset begins the line of a dump: a number with a colon, or a round one of seven or eight digits.
var dumpOffset = regexp.MustCompile(`^(?:[0-9a-f]{4,16}: |0[0-9a-f]{5,6}0\s)`)

var betweenBytes = classOf(" \t\r\n,;:-[](){}")

// bytesOfLine returns the bytes that a line lists in groups of two, four or eight digits,
// after anything else.
func bytesOfLine(line []byte) (out []byte) {
	most := len(line)
	if head := dumpOffset.Find(line); head != nil {
		line, most = line[len(head):], dumpWidth
	}
	between := func(r rune) bool { return r < utf8.RuneSelf && betweenBytes[r] }
	for group := range bytes.FieldsFuncSeq(line, between) {
		group = bytes.TrimPrefix(bytes.TrimPrefix(group, []byte("0x")), []byte("0X"))
		var room [4]byte
		n := len(group)
		if n != 2 && n != 4 && n != 8 {
			n = 0
		}
		n, err := hex.Decode(room[:], group[:n])
		switch {
		case err == nil && n > 0 && len(out) < most:
			out = append(out, room[:n]...)
		case len(out) >= 4 || most == dumpWidth:
			return out
		default:
			out = nil
		}
	}
	return out
}

// spelling is a way to write characters by their codes.
type spelling struct {
	enc, mark string
	code      *regexp.Regexp
	// ends are what ends a stretch that is written so.
	ends string
	// least matches a stretch that holds enough of it; none means that one code does.
	least *regexp.Regexp
}

var (
	percents = spelling{Percent, "%", regexp.MustCompile(`%[0-9A-Fa-f]{2}`), " \t\r\n\"'`<>\\^(){}", nil}
	escapes  = spelling{Escape, `\`, regexp.MustCompile(`\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[nrt"/])`), "\n", nil}
	entities = spelling{Entity, "&#", regexp.MustCompile(`&#(?:[xX][0-9A-Fa-f]{2,6}|[0-9]{2,7});`), "\n",
		regexp.MustCompile(`(?:&#(?:[xX][0-9A-Fa-f]{2,6}|[0-9]{2,7});[^&\n]?){3}`)}
	tags = spelling{Tags, "<", regexp.MustCompile(`<(?:/?[A-Za-z][^<>\n]{0,60}|!--[^<>\n]{0,60}--)>`), "\n",
		regexp.MustCompile(`[A-Za-z](?:<(?:/?[A-Za-z][^<>\n]{0,60}|!--[^<>\n]{0,60}--)>)+[a-z].{0,40}?[A-Za-z](?:<(?:/?[A-Za-z][^<>\n]{0,60}|!--[^<>\n]{0,60}--)>)+[a-z]`)}
)

// number is a code that may spell any character.
var number = regexp.MustCompile(`%|\\[xu]`)

// plainEscapes are those of JSON strings that are no numbers.
var plainEscapes = map[string]string{`\n`: "\n", `\r`: "\n", `\t`: "\t", `\"`: `"`, `\/`: "/"}

// find reads the stretches that hold a code.
func (s *spelling) find(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for at := 0; at < len(b); {
			k := bytes.Index(b[at:], []byte(s.mark))
			if k < 0 {
				return
			}
			from, to := at+bytes.LastIndexAny(b[at:at+k], s.ends)+1, len(b)
			if e := bytes.IndexAny(b[at+k:], s.ends); e >= 0 {
				to = at + k + e
			}
			if text := b[from:to]; s.code.Match(text) && (s.least == nil || s.least.Match(text)) &&
				!yield(stretch{from, to, s.enc, s.decode(text), !number.Match(text)}) {
				return
			}
			at = to + 1
		}
	}
}

// decode puts characters in the place of their codes. In the query of an address a blank is
// a plus sign.
func (s *spelling) decode(text []byte) []byte {
	if q := bytes.IndexByte(text, '?'); s.enc == Percent && q >= 0 {
		text = append(text[:q:q], bytes.ReplaceAll(text[q:], []byte("+"), []byte(" "))...)
	}
	return s.code.ReplaceAllFunc(text, func(code []byte) []byte {
		if plain, ok := plainEscapes[string(code)]; ok {
			return []byte(plain)
		}
		switch s.enc {
		case Tags:
			return nil
		case Entity:
			return []byte(html.UnescapeString(string(code)))
		}
		v, _ := strconv.ParseUint(string(bytes.TrimLeft(code, `%\xu`)), 16, 16)
		if code[1] == 'u' {
			return utf8.AppendRune(nil, rune(v))
		}
		return []byte{byte(v)}
	})
}
