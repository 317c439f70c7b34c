package encoded

import (
	"bytes"
	"encoding/base32"
	"iter"
)

// The least number of characters that is taken for text in one of these spellings.
const (
	minBase32 = 32
	minSpelt  = 16
)

var (
	base32Class = classOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz234567")
	numberClass = classOf("0123456789abcdefABCDEFxX,; \n:&#=")
	tokenClass  = classOf(alnum + "+/-_=.")
	digitClass  = classOf("0123456789")
)

// findBase32 decodes runs in capitals or in small letters that come to text or a
// known format.
func findBase32(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; ; {
			from, end := longRun(b, i, minBase32, &base64Class)
			if from == len(b) {
				return
			}
			i = from
			if runEnd(b[:end], i, &base32Class) == end {
				digits := bytes.ToUpper(b[i:end])
				switch len(digits) % 8 {
				case 1, 3, 6:
					digits = digits[:len(digits)-1]
				}
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

// findNumbers decodes lists of numbers that are characters: 103, 104 or 67:68 or
// &#103;&#x68; or =67=68.
func findNumbers(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		// A list of 16 numbers is 31 characters of those that lists are made of.
		for i, run := 0, 0; ; {
			if i >= run {
				if i, run = longRun(b, i, 2*minSpelt-1, &numberClass); i == len(b) {
					return
				}
			}
			c := b[i]
			if !digitClass[c] && c != '&' && c != '=' || i > 0 && hexClass[b[i-1]] {
				i++
				continue
			}
			var out []byte
			end := i
			switch {
			case c == '&':
				out, end = entities(b, i)
			case c == '=':
				out, end = quoted(b, i)
			case i+2 < len(b) && hexClass[b[i+1]] && b[i+2] == ':':
				out, end = colons(b, i)
			default:
				out, end = decimals(b, i)
			}
			if len(out) >= minSpelt && !yield(stretch{i, end, Number, out}) {
				return
			}
			i = max(end, i+1)
		}
	}
}

func decimals(b []byte, i int) (out []byte, end int) {
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

func colons(b []byte, i int) (out []byte, end int) {
	for i+1 < len(b) && hexClass[b[i]] && hexClass[b[i+1]] {
		out, end = append(out, unhex(b[i])<<4|unhex(b[i+1])), i+2
		if i+2 >= len(b) || b[i+2] != ':' {
			break
		}
		i += 3
	}
	return out, max(end, i)
}

func entities(b []byte, i int) (out []byte, end int) {
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

func quoted(b []byte, i int) (out []byte, end int) {
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

// findSpelt joins what stands letter by letter (g h p, 'g', 'h') and literals that
// are joined ("ab" + "cd").
func findSpelt(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		// Where 16 letters stand apart, no two neighbours are of tokens for 31 characters.
		letter, clear, quote := 0, 0, -1
		for i := 0; i+4 < len(b); {
			letter, clear = nextLetter(b, max(letter, i), clear)
			if quote < i {
				quote = nextQuote(b, i)
			}
			at := min(letter, quote)
			if at+4 >= len(b) {
				return
			}
			var out []byte
			from, end := at, at
			if at == letter {
				letter++
				out, end = letters(b, at)
			} else {
				quote = -1
				out, from, end = joined(b, at)
			}
			if len(out) < minSpelt {
				i = at + 1
				continue
			}
			if !yield(stretch{from, end, Spelt, out}) {
				return
			}
			i = end
		}
	}
}

// nextLetter returns the first place from i on where letters may begin to stand
// apart, or len(b). Up to clear, which it returns anew, that needs no proof.
func nextLetter(b []byte, i, clear int) (at, upTo int) {
	for i < len(b) {
		if i >= clear {
			if i = apart(b, i, 2*minSpelt-1, &tokenClass); i == len(b) {
				break
			}
			end := i + 2*minSpelt - 1
			for end < len(b) && !(tokenClass[b[end-1]] && tokenClass[b[end]]) {
				end++
			}
			clear = end - 2*minSpelt + 2
		}
		if tokenClass[b[i]] && (i == 0 || !tokenClass[b[i-1]]) {
			return i, clear
		}
		i++
	}
	return len(b), clear
}

// letters reads single characters with always the same separator between them. It
// returns nothing if they are too few.
func letters(b []byte, i int) (out []byte, end int) {
	sep := 1
	for i+1+sep < len(b) && sep < 6 && (!tokenClass[b[i+1+sep]]) {
		sep++
	}
	if i+1+sep >= len(b) {
		return nil, i
	}
	between := b[i+1 : i+1+sep]
	n := 0
	for k := i; k < len(b) && tokenClass[b[k]]; k += 1 + sep {
		n++
		end = k + 1
		if !bytes.HasPrefix(b[k+1:], between) {
			break
		}
	}
	if n < minSpelt {
		return nil, end
	}
	out = make([]byte, 0, n)
	for k := range n {
		out = append(out, b[i+k*(1+sep)])
	}
	return out, end
}

// maxJoinedPart is how long one of several joined literals may be.
const maxJoinedPart = 200

// joined reads literals of one token each that are joined, the quote between two of
// them at i: ab" + "cd.
func joined(b []byte, i int) (out []byte, from, end int) {
	if i == 0 || !tokenClass[b[i-1]] {
		return nil, i, i
	}
	from, end = i, i
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
		if parts == 1 {
			for from > 0 && i-from < maxJoinedPart && tokenClass[b[from-1]] {
				from--
			}
			out = append(out, b[from:i]...)
		}
		out, end = append(out, b[k+1:to]...), to
		if to >= len(b) || b[to] != b[k] {
			return out, from, end
		}
	}
}
