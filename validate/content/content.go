// Package content judges what the text of a result asks for: executable
// payloads, claims that policy should change, and instructions to fetch or to
// execute. It looks at text the way a reader would take it (see text.Fold) and
// at what encoded stretches decode to.
//
// Its input is hostile. It is pure, takes time linear in its input and returns
// places and kinds, never decoded content.
package content

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"

	ahocorasick "github.com/BobuSumisu/aho-corasick"

	"github.com/threegate/tool-exec/validate/encoded"
	"github.com/threegate/tool-exec/validate/text"
)

// The ids of the rules that a Hit can name.
const (
	RulePayload = "result.payload.inline"
	RulePolicy  = "result.claims.policy"
	RuleExecute = "result.instruction.execute"
	RuleFetch   = "result.instruction.fetch"
)

// Hit is one place that breaks a rule.
type Hit struct {
	// Rule is the id of a rule of the catalogue.
	Rule string
	// Name is the row of the rule's table that matched; What says in a few
	// words what was found.
	Name, What string
	// Offset and End bound the place in the scanned bytes.
	Offset, End int
	// Encoding is empty or the encodings that hide it, outermost first.
	Encoding string
}

// maxHits bounds what one scan returns.
const maxHits = 500

// Executable names what data is if a computer would execute it as a file of its
// own, or returns "".
func Executable(data []byte) string { return payload(data) }

// Payloads returns the executable payloads of b.
func Payloads(b []byte) []Hit {
	c := newCollector()
	c.payloads(b, text.Fold(b))
	return c.sorted()
}

// Scan returns all that is forbidden in b: payloads, claims and instructions.
// Instructions hidden in encodings count too.
func Scan(b []byte) []Hit {
	c := newCollector()
	folded := text.Fold(b)
	c.payloads(b, folded)
	c.instructions(b, folded, nil)
	for p := range encoded.Pieces(b, encoded.DefaultLimits(len(b))) {
		if p.Text && !c.full() {
			c.instructions(p.Data, text.Fold(p.Data), &p)
		}
	}
	return c.sorted()
}

// payloads looks for payloads in b and in what it encodes.
func (c *collector) payloads(b []byte, folded *text.Mapped) {
	c.inline(b)
	c.apply(droppers(), folded.Text, folded.Origin, nil)
	for p := range encoded.Pieces(b, encoded.DefaultLimits(len(b))) {
		if c.full() {
			return
		}
		c.decoded(p)
	}
}

// instructions looks for claims and instructions in folded, which is what raw reads as.
func (c *collector) instructions(raw []byte, folded *text.Mapped, p *encoded.Piece) {
	c.apply(instructions(), folded.Text, folded.Origin, p)
	c.directives(raw, folded.Text, folded.Origin, p)
	if plain, changed := text.Unleet(folded.Text); changed {
		c.apply(instructions(), plain, folded.Origin, p)
		c.directives(raw, plain, folded.Origin, p)
	}
	if joined := text.Unspace(folded.Text); joined != nil {
		origin := func(i int) int { return folded.Origin(joined.Origin(i)) }
		c.apply(instructions(), joined.Text, origin, p)
		c.directives(raw, joined.Text, origin, p)
	}
}

type collector struct {
	out  []Hit
	seen map[Hit]bool
	work int
}

// maxWork is how many bytes patterns may look at in one scan. Documents that
// the node makes need a hundredth of it.
const maxWork = 4 << 20

func newCollector() *collector { return &collector{seen: map[Hit]bool{}, work: maxWork} }

func (c *collector) full() bool { return len(c.out) >= maxHits || c.work < 0 }

func (c *collector) add(h Hit) {
	if key := (Hit{Rule: h.Rule, Name: h.Name, Offset: h.Offset}); len(c.out) < maxHits && !c.seen[key] {
		c.seen[key] = true
		c.out = append(c.out, h)
	}
}

func (c *collector) sorted() []Hit {
	slices.SortStableFunc(c.out, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Name, b.Name))
	})
	return c.out
}

// The room around a key word in which a pattern is tried.
const (
	before = 200
	behind = 320
)

// prepare marks sentence and line ends in folded text, keeping every offset: see row.
func prepare(folded []byte) []byte {
	out := append([]byte(nil), folded...)
	for i, c := range out {
		switch c {
		case '.':
			if i+1 == len(out) || out[i+1] == ' ' || out[i+1] == '\n' || out[i+1] == '"' || out[i+1] == '\'' || out[i+1] == ')' {
				out[i] = '!'
			}
		case '\n':
			if i == 0 || strings.IndexByte("!?:;,", out[i-1]) >= 0 && out[i-1] != ',' {
				continue
			}
			j := i + 1
			for j < len(out) && (out[j] == ' ' || out[j] == '\t') {
				j++
			}
			if j < len(out) && (out[j] >= 'a' && out[j] <= 'z' || out[j] == '`' || out[j] == '"' || out[j] == '/') {
				out[i] = '\f'
			}
		}
	}
	return out
}

// apply tries the rows of t on folded text; origin leads back to the scanned bytes.
func (c *collector) apply(t *table, folded []byte, origin func(int) int, p *encoded.Piece) {
	folded = prepare(folded)
	windows := make([][][2]int, len(t.rows))
	t.words.Walk(bytes.ReplaceAll(folded, []byte("\f"), []byte(" ")), func(end, n, pattern int64) bool {
		w := t.byWord[pattern]
		from := int(end-n) + 1
		inWord := from > 0 && folded[from-1] >= 'a' && folded[from-1] <= 'z'
		for _, u := range w {
			if u.bound && inWord {
				continue
			}
			reach := t.rows[u.row].reach
			if reach[1] == 0 {
				reach = [2]int{before, behind}
			}
			lo, hi := max(0, from-reach[0]), min(len(folded), int(end)+reach[1])
			ws := windows[u.row]
			if k := len(ws); k > 0 && lo <= ws[k-1][1] {
				ws[k-1][1] = max(hi, ws[k-1][1])
			} else {
				windows[u.row] = append(ws, [2]int{lo, hi})
			}
		}
		return true
	})
	for ri, ws := range windows {
		for _, w := range ws {
			if c.work -= w[1] - w[0]; c.work < 0 {
				// What could not be looked at does not pass.
				c.add(Hit{Rule: RuleExecute, Name: "unscannable", What: "text too dense with words of instructions to be judged"})
				return
			}
			c.try(&t.rows[ri], folded, w[0], w[1], origin, p)
			if c.full() {
				return
			}
		}
	}
}

// try looks for the matches of one row in folded[lo:hi].
func (c *collector) try(r *row, folded []byte, lo, hi int, origin func(int) int, p *encoded.Piece) {
	if len(r.also) > 0 && !containsAny(folded[lo:hi], r.also) {
		return
	}
	for at := lo; at < hi && !c.full(); {
		m := r.re.FindIndex(folded[at:hi])
		if m == nil {
			return
		}
		from, to := at+m[0], at+m[1]
		at = from + 1
		if from > lo && m[0] == 0 && wordByte(folded[from-1]) && from < hi && wordByte(folded[from]) {
			continue // the middle of a word, seen as its start because of where the search began
		}
		if r.lead != anything && !leads()[r.lead].Match(folded[max(0, from-maxLead):from]) {
			continue
		}
		at = max(to, at)
		for from < to && (folded[from] == '\n' || folded[from] == '\f' || folded[from] == ' ') {
			from++
		}
		around := folded[max(0, from-before):min(len(folded), to+before)]
		if r.unless != nil && r.unless.Match(folded[from:min(len(folded), to+60)]) || r.reportable && reported(around) {
			continue
		}
		h := Hit{Rule: r.rule, Name: r.name, What: r.what, Offset: origin(from), End: origin(to)}
		if p != nil {
			h.Offset, h.End, h.Encoding = p.Offset, p.End, p.Encoding
		}
		c.add(h)
	}
}

func wordByte(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' }

func containsAny(b []byte, words []string) bool {
	for _, w := range words {
		if bytes.Contains(b, []byte(w)) {
			return true
		}
	}
	return false
}

// table is a set of rows with their key words in one automaton.
type table struct {
	rows   []row
	words  *ahocorasick.Trie
	byWord [][]use // by number of the word
}

// use is a row that a word belongs to.
type use struct {
	row   int
	bound bool // no letter may stand in front
}

func compile(rows []row) *table {
	t := &table{rows: rows}
	number := map[string]int{}
	var words []string
	for i, r := range rows {
		for _, w := range r.near {
			w, bound := strings.CutPrefix(w, "^")
			n, ok := number[w]
			if !ok {
				n = len(words)
				number[w] = n
				words = append(words, w)
				t.byWord = append(t.byWord, nil)
			}
			t.byWord[n] = append(t.byWord[n], use{i, bound})
		}
	}
	t.words = ahocorasick.NewTrieBuilder().AddStrings(words).Build()
	return t
}

var (
	droppers     = sync.OnceValue(func() *table { return compile(dropperRows()) })
	instructions = sync.OnceValue(func() *table {
		return compile(slices.Concat(policyRows(), claimRows(), executeRows(), orderRows(), addressRows(), fetchRows(), reachRows(), tongueRows()))
	})
)
