package sentence

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"sync"
)

//go:embed weights.bin
var weightsFile []byte

// Model weighs features.
type Model struct {
	// Scale is what one step of a weight is worth.
	Scale float64
	// Threshold is from which score on a sentence is refused.
	Threshold float64
	// Weights are those of the buckets.
	Weights []weights
	// Bias is added to the score of each kind.
	Bias [kinds]float64
	// Of is the digest of what was learned from.
	Of [sha256.Size]byte
}

// weights are those of a feature for the kinds but Harmless.
type weights struct {
	mark uint8
	of   [kinds - 1]int8
}

const magic = "TGW3"

// Encode writes m as a file.
func (m *Model) Encode() []byte {
	out := []byte(magic)
	for _, f := range append([]float64{m.Scale, m.Threshold}, m.Bias[:]...) {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(f))
	}
	out = append(out, m.Of[:]...)
	for _, ws := range m.Weights {
		out = append(out, ws.mark, byte(ws.of[0]), byte(ws.of[1]), byte(ws.of[2]))
	}
	return out
}

// Decode reads what Encode wrote.
func Decode(b []byte) (*Model, error) {
	head := len(magic) + 8*(2+int(kinds)) + sha256.Size
	const size = 4
	if len(b) != head+buckets*size || string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("not a file of weights: %d bytes", len(b))
	}
	at := len(magic)
	next := func() float64 {
		at += 8
		return math.Float64frombits(binary.LittleEndian.Uint64(b[at-8:]))
	}
	m := &Model{Scale: next(), Threshold: next()}
	for k := range m.Bias {
		m.Bias[k] = next()
	}
	m.Of = [sha256.Size]byte(b[at:])
	m.Weights = make([]weights, buckets)
	for i := range m.Weights {
		w := b[head+i*size:]
		m.Weights[i] = weights{w[0], [...]int8{int8(w[1]), int8(w[2]), int8(w[3])}}
	}
	return m, nil
}

// shared is the model of this build. That it can be read is a property of the
// build, which a test proves.
var shared = sync.OnceValue(func() *Model {
	m, err := Decode(weightsFile)
	if err != nil {
		panic("sentence: " + err.Error())
	}
	return m
})

// Judge looks at the sentences of one document, one after the other. It must not
// be used by several goroutines at once.
type Judge struct {
	x     *extractor
	m     *Model
	known known
}

// judges are those that nobody uses. They are not a sync.Pool's: a node that rested for
// long is to know its sentences still.
var judges = make(chan *Judge, 4)

// NewJudge returns a judge with the weights of this build. Done gives it back.
func NewJudge() *Judge {
	var j *Judge
	select {
	case j = <-judges:
	default:
		x := newExtractor()
		x.model, x.weighed = shared(), new([weighedChunks]weighed)
		j = &Judge{x: x, m: x.model, known: known{seed: maphash.MakeSeed()}}
	}
	j.known.next()
	j.x.work = 0
	return j
}

// Work is how much was looked at in this document: features of sentences, and half of
// their bytes.
func (j *Judge) Work() int { return j.x.work }

// Done ends the use of j: its room is used for another document.
func (j *Judge) Done() {
	select {
	case judges <- j:
	default:
	}
}

// Verdict is what was found about a sentence.
type Verdict struct {
	Kind Kind
	// Score is how sure that is; Threshold is the least that counts. A sentence
	// that is known to be harmless has none.
	Score float64
	// From is where its first word begins.
	From int
	// Words are those that weigh most, in their order.
	Words []string
}

// Look judges one sentence of folded text. Lines that are too short to have been
// wrapped are judged by themselves, too: whoever breaks a sentence in the middle, or
// sets something else in front of it, changes nothing.
func (j *Judge) Look(b []byte) Verdict {
	v := j.sifted(b)
	if v.Kind != Harmless {
		return v
	}
	for from := 0; from < len(b); {
		to := from
		for to < len(b) {
			k := bytes.IndexByte(b[to:], '\n')
			if k < 0 {
				to = len(b)
				break
			}
			if to += k + 1; k < wrapWidth {
				break
			}
		}
		if from == 0 && to == len(b) {
			break
		}
		if w := j.sifted(b[from:to]); w.Kind != Harmless {
			w.From += from
			return w
		}
		from = to
	}
	return v
}

// wrapWidth is the length of a line from which on it may have been wrapped.
const wrapWidth = 40

// sifted is remembered, for what is worth a look.
func (j *Judge) sifted(b []byte) Verdict {
	if !j.x.lex.sift.pass(b) {
		return Verdict{}
	}
	return j.remembered(b)
}

// remembered looks at a sentence and at its clauses, unless they are known to be harmless.
func (j *Judge) remembered(b []byte) Verdict {
	place, work, harmless := j.known.has(b, j.x.lex)
	if harmless {
		j.x.work += work
		return Verdict{}
	}
	before := j.x.work
	v := j.look(b)
	if v.Kind == Harmless {
		v = j.clauses(b, v)
	}
	if v.Kind == Harmless {
		j.known.remember(place, j.x.work-before)
	}
	return v
}

func (j *Judge) look(b []byte) Verdict {
	fs := j.x.extract(b)
	if fs == nil {
		return Verdict{}
	}
	kind, score := j.m.score(fs, j.x.count, j.x.sum)
	return j.verdict(b, kind, score, j.m.Threshold, prose)
}

// verdict is that on a sentence whose features were taken last. One that no word of the
// lexicon explains counts only if it may be without: lists of paths and dumps of numbers
// have the letters of anything.
func (j *Judge) verdict(b []byte, kind Kind, score, least float64, unexplained func([]byte) bool) Verdict {
	v := Verdict{Score: score, From: j.x.tokens[0].from}
	if score < least {
		return v
	}
	words := j.explain(b, kind)
	if slices.ContainsFunc(words, func(w string) bool { return len(w) > 2 }) || unexplained(b) {
		v.Kind, v.Words = kind, words
	}
	return v
}

// prose says whether text holds a word or an address, or a line of it two paths. What
// does not is a list of paths, numbers, or the digits of a dump.
func prose(b []byte) bool {
	for line := range bytes.Lines(b) {
		paths := 0
		for field := range bytes.FieldsSeq(line) {
			if bytes.IndexByte(field, '/') < 0 {
				if hasWord(field) {
					return true
				}
			} else if paths++; paths > 1 || bytes.Contains(field, []byte("://")) {
				return true
			}
		}
	}
	return false
}

// hasWord says whether what stands between blanks holds three letters in a row, or is
// made of two that are no digits of a dump.
func hasWord(field []byte) bool {
	if len(field) == 2 && isLetter(field[0]) && isLetter(field[1]) {
		return field[0] > 'f' || field[1] > 'f'
	}
	letters := 0
	for i := 0; i <= len(field); i++ {
		if i < len(field) && isLetter(field[i]) {
			letters++
			continue
		}
		if letters > 2 && (i == len(field) || field[i] < '0' || field[i] > '9') {
			return true
		}
		letters = 0
	}
	return false
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 0x80 }

// norms keep long sentences from weighing more than short ones.
// parts is how many of them are no features.
func norms(fs []feature, parts int) (v [blocks]float64) {
	n := [blocks]int{blockParts: parts}
	for _, f := range fs {
		n[f.block]++
	}
	for i := range v {
		v[i] = 1 / math.Sqrt(float64(max(n[i], 1)))
	}
	return v
}

// sum is what features weigh together.
func (m *Model) sum(features []hashed) (of [kinds]int32) {
	var execute, fetch, policy int32
	for _, h := range features {
		if w := &m.Weights[h.bucket()]; w.mark == h.mark() {
			execute += int32(w.of[Execute-1])
			fetch += int32(w.of[Fetch-1])
			policy += int32(w.of[Policy-1])
		}
	}
	return [kinds]int32{Execute: execute, Fetch: fetch, Policy: policy}
}

// score returns the likeliest kind but Harmless, and the logarithm of the odds
// that the sentence is of one of those kinds. The parts of its words that are no
// features are so many, and weigh so much together.
func (m *Model) score(fs []feature, parts int, weigh [kinds]int32) (Kind, float64) {
	sum := [blocks][kinds]int32{blockParts: weigh}
	for _, f := range fs {
		if w, s := &m.Weights[f.hash.bucket()], &sum[f.block]; w.mark == f.hash.mark() {
			s[Execute] += int32(w.of[Execute-1])
			s[Fetch] += int32(w.of[Fetch-1])
			s[Policy] += int32(w.of[Policy-1])
		}
	}
	best, total, v := Execute, 0.0, norms(fs, parts)
	var z [kinds]float64
	for k := Execute; k < kinds; k++ {
		z[k] = m.Bias[k]
		for b := range sum {
			z[k] += float64(sum[b][k]) * m.Scale * v[b]
		}
		if z[k] > z[best] {
			best = k
		}
		total += math.Exp(z[k])
	}
	return best, math.Log(total)
}

// maxWords is how many words explain a finding.
const maxWords = 6

// explain returns the words of a sentence that speak most for kind: words of the
// lexicon only, as a secret may be any other word, a path or a number.
func (j *Judge) explain(b []byte, kind Kind) []string {
	j.x.model = nil
	fs := j.x.extract(b)
	j.x.model = j.m
	weight, v := make([]float64, len(j.x.tokens)), norms(fs, 0)
	for _, f := range fs {
		if w := &j.m.Weights[f.hash.bucket()]; f.token >= 0 && w.mark == f.hash.mark() {
			weight[f.token] += v[f.block] * float64(w.of[kind-1])
		}
	}
	var order []int
	for i, t := range j.x.tokens {
		if weight[i] > 0 && t.to > t.from && len(t.classes) > 0 && t.classes[0] >= firstListed {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	order = order[:min(len(order), maxWords)]
	slices.Sort(order)
	var out []string
	for _, i := range order {
		if w := string(b[j.x.tokens[i].from:j.x.tokens[i].to]); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
