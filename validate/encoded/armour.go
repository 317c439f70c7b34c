package encoded

import (
	"bytes"
	"encoding/ascii85"
	"iter"
)

// Text in the armour of old mail: Ascii85 and uuencode.

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
