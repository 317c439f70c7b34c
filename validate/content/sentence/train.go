package sentence

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/threegate/tool-exec/validate/text"
)

// Example is a text whose kind is known. Of a text of several sentences that is
// not harmless, one sentence at least is of its kind.
type Example struct {
	Kind   Kind
	Text   string
	Weight float64
}

// Learning is how weights are learned: by logistic regression, one example
// after the other, with steps that shrink as a weight has seen more.
type Learning struct {
	Epochs int
	Rate   float64
	// Decay pulls weights towards zero, so that a feature seen once says little.
	Decay float64
	// Forget is how often a word is overlooked while learning, so that the
	// classes of words have to do without it.
	Forget float64
}

// DefaultLearning was chosen by what it makes of examples that were not learned from.
var DefaultLearning = Learning{Epochs: 12, Rate: 0.1, Decay: 2e-4, Forget: 0.4}

// Prepared is an example whose features are known.
type Prepared struct {
	kind      Kind
	weight    float64
	sentences [][]feature
	wordy     [][]bool
}

// Prepare finds the features of an example.
func Prepare(e Example) Prepared {
	x := preparer()

	raw := []byte(e.Text)
	folded := text.Fold(raw)
	p := Prepared{kind: e.Kind, weight: e.Weight}
	if p.weight == 0 {
		p.weight = 1
	}
	for s := range Split(folded.Text, Small(raw, folded)) {
		if fs := x.extract(folded.Text[s.From:s.To]); fs != nil {
			p.sentences = append(p.sentences, append([]feature(nil), fs...))
			p.wordy = append(p.wordy, append([]bool(nil), x.wordy...))
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

var preparer = sync.OnceValue(func() *extractor {
	x := newExtractor()
	x.train = true
	return x
})

// Learn makes a model of examples. It is deterministic.
func Learn(examples []Prepared, l Learning) *Model {
	var all []Prepared
	for _, p := range examples {
		if len(p.sentences) > 0 {
			all = append(all, p)
		}
	}
	const n = int(kinds) - 1
	w := make([]float64, buckets*n)
	square := make([]float64, buckets*n)
	var bias, biasSquare [kinds]float64
	r := rand.New(rand.NewPCG(1, 2))
	var kept []feature
	step := func(fs []feature, kind Kind, weight float64, wordy []bool) {
		kept = kept[:0]
		forget := r.Float64() < l.Forget
		for i, f := range fs {
			if !(forget && wordy[i]) {
				kept = append(kept, f)
			}
		}
		if len(kept) == 0 {
			return
		}
		v := norms(kept, 0)
		p := odds(w, bias, kept, v)
		for k := 1; k < int(kinds); k++ {
			g := p[k]
			if Kind(k) == kind {
				g--
			}
			g *= weight
			biasSquare[k] += g * g
			bias[k] -= l.Rate * g / math.Sqrt(1+biasSquare[k])
			for _, f := range kept {
				i := int(f.bucket)*n + k - 1
				d := g*v[f.block] + l.Decay*w[i]
				square[i] += d * d
				w[i] -= l.Rate * d / math.Sqrt(1e-3+square[i])
			}
		}
	}
	for range l.Epochs {
		for _, i := range r.Perm(len(all)) {
			p := all[i]
			if p.kind == Harmless {
				for s := range p.sentences {
					step(p.sentences[s], Harmless, p.weight, p.wordy[s])
				}
				continue
			}
			best, most := 0, math.Inf(-1)
			for s, fs := range p.sentences {
				if z := odds(w, bias, fs, norms(fs, 0))[p.kind]; z > most {
					best, most = s, z
				}
			}
			step(p.sentences[best], p.kind, p.weight, p.wordy[best])
		}
	}
	return round(w, bias)
}

// odds are the probabilities of the kinds.
func odds(w []float64, bias [kinds]float64, fs []feature, v [blocks]float64) (p [kinds]float64) {
	z := bias
	for _, f := range fs {
		at := int(f.bucket) * (int(kinds) - 1)
		for k := 1; k < int(kinds); k++ {
			z[k] += w[at+k-1] * v[f.block]
		}
	}
	total := 1.0
	p[0] = 1
	for k := 1; k < int(kinds); k++ {
		p[k] = math.Exp(min(z[k], 30))
		total += p[k]
	}
	for k := range p {
		p[k] /= total
	}
	return p
}

// round makes bytes of weights.
func round(w []float64, bias [kinds]float64) *Model {
	most := 0.0
	for _, x := range w {
		most = max(most, math.Abs(x))
	}
	m := &Model{Scale: most / 127, Bias: bias, Weights: make([]weights, buckets)}
	for i, x := range w {
		m.Weights[i/len(weights{})][i%len(weights{})] = int8(math.Round(x / m.Scale))
	}
	return m
}

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
