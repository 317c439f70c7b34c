// Package secrets finds credentials in text and in what the text encodes. The rules are
// data: those of gitleaks and our own, in one format.
//
// Its input is hostile and its output is shown to people and written to logs,
// so nothing of what it returns prints a secret.
package secrets

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/threegate/tool-exec/validate/text"
)

// Match is one secret.
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
	// Value is the secret itself, decoded.
	Value Value
}

// RuleUnscannable is the Rule of a Match that stands for text that would take too long to
// scan. It counts as a finding: what could not be read does not pass.
const RuleUnscannable = "unscannable"

// Full says whether a scan may have stopped before its end, as it had found so many.
func Full(ms []Match) bool { return len(ms) >= maxMatches }

// Unread is the match that says that not all of a text was searched.
func Unread() Match {
	return Match{Rule: RuleUnscannable, Masked: "it holds too much that is like a secret"}
}

// The bounds of one Scan. Work is counted in bytes that a plain regular expression looks
// at; others cost more (see text.Weight).
const (
	maxMatches = 1000
	maxWork    = 16 << 20 // plus workByte for each byte of the input
	workByte   = 32
	nextWork   = 96   // for a look behind a keyword
	matchWork  = 512  // for the judgement of a match
	lookBehind = 256  // bytes before a keyword
	lookAfter  = 2048 // bytes behind it
	maxLine    = 4096 // a window grows to whole lines up to this
)

// found is what a rule matched.
type found struct {
	secret, match, line string
}

// Scan finds the secrets of raw, sorted by place: in raw as it stands, in raw without
// invisible characters, and in what raw encodes. It is pure and safe for concurrent use, takes
// time linear in len(raw) and returns at most maxMatches.
func Scan(raw []byte) []Match {
	s := &scanner{set: compiled(), work: maxWork + workByte*len(raw), seen: map[Match]bool{}}
	s.reading(raw, func(m Match) Match { return m })
	if bare, changed := text.Strip(raw); changed {
		s.reading(bare.Text, func(m Match) Match {
			m.Offset, m.End = bare.Origin(m.Offset), min(bare.Origin(m.End), len(raw))
			return m
		})
	}
	slices.SortStableFunc(s.out, func(a, b Match) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.End, b.End), cmp.Compare(a.Rule, b.Rule))
	})
	return s.out
}

// reading scans a text and what it encodes.
// at gives the place in the scanned text of a match in this one.
func (s *scanner) reading(b []byte, at func(Match) Match) {
	s.layer(b, at)
	for p := range text.Pieces(b, text.DefaultLimits(len(b))) {
		if s.full() {
			return
		}
		outer := func(m Match) Match {
			m.Offset, m.End, m.Decoded = p.Offset, p.End, p.Encoding
			return at(m)
		}
		if p.Unread {
			s.unscannable("more encoded text than can be decoded", outer)
		} else if p.Text {
			s.layer(p.Data, outer)
		}
	}
}

type scanner struct {
	set  *ruleSet
	work int // that is left
	out  []Match
	seen map[Match]bool
}

func (s *scanner) full() bool { return s.work < 0 || len(s.out) >= maxMatches }

// add notes a match of a layer. at gives its place in the scanned text.
func (s *scanner) add(m Match, at func(Match) Match) {
	if m = at(m); !s.seen[m] {
		s.seen[m] = true
		s.out = append(s.out, m)
	}
}

func (s *scanner) unscannable(why string, at func(Match) Match) {
	s.add(Match{Rule: RuleUnscannable, Masked: why}, at)
}

// spend notes work and says whether there may be more.
func (s *scanner) spend(work int, at func(Match) Match) bool {
	if s.work -= work; s.work < 0 {
		s.unscannable("it is too dense with words like key and token", at)
	}
	return s.work >= 0
}

// layer scans one reading of the text. A rule is tried in windows around its keywords.
func (s *scanner) layer(b []byte, at func(Match) Match) {
	windows := make([][][2]int, len(s.set.rules))
	s.set.words.Walk(asciiLower(b), func(i, from, end int) bool {
		if next := s.set.rules[i].next; next != nil {
			if !s.spend(nextWork, at) {
				return false
			}
			if !next.Match(b[end:min(len(b), end+lookAfter)]) {
				return true
			}
		}
		windows[i] = addWindow(windows[i], b, from, end)
		return true
	})
	for i, ws := range windows {
		for _, w := range ws {
			if s.full() || !s.spend((w[1]-w[0])*s.set.rules[i].weight, at) {
				return
			}
			s.try(s.set.rules[i], b, w, at)
		}
	}
}

// asciiLower is b with small ASCII letters; offsets stay.
func asciiLower(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}

// addWindow widens the last window or adds one, in whole lines where they are not too
// long. Hits come in ascending order of their end, so windows stay sorted and apart.
func addWindow(ws [][2]int, b []byte, from, to int) [][2]int {
	lo, hi := max(0, from-lookBehind), min(len(b), to+lookAfter)
	if n := len(ws); n > 0 && lo <= ws[n-1][1] && hi <= ws[n-1][1] {
		return ws
	}
	lo, hi = lineStart(b, lo), lineEnd(b, hi)
	if n := len(ws); n > 0 && lo <= ws[n-1][1] {
		ws[n-1][1] = max(hi, ws[n-1][1])
		return ws
	}
	return append(ws, [2]int{lo, hi})
}

// lineStart and lineEnd bound the line of an offset, of which they look at maxLine bytes.
func lineStart(b []byte, i int) int {
	floor := max(0, i-maxLine)
	return floor + bytes.LastIndexByte(b[floor:i], '\n') + 1
}

func lineEnd(b []byte, i int) int {
	ceil := min(len(b), i+maxLine)
	if n := bytes.IndexByte(b[i:ceil], '\n'); n >= 0 {
		return i + n
	}
	return ceil
}

// try looks for the secrets that r finds in a window of b.
func (s *scanner) try(r *rule, b []byte, window [2]int, at func(Match) Match) {
	win := b[window[0]:window[1]]
	for _, ix := range r.re.FindAllSubmatchIndex(win, -1) {
		if s.full() || !s.spend(matchWork, at) {
			return
		}
		from, to := r.secret(ix)
		for to > from && (win[to-1] == '\n' || win[to-1] == '\r') {
			to--
		}
		m := found{
			secret: string(win[from:to]),
			match:  string(bytes.Trim(win[ix[0]:ix[1]], "\n")),
			line:   string(win[lineStart(win, ix[0]):lineEnd(win, ix[1])]),
		}
		if !placeholder(m.secret) && r.finds(m) {
			mask := text.Mask(m.secret, publicPrefix(m.secret))
			s.add(Match{Rule: r.ID, Offset: window[0] + from, End: window[0] + to, Masked: mask,
				Value: Value(m.secret)}, at)
		}
	}
}

// secret bounds the secret in a match: its group, else the first group that holds
// something, else all of it.
func (r *rule) secret(ix []int) (from, to int) {
	if g := 2 * r.SecretGroup; g > 0 && g+1 < len(ix) && ix[g] >= 0 {
		return ix[g], ix[g+1]
	}
	for g := 2; g+1 < len(ix); g += 2 {
		if ix[g] >= 0 && ix[g+1] > ix[g] {
			return ix[g], ix[g+1]
		}
	}
	return ix[0], ix[1]
}
