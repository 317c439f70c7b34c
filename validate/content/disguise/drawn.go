package disguise

// drawn are the letters that a digit or a sign may stand for.
var drawn = [256]string{'0': "o", '1': "il", '2': "z", '3': "e", '4': "a", '5': "s", '6': "gb", '7': "tl", '8': "b", '9': "gq",
	'@': "a", '$': "s", '+': "t", '!': "il", '|': "li", '(': "c", '{': "c", '<': "c", '#': "h", '%': "x", '&': "a", '^': "a"}

// figures are signs that are drawn for one letter together.
var figures = []struct {
	signs  string
	letter byte
}{{"\\/\\/", 'w'}, {"/\\/\\", 'm'}, {"|\\/|", 'm'}, {"|\\|", 'n'}, {"/\\/", 'n'}, {"|-|", 'h'}, {"|_|", 'u'}, {"(_)", 'u'}, {"/-\\", 'a'}, {"|=", 'f'},
	{"|)", 'd'}, {"[)", 'd'}, {"|>", 'p'}, {"|3", 'b'}, {"|<", 'k'}, {"|_", 'l'}, {"()", 'o'}, {"[]", 'o'}, {"/\\", 'a'}, {"\\/", 'v'}, {"><", 'x'}, {"}{", 'h'}, {"_|", 'j'}, {"ph", 'f'}, {"vv", 'w'}, {"uu", 'w'}}

var figureStarts = func() (t [256]bool) {
	for _, f := range figures {
		t[f.signs[0]] = true
	}
	return t
}()

// maxToken is the length of the longest token that is read letter by letter.
const maxToken = 64

// maxSteps bounds the ways that are tried to read one token.
const maxSteps = 600

// matcher finds the word that a token is meant to be.
type matcher struct {
	v     *vocabulary
	token []byte
	// doubled says that letters may stand there more often than they should.
	doubled bool
	steps   int
	word    [maxToken]byte
	best    []byte
	cost    int
}

// match returns the word that token is most likely meant to be, or nil. It is good
// until the next call.
func (m *matcher) match(token []byte, doubled bool) []byte {
	if len(token) > maxToken {
		return nil
	}
	m.token, m.doubled, m.steps, m.cost, m.best = token, doubled, maxSteps, 1<<60, m.best[:0]
	m.try(0, 0, 0, 0)
	if len(m.best) == 0 {
		return nil
	}
	return m.best
}

// try goes on at token[i:], behind n letters that lead to a node of the tree.
func (m *matcher) try(i int, at uint16, n, cost int) {
	if m.steps--; m.steps < 0 {
		return
	}
	if i == len(m.token) {
		if rank := int(m.v.nodes[at].rank); rank > 0 && cost<<16+rank < m.cost {
			m.cost, m.best = cost<<16+rank, append(m.best[:0], m.word[:n]...)
		}
		return
	}
	step := func(l byte, by, price int) {
		if next := m.v.nodes[at].next[l-'a']; next > 0 {
			m.word[n] = l
			m.try(i+by, next, n+1, cost+price)
		}
	}
	c := m.token[i]
	if small(c) {
		step(c, 1, 0)
		if m.doubled && n > 0 && m.word[n-1] == c {
			m.try(i+1, at, n, cost)
		}
	} else {
		for k := range len(drawn[c]) {
			step(drawn[c][k], 1, k)
		}
		if c < '0' || c > '9' {
			m.try(i+1, at, n, cost+dropped)
		}
		if c == '*' || c == '_' && len(m.token) > longWord {
			for l := range byte(26) {
				step('a'+l, 1, guessed)
			}
		}
	}
	if figureStarts[c] {
		for _, f := range figures {
			if len(m.token)-i >= len(f.signs) && string(m.token[i:i+len(f.signs)]) == f.signs {
				step(f.letter, len(f.signs), 1)
			}
		}
	}
}

// What it costs to take a sign for nothing, or for any letter: scr*pt.
const (
	dropped = 2
	guessed = 8
)
