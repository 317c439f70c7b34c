package disguise

import "bytes"

const howMasked = "with addresses that are written in another way"

// otherSpellings are other ways to write parts of an address, and what they stand
// for. Those in words are read only beside a slash that is one.
var otherSpellings, inWords = [][2]string{{"hxxp", "http"}, {"[.]", "."}, {"(.)", "."}, {"[dot]", "."}, {"(dot)", "."}, {"[:]", ":"}, {"[://]", "://"}},
	[][2]string{{" slash ", "/"}, {" colon slash slash ", "://"}, {" dot ", "."}}

// mayMask says whether any of these stands in a text.
func mayMask(raw []byte) bool {
	for _, s := range otherSpellings {
		if bytes.Contains(raw, []byte(s[0])) {
			return true
		}
	}
	return bytes.Contains(raw, []byte(inWords[0][0]))
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
