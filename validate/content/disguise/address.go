package disguise

import "bytes"

const howMasked = "with addresses that are written in another way"

// otherSpellings are other ways to write parts of an address, and what they stand
// for. Those in words are read only beside a slash that is one.
var otherSpellings, inWords = [][2]string{{maskedScheme, "http"}, {"[.]", "."}, {"(.)", "."}, {"[dot]", "."}, {"(dot)", "."}, {"[:]", ":"}, {"[://]", "://"}},
	[][2]string{{" slash ", "/"}, {" colon slash slash ", "://"}, {" dot ", "."}}

// maskedScheme stands for that of an address.
const maskedScheme = "hxxp"

// mayMask says whether a text holds one of those that stand alone.
func mayMask(raw []byte) bool {
	return bytes.Contains(raw, []byte(maskedScheme)) || bytes.Contains(raw, []byte(inWords[0][0]))
}

// bracketed says whether a line holds one of those in brackets.
func bracketed(line []byte) bool {
	for _, open := range []byte("[(") {
		for at := 0; ; {
			k := bytes.IndexByte(line[at:], open)
			if k < 0 || at+k+1 == len(line) {
				break
			}
			if at += k + 1; line[at] == '.' || line[at] == ':' || line[at] == 'd' {
				return true
			}
		}
	}
	return false
}

// unmask reads a line with its addresses written as they usually are.
func (r *reader) unmask(x Reading, line []byte) {
	list := otherSpellings
	if bytes.Contains(line, []byte(inWords[0][0])) {
		list = append(list[:len(list):len(list)], inWords[1], inWords[2], inWords[0])
	}
	plain := line
	for _, s := range list {
		plain = bytes.ReplaceAll(plain, []byte(s[0]), []byte(s[1]))
	}
	if !bytes.Equal(plain, line) {
		x.How, x.Text = howMasked, lowered(&r.out, plain)
		r.emit(x)
	}
}
