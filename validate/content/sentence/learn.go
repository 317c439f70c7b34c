package sentence

import (
	"math"
	"math/rand/v2"
	"sync"
)

// Learning is how weights are learned: by logistic regression, one example after
// the other, with steps that shrink as a weight has seen more (AdaGrad, Duchi and
// others 2011). The weights are the means of those after each of the later epochs,
// and of several runs, each in another order: what one order makes of a rare word
// is chance.
type Learning struct {
	Runs   int
	Epochs int
	Rate   float64
	// Decay pulls weights towards zero.
	Decay float64
	// Least is in how many lines a feature stands at least that has weights.
	Least int
}

// DefaultLearning was chosen by what it makes of authors that were not learned from.
var DefaultLearning = Learning{Runs: 4, Epochs: 20, Rate: 0.25, Decay: 1e-4, Least: 2}

// counted is a feature that has weights: their number.
type counted struct {
	number int32
	block  uint8
}

// lesson is an example with its features counted.
type lesson struct {
	kind      Kind
	weight    float64
	sentences [][]counted
	norms     [][blocks]float64
}

// learner holds the weights, and how far they have moved.
type learner struct {
	Learning
	w, moved        [][kinds]float64
	bias, movedBias [kinds]float64
}

// Learn makes a model of examples. It is deterministic.
func Learn(examples []Prepared, l Learning) *Model {
	numbers := number(examples, l.Least)
	var lessons []lesson
	for _, p := range examples {
		if len(p.sentences) > 0 {
			lessons = append(lessons, p.lesson(numbers))
		}
	}
	runs := make([]learner, l.Runs)
	var wait sync.WaitGroup
	for i := range runs {
		wait.Go(func() { runs[i] = l.run(lessons, len(numbers), uint64(i)) })
	}
	wait.Wait()
	mean := runs[0]
	for _, r := range runs[1:] {
		mean.add(r, 1)
	}
	mean.scale(1 / float64(l.Runs))
	return round(numbers, mean.w, mean.bias)
}

// run returns the mean of the weights after each of the later epochs.
func (l Learning) run(lessons []lesson, features int, seed uint64) learner {
	n := &learner{Learning: l, w: make([][kinds]float64, features), moved: make([][kinds]float64, features)}
	mean := learner{w: make([][kinds]float64, features)}
	r := rand.New(rand.NewPCG(1, 2+seed))
	first := l.Epochs / 2
	for epoch := range l.Epochs {
		for _, i := range r.Perm(len(lessons)) {
			n.take(lessons[i])
		}
		if epoch >= first {
			mean.add(*n, 1/float64(l.Epochs-first))
		}
	}
	return mean
}

// add adds a part of the weights of another learner.
func (n *learner) add(other learner, part float64) {
	for k := range n.bias {
		n.bias[k] += part * other.bias[k]
	}
	for i := range n.w {
		for k := range n.w[i] {
			n.w[i][k] += part * other.w[i][k]
		}
	}
}

func (n *learner) scale(part float64) {
	for k := range n.bias {
		n.bias[k] *= part
	}
	for i := range n.w {
		for k := range n.w[i] {
			n.w[i][k] *= part
		}
	}
}

// number gives numbers to the features that stand in enough lines. Of those that
// share a bucket the one of most lines has it.
func number(examples []Prepared, least int) map[hashed]int32 {
	type count struct {
		lines int
		last  uint32 // line
	}
	counts := map[hashed]count{}
	for _, p := range examples {
		for _, fs := range p.sentences {
			for _, f := range fs {
				if c := counts[f.hash]; c.lines == 0 || c.last != p.origin {
					counts[f.hash] = count{c.lines + 1, p.origin}
				}
			}
		}
	}
	holders := map[uint32]hashed{}
	for h, c := range counts {
		holder, taken := holders[h.bucket()]
		if other := counts[holder].lines; c.lines >= least && (!taken || c.lines > other || c.lines == other && h < holder) {
			holders[h.bucket()] = h
		}
	}
	numbers := make(map[hashed]int32, len(holders))
	for _, h := range holders {
		numbers[h] = int32(len(numbers))
	}
	return numbers
}

func (p Prepared) lesson(numbers map[hashed]int32) lesson {
	l := lesson{kind: p.kind, weight: p.weight}
	for _, fs := range p.sentences {
		var list []counted
		for _, f := range fs {
			if i, ok := numbers[f.hash]; ok {
				list = append(list, counted{i, f.block})
			}
		}
		l.sentences, l.norms = append(l.sentences, list), append(l.norms, norms(fs, 0))
	}
	return l
}

// take learns from all sentences of a harmless example, and of another one from the
// sentence that is most of its kind.
func (n *learner) take(l lesson) {
	if l.kind == Harmless {
		for s := range l.sentences {
			n.step(l.sentences[s], l.norms[s], Harmless, l.weight)
		}
		return
	}
	best, most := 0, math.Inf(-1)
	for s := range l.sentences {
		if z := n.odds(l.sentences[s], l.norms[s])[l.kind]; z > most {
			best, most = s, z
		}
	}
	n.step(l.sentences[best], l.norms[best], l.kind, l.weight)
}

// step moves the weights towards what a sentence is.
func (n *learner) step(fs []counted, v [blocks]float64, kind Kind, weight float64) {
	p := n.odds(fs, v)
	for k := Execute; k < kinds; k++ {
		g := weight * p[k]
		if k == kind {
			g -= weight
		}
		n.movedBias[k] += g * g
		n.bias[k] -= n.Rate * g / math.Sqrt(1+n.movedBias[k])
		for _, f := range fs {
			w, moved := &n.w[f.number][k], &n.moved[f.number][k]
			d := g*v[f.block] + n.Decay**w
			*moved += d * d
			*w -= n.Rate * d / math.Sqrt(1e-3+*moved)
		}
	}
}

// odds are the probabilities of the kinds.
func (n *learner) odds(fs []counted, v [blocks]float64) (p [kinds]float64) {
	z := n.bias
	for _, f := range fs {
		w := &n.w[f.number]
		for k := Execute; k < kinds; k++ {
			z[k] += w[k] * v[f.block]
		}
	}
	p[Harmless] = 1
	total := 1.0
	for k := Execute; k < kinds; k++ {
		p[k] = math.Exp(min(z[k], 30))
		total += p[k]
	}
	for k := range p {
		p[k] /= total
	}
	return p
}

// round makes bytes of weights.
func round(numbers map[hashed]int32, w [][kinds]float64, bias [kinds]float64) *Model {
	most := 0.0
	for i := range w {
		for _, x := range w[i] {
			most = max(most, math.Abs(x))
		}
	}
	m := &Model{Scale: most / 127, Bias: bias, Weights: make([]weights, buckets)}
	for h, i := range numbers {
		to := &m.Weights[h.bucket()]
		to.mark = h.mark()
		for k := range to.of {
			to.of[k] = int8(math.Round(w[i][k+1] / m.Scale))
		}
	}
	return m
}
