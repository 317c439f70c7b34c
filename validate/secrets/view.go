package secrets

import (
	"bytes"
	"sort"
)

// view is a text without the escapes that it is written with.
type view struct {
	text []byte
	// cuts are the places in text before which escapes were left out, and how
	// many bytes up to there.
	cuts []cut
}

type cut struct{ at, dropped int }

// origin returns where a place of the view stands in the text that it was made of.
func (v *view) origin(at int) int {
	i := sort.Search(len(v.cuts), func(i int) bool { return v.cuts[i].at > at })
	if i == 0 {
		return at
	}
	return at + v.cuts[i-1].dropped
}

// plain are the characters that the escapes of JSON of one letter stand for.
var plain = map[byte]byte{'"': '"', '\'': '\'', '/': '/', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape makes the view in which escaped quotes, line ends and characters such
// as \u003c are plain ones. Without any, it returns nil.
func unescape(raw []byte) *view {
	if i := bytes.IndexByte(raw, '\\'); i < 0 {
		return nil
	}
	v := &view{}
	dropped, from := 0, 0
	for i := 0; i+1 < len(raw); i++ {
		j := bytes.IndexByte(raw[i:], '\\')
		if j < 0 || i+j+1 >= len(raw) {
			break
		}
		i += j
		n, c := 0, byte(0)
		if p, ok := plain[raw[i+1]]; ok {
			n, c = 2, p
		} else if raw[i+1] == 'u' && i+6 <= len(raw) && raw[i+2] == '0' && raw[i+3] == '0' {
			if hi, lo := hexValue(raw[i+4]), hexValue(raw[i+5]); hi >= 0 && hi < 8 && lo >= 0 {
				n, c = 6, byte(hi<<4|lo)
			}
		}
		if n == 0 {
			i++ // a backslash, or what stands behind one
			continue
		}
		v.text = append(append(v.text, raw[from:i]...), c)
		from, dropped = i+n, dropped+n-1
		v.cuts = append(v.cuts, cut{len(v.text), dropped})
		i = from - 1
	}
	if from == 0 {
		return nil
	}
	v.text = append(v.text, raw[from:]...)
	return v
}

func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
