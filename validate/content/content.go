// Package content judges what the text of a result asks for, by rules that each have a
// reason which a person understands (rules.go). It looks at text the way a reader would
// take it (see text.Fold) and at what encoded stretches decode to.
//
// A rule is kept by matchers of three kinds. Phrases are forms of words: an order to the
// reader with what it is about (an address, a command, code, a control of this system),
// in one sentence (phrases.txt, vocabulary.txt). Rows are pieces of syntax that a model, a
// viewer or a shell acts on whatever the sentences around them say (marker.go,
// dropper.go, program.go). The others know executables by their form (payload.go) and
// text in characters that nobody sees (unseen.go).
//
// Its input is hostile. It is pure, takes time linear in its input and returns
// places and kinds, never decoded content.
package content

import (
	"bytes"
	"cmp"
	"slices"
	"sync"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/text"
)

// Hit is one place that breaks a rule.
type Hit struct {
	// Rule is the id of a rule of the catalogue.
	Rule string
	// Name is the row of the rule's table that matched; What says what the text does,
	// in words for people.
	Name, What string
	// Offset and End bound in the scanned bytes what a person would cross out.
	Offset, End int
	// Encoding is empty or the encodings that hide it, outermost first.
	Encoding string
}

// maxHits bounds what one scan returns.
const maxHits = 500

// Full says whether a scan may have stopped before its end, as it had found so many hits.
func Full(hits []Hit) bool { return len(hits) >= maxHits }

// Unread is the hit that says that not all of a text was judged.
func Unread() Hit { return Hit{Rule: RuleUnread, What: title(RuleUnread)} }

// title says in words of everyday what a text does that breaks a rule.
func title(rule string) string {
	r, _ := schemas.RuleByID(rule)
	return r.Title
}

// Scan returns all that is forbidden in b: payloads, claims and instructions.
// Instructions hidden in encodings count too.
func Scan(b []byte) []Hit {
	c := &collector{table: everything(), seen: map[Hit]bool{}, work: maxWork, left: maxSentences}
	c.inline(b, nil)
	c.text(b, nil)
	for p := range text.Pieces(b, text.DefaultLimits(len(b))) {
		if p.Unread { // what could not be decoded does not pass
			c.add(Hit{Rule: RuleUnread, Offset: p.Offset, End: p.End})
		} else if !c.full() {
			c.decoded(p)
		}
		if c.full() {
			break
		}
	}
	slices.SortStableFunc(c.out, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Name, b.Name))
	})
	return c.out
}

// text looks at b the way a reader takes it; p is the piece that it was decoded
// from, or nil.
func (c *collector) text(b []byte, p *text.Piece) {
	folded := text.Fold(b)
	c.apply(folded, p)
	c.sentences(b, folded, p)
	c.unseen(b, p)
}

type collector struct {
	table *table
	out   []Hit
	seen  map[Hit]bool
	work  int
	left  int // bytes of sentences that may still be judged
}

// maxWork is how many bytes patterns may look at in one scan, each times the weight of
// the pattern.
const maxWork = 12 << 20

// maxSentences is how many bytes of sentences are judged in one scan. What is encoded
// counts as well.
const maxSentences = 8 << 20

// judges notes that n bytes of sentences are judged and says whether there may be more.
// What could not be judged does not pass.
func (c *collector) judges(n int) bool {
	if c.left -= n; c.left < 0 {
		c.unscannable()
	}
	return c.left >= 0
}

func (c *collector) full() bool { return len(c.out) >= maxHits || c.work < 0 || c.left < 0 }

func (c *collector) add(h Hit) {
	if what := title(h.Rule); h.What == "" {
		h.What = what
	} else {
		h.What = what + ": " + h.What
	}
	if key := (Hit{Rule: h.Rule, Name: h.Name, Offset: h.Offset, Encoding: h.Encoding}); len(c.out) < maxHits &&
		!c.seen[key] {
		c.seen[key] = true
		c.out = append(c.out, h)
	}
}

// The room around a key word in which a pattern is tried.
const (
	before = 200
	behind = 320
)

// apply tries the rows of the table on folded text.
func (c *collector) apply(folded *text.Mapped, p *text.Piece) {
	b := folded.Text
	var windows [][][2]int // by row
	c.table.words.Walk(b, func(ri, from, end int) bool {
		if windows == nil {
			windows = make([][][2]int, len(c.table.rows))
		}
		reach := c.table.rows[ri].reach
		if reach[1] == 0 {
			reach = [2]int{before, behind}
		}
		lo, hi := max(0, from-reach[0]), min(len(b), end-1+reach[1])
		ws := windows[ri]
		if k := len(ws); k > 0 && lo <= ws[k-1][1] {
			ws[k-1] = [2]int{min(lo, ws[k-1][0]), max(hi, ws[k-1][1])}
		} else {
			windows[ri] = append(ws, [2]int{lo, hi})
		}
		return true
	})
	for ri, ws := range windows {
		for _, w := range ws {
			if !c.spend((w[1] - w[0]) * c.table.weights[ri]) {
				return
			}
			c.try(&c.table.rows[ri], folded, w[0], w[1], p)
			if c.full() {
				return
			}
		}
	}
}

// spend notes work of patterns and says whether there may be more. What could not be
// judged does not pass.
func (c *collector) spend(work int) bool {
	if c.work -= work; c.work < 0 {
		c.unscannable()
	}
	return c.work >= 0
}

// A search looks at a section at most, and sections overlap. Else a pattern that
// waits for its end would look at all of a long text for each of its matches.
const (
	section        = 4 << 10
	sectionOverlap = 1 << 10
)

// try looks for the matches of one row in the folded text from lo to hi.
func (c *collector) try(r *row, folded *text.Mapped, lo, hi int, p *text.Piece) {
	b := folded.Text
	if len(r.also) > 0 && !containsAny(b[lo:hi], r.also) {
		return
	}
	for at := lo; at < hi && !c.full(); {
		end := min(hi, at+section)
		m := r.re.FindIndex(b[at:end])
		if m == nil && end == hi {
			return
		}
		if m == nil {
			at = end - sectionOverlap
			continue
		}
		if !c.spend((end - at) / 2) {
			return
		}
		from, to := at+m[0], at+m[1]
		at = from + 1
		if from > lo && m[0] == 0 && wordByte(b[from-1]) && from < hi && wordByte(b[from]) {
			continue // the middle of a word, seen as its start because of where the search began
		}
		at = max(to, at)
		for from < to && (b[from] == '\n' || b[from] == ' ') {
			from++
		}
		if r.unless != nil && r.unless.Match(b[from:min(len(b), to+60)]) {
			continue
		}
		c.hit(Hit{Rule: r.rule, Name: r.name, What: r.what, Offset: folded.Origin(from), End: folded.Origin(to)}, p)
	}
}

// unscannable notes that not all could be judged: that does not pass.
func (c *collector) unscannable() {
	c.add(Hit{Rule: RuleUnread})
}

// hit adds h, at the place of the piece that it was found in if there is one.
func (c *collector) hit(h Hit, p *text.Piece) {
	if p != nil {
		h.Offset, h.End, h.Encoding = p.Offset, p.End, p.Encoding
	}
	c.add(h)
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

// table is a set of rows with all of their key words.
type table struct {
	rows    []row
	weights []int // what a byte that a row looks at counts for
	words   *text.Keywords
}

func compile(rows []row) *table {
	t := &table{rows: rows}
	var words [][]string
	for _, r := range rows {
		t.weights = append(t.weights, text.Weight(r.re))
		words = append(words, r.near)
	}
	t.words = text.NewKeywords(words)
	return t
}

var everything = sync.OnceValue(func() *table {
	return compile(slices.Concat(dropperRows(), programRows(), markerRows(), foreignRows()))
})
