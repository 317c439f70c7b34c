package sentence

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/threegate/tool-exec/validate/text"
)

// Example is a text whose kind is known. Of a text of several sentences that is
// not harmless, one sentence at least is of its kind.
type Example struct {
	Kind   Kind
	Text   string
	Weight float64
	// Origin says which examples were made of the same line.
	Origin uint32
}

// Prepared is an example whose features are known.
type Prepared struct {
	kind      Kind
	weight    float64
	origin    uint32
	sentences [][]feature
}

// Prepare finds the features of an example.
func Prepare(e Example) Prepared {
	x := preparer()
	raw := []byte(e.Text)
	folded := text.Fold(raw)
	p := Prepared{kind: e.Kind, weight: cmp.Or(e.Weight, 1), origin: e.Origin}
	for s := range Split(folded.Text, Small(raw, folded)) {
		if fs := x.extract(folded.Text[s.From:s.To]); fs != nil {
			p.sentences = append(p.sentences, slices.Clone(fs))
		}
	}
	return p
}

// Small returns a function that says whether an offset of folded was a small
// letter in raw, which folded was made of.
func Small(raw []byte, folded *text.Mapped) func(int) bool {
	return func(i int) bool {
		o := folded.Origin(i)
		return o < len(raw) && raw[o] >= 'a' && raw[o] <= 'z'
	}
}

// Hash writes what is learned from p to a digest.
func (p Prepared) Hash(to io.Writer) {
	b := binary.LittleEndian.AppendUint64(nil, uint64(p.kind))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.weight))
	for _, fs := range p.sentences {
		b = append(b, '\n')
		for _, f := range fs {
			b = append(binary.LittleEndian.AppendUint32(b, uint32(f.hash)), f.block)
		}
	}
	_, _ = to.Write(b) // a digest takes all
}

// LearnedFrom is the digest of what the weights of this build were learned from.
func LearnedFrom() [sha256.Size]byte { return shared().Of }

var preparer = sync.OnceValue(newExtractor)

// Score returns the score of the worst sentence of an example, whatever the
// threshold is.
func (m *Model) Score(p Prepared) (Kind, float64) {
	kind, most := Harmless, math.Inf(-1)
	for _, fs := range p.sentences {
		if k, z := m.score(fs, 0, [kinds]int32{}); z > most {
			kind, most = k, z
		}
	}
	return kind, most
}
