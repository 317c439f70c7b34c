package encoded

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/threegate/tool-exec/validate/internal/keyword"
)

// Text that is turned: figures out of step, written backwards, letters moved in the alphabet.

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
					out[i] = Turn(out[i])
				}
			}
			if !yield(stretch{from, to, enc, out}) {
				return
			}
		}
	}
}

// Turn is the letter that stands half of the alphabet further; anything else is as it was.
func Turn(c byte) byte {
	switch l := c | 0x20; {
	case l >= 'a' && l <= 'm':
		return c + 13
	case l >= 'n' && l <= 'z':
		return c - 13
	}
	return c
}
