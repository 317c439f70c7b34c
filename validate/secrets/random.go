package secrets

import "strings"

// commonPairs are the pairs of letters that most of the pairs in words are.
var commonPairs = func() (set [26][26]bool) {
	for _, p := range strings.Fields(`th he in er an re nd at on nt ha es st en ed to it ou ea hi is or ti as te et ng of al de se le sa si ar ve ra ld ur ro me ri el ne li la
		be ma wi co ch di no us ee ll so ca om pe em ta ut ho lo id ad ai ic io fo wa il mo ce ec ie sh ab ac ag am ap av ay ba bl bo br bu ck ci cl cr ct cu da do ef ei ep ev ex ey
		fi fr ga ge gh gi gr gu if ig im ip ir iv ke ki ks ls mi mp mu na ni ns nu ob od ol oo op os ot ow pa pl po pr ps pu qu rd rm rs rt ru ry sc sp ss su tr ts tt tu ty ub ul um
		un up uc ue ui va vi we wh wo ys ye`) {
		set[p[0]-'a'][p[1]-'a'] = true
	}
	return set
}()

// minRandom is the least length of letters that can be told from words.
const minRandom = 10

// randomLetters says whether s consists of capitals and small letters as no words do.
func randomLetters(s string) bool {
	if len(s) < minRandom || classes(s) != 2 {
		return false
	}
	common := 0
	for i := range len(s) {
		c := s[i] | 0x20
		if c < 'a' || c > 'z' {
			return false
		}
		if i > 0 && commonPairs[s[i-1]|0x20-'a'][c-'a'] {
			common++
		}
	}
	return 2*common < len(s)-1
}

// turns counts where letters change to digits or small letters to capitals, or
// back: words have few of these, random characters many.
func turns(s string) int {
	n, last := 0, -1
	for i := range len(s) {
		kind := -1
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			kind = 0
		case c >= 'a' && c <= 'z':
			kind = 1
		case c >= 'A' && c <= 'Z':
			kind = 2
		}
		if kind >= 0 && last >= 0 && kind != last {
			n++
		}
		last = kind
	}
	return n
}
