package secrets

import (
	"bytes"
	"cmp"
	"math"
	"regexp"
	"slices"

	"github.com/threegate/tool-exec/validate/encoded"
	"github.com/threegate/tool-exec/validate/text"
)

// Match is one secret. It does not hold the secret.
type Match struct {
	// Rule names the kind of secret, as gitleaks does ("github-pat").
	Rule string
	// Offset and End bound the secret in the scanned bytes, or the encoded
	// stretch that it is in.
	Offset, End int
	// Decoded is empty, or the encodings that hide the secret, outermost first:
	// "base64", "base64+gzip".
	Decoded string
	// Masked describes the secret: a public prefix of at most four characters
	// and its length.
	Masked string
}

// RuleUnscannable is the Rule of a Match that stands for text so dense with
// key words that scanning all of it would take too long. It counts as a
// finding: what could not be looked at does not pass.
const RuleUnscannable = "unscannable"

// The bounds of one Scan.
const (
	maxMatches   = 1000
	maxRegexWork = 16 << 20 // bytes that regular expressions may look at, plus maxRegexFold times the input
	maxRegexFold = 2
	matchWork    = 512  // bytes that what a match needs to be judged counts for, with its line
	lookBehind   = 256  // before a keyword
	lookAhead    = 2048 // behind it
	maxLine      = 4096 // a window grows to whole lines up to this
)

// rule is one kind of secret.
type rule struct {
	id       string
	token    *token // what is looked for, in place of re
	re       *regexp.Regexp
	leads    []lead // of re, which it is without
	weight   int    // what a byte that re looks at counts for (see weight.Of)
	group    int    // of the secret; 0 means the first that matched something
	entropy  float64
	keywords []string         // lower case; one of them must be near
	near     near             // what must follow a keyword for the rule to be worth trying, or nil
	allow    func(found) bool // true: no secret
	check    func(found) bool // false: no secret
}

// found is what a rule matched.
type found struct {
	secret, match, line string
}

// Scan finds the secrets of raw, sorted by place. It is pure and safe for
// concurrent use, takes time linear in len(raw) and returns at most maxMatches.
func Scan(raw []byte) []Match {
	s := NewScanner(raw)
	for p := range encoded.Pieces(raw, encoded.DefaultLimits(len(raw))) {
		if !s.Piece(p) {
			break
		}
	}
	return s.Matches()
}

// Scanner is a Scan whose caller finds the encoded pieces of the text: it may
// need them for more.
type Scanner struct {
	d    *detector
	view *view // what is scanned is a view of the text, unless nil
	work int
	out  []Match
	seen map[Match]bool
	done bool
}

// NewScanner begins a scan with raw as it stands.
func NewScanner(raw []byte) *Scanner {
	s := &Scanner{d: shared(), work: maxRegexWork + maxRegexFold*len(raw), seen: map[Match]bool{}}
	s.scan(raw, nil)
	if v := unescape(raw); v != nil { // text in a string of JSON
		s.view = v
		s.scan(v.text, nil)
		s.view = nil
	}
	return s
}

// Piece scans one of the pieces that raw encodes; it says whether more are wanted.
func (s *Scanner) Piece(p encoded.Piece) bool {
	if p.Unread {
		s.add(Match{Rule: RuleUnscannable, Offset: p.Offset, End: p.Offset, Masked: "more encoded text than can be decoded"}, nil)
	}
	if !s.done && p.Text {
		s.scan(p.Data, &p)
	}
	s.done = s.done || s.full()
	return !s.done
}

// Matches ends the scan.
func (s *Scanner) Matches() []Match {
	slices.SortStableFunc(s.out, func(a, b Match) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.End, b.End), cmp.Compare(a.Rule, b.Rule))
	})
	return s.out
}

func (s *Scanner) full() bool { return s.work < 0 || len(s.out) >= maxMatches }

// scan looks at one layer; p is the piece that it was decoded from, or nil.
func (s *Scanner) scan(b []byte, p *encoded.Piece) {
	windows := map[int][][2]int{}
	for hit := range s.d.words.Walk(b) {
		for _, ri := range s.d.byWord[hit.Word] {
			r := &s.d.rules[ri]
			if r.token != nil {
				to, read := r.token.end(b, hit.From)
				if !s.spend(read, p) {
					return
				}
				if to > 0 && !s.full() {
					s.add(Match{Rule: r.id, Offset: hit.From, End: to, Masked: text.Mask(string(b[hit.From:to]), publicPrefix(string(b[hit.From:to])))}, p)
				}
			} else if r.near == nil || r.near(b, hit.End) {
				windows[ri] = addWindow(windows[ri], b, hit.From, hit.End)
			}
		}
	}
	if len(windows) == 0 {
		return
	}
	for ri := range s.d.rules {
		for _, w := range windows[ri] {
			if !s.spend((w[1]-w[0])*s.d.rules[ri].weight, p) {
				return
			}
			s.apply(&s.d.rules[ri], b, w[0], w[1], p)
			if s.full() {
				return
			}
		}
	}
}

// spend notes work and says whether there may be more. What could not be looked at
// does not pass.
func (s *Scanner) spend(work int, p *encoded.Piece) bool {
	s.work -= work
	if s.work < 0 {
		s.add(Match{Rule: RuleUnscannable, Masked: "it is too dense with words like key and token"}, p)
	}
	return s.work >= 0
}

// addWindow widens the last window or adds one; hits come in ascending order of
// their end, so windows stay sorted and apart.
func addWindow(ws [][2]int, b []byte, from, to int) [][2]int {
	lo, hi := max(0, from-lookBehind), min(len(b), to+lookAhead)
	if n := len(ws); n > 0 && lo <= ws[n-1][1] && hi <= ws[n-1][1] {
		return ws
	}
	floor := max(0, lo-maxLine)
	if i := bytes.LastIndexByte(b[floor:lo], '\n'); i >= 0 {
		lo = floor + i + 1
	} else {
		lo = floor
	}
	ceil := min(len(b), hi+maxLine)
	if i := bytes.IndexByte(b[hi:ceil], '\n'); i >= 0 {
		hi += i
	} else {
		hi = ceil
	}
	if n := len(ws); n > 0 && lo <= ws[n-1][1] {
		ws[n-1][1] = max(hi, ws[n-1][1])
		return ws
	}
	return append(ws, [2]int{lo, hi})
}

// apply looks for the matches of r in b from lo to hi.
func (s *Scanner) apply(r *rule, b []byte, lo, hi int, p *encoded.Piece) {
	for more := true; more && !s.full(); {
		lo, more = s.some(r, b, lo, hi, p)
	}
}

// some looks at the first maxMatches matches of r in b from lo to hi. It returns
// where they end, and whether there may be more.
func (s *Scanner) some(r *rule, b []byte, lo, hi int, p *encoded.Piece) (end int, more bool) {
	win := b[lo:hi]
	all := r.re.FindAllSubmatchIndex(win, maxMatches)
	last := 0 // the end of the match before
	for _, ix := range all {
		ix[0], last = widened(r.leads, win, ix[0], last), ix[1]
		from, to := ix[0], ix[1]
		if r.group > 0 && 2*r.group+1 < len(ix) && ix[2*r.group] >= 0 {
			from, to = ix[2*r.group], ix[2*r.group+1]
		} else {
			for g := 1; 2*g+1 < len(ix); g++ {
				if ix[2*g] >= 0 && ix[2*g+1] > ix[2*g] {
					from, to = ix[2*g], ix[2*g+1]
					break
				}
			}
		}
		for to > from && (win[to-1] == '\n' || win[to-1] == '\r') {
			to--
		}
		f := found{secret: string(win[from:to]), match: string(bytes.Trim(win[ix[0]:ix[1]], "\n")), line: string(lineAround(win, ix[0], ix[1]))}
		if !s.spend(matchWork, p) {
			return hi, false
		}
		if r.entropy > 0 && entropy(f.secret) <= r.entropy || placeholder(f.secret) || r.check != nil && !r.check(f) {
			continue
		}
		if r.allow != nil {
			if !s.spend(len(f.line), p) {
				return hi, false
			}
			if r.allow(f) {
				continue
			}
		}
		s.add(Match{Rule: r.id, Offset: lo + from, End: lo + to, Masked: text.Mask(f.secret, publicPrefix(f.secret))}, p)
		if s.full() {
			return hi, false
		}
	}
	return lo + last, len(all) == maxMatches
}

func (s *Scanner) add(m Match, p *encoded.Piece) {
	if p != nil {
		m.Offset, m.End, m.Decoded = p.Offset, p.End, p.Encoding
	} else if s.view != nil {
		m.Offset, m.End = s.view.origin(m.Offset), s.view.origin(m.End)
	}
	if !s.seen[m] {
		s.seen[m] = true
		s.out = append(s.out, m)
	}
}

// lineAround returns the lines of b that hold b[from:to], bounded.
func lineAround(b []byte, from, to int) []byte {
	lo := max(0, from-maxLine)
	if i := bytes.LastIndexByte(b[lo:from], '\n'); i >= 0 {
		lo += i + 1
	}
	hi := min(len(b), to+maxLine)
	if i := bytes.IndexByte(b[to:hi], '\n'); i >= 0 {
		hi = to + i
	}
	return b[lo:hi]
}

// entropy is Shannon's, in bits a character, as gitleaks' rules count it.
func entropy(s string) float64 {
	var n [256]int
	for i := range len(s) {
		n[s[i]]++
	}
	e, total := 0.0, float64(len(s))
	for _, c := range n {
		if c > 0 {
			f := float64(c) / total
			e -= f * math.Log2(f)
		}
	}
	return e
}
