package sentence

// A sentence is weighed as a whole, so harmless words around an order make it weigh
// less: cells of a table before it, or clauses. So its clauses are looked at, too.
const (
	// joinedClauses is how many clauses that follow one another are looked at together:
	// an order may have commas of its own.
	joinedClauses = 3
	// clauseTokens is how much such a stretch says at least. What is shorter is too
	// often harmless in what surrounds it ("permission is hereby granted").
	clauseTokens = 6
	// clauseThreshold is the least score that counts of what is only a part. With it one
	// more of the 7,303 harmless documents of the corpus is refused, and nine of ten orders
	// between the cells of a row are found, of which the sentence alone shows one of six.
	clauseThreshold = 3
	// longJoined is how long a stretch of several clauses is at most: a longer one is
	// weighed down as the sentence is.
	longJoined = 160
	// dilutedTokens is how long a sentence is at least that can be weighed down.
	dilutedTokens = 14
)

// clauses judges the clauses of a sentence that is harmless as a whole, which whole says.
func (j *Judge) clauses(b []byte, whole Verdict) Verdict {
	if len(j.x.tokens) < dilutedTokens {
		return whole
	}
	var from [joinedClauses]int // where the clauses begin that were seen last
	n := 0
	for i := 0; i <= len(b); i++ {
		if i < len(b) && !parts(b, i) {
			continue
		}
		for k := n; k >= max(0, n-joinedClauses+1); k-- {
			start := from[k%joinedClauses]
			if start == 0 && i == len(b) || k < n && i-start > longJoined {
				break // all of it, or too much
			}
			if v := j.clause(b[start:i]); v.Kind != Harmless {
				v.From += start
				return v
			}
		}
		n++
		from[n%joinedClauses] = i + 1
	}
	return whole
}

// clause judges one stretch of clauses.
func (j *Judge) clause(b []byte) Verdict {
	if len(b) < 2*clauseTokens || !j.x.lex.sift.pass(b) {
		return Verdict{}
	}
	fs := j.x.extract(b)
	if len(fs) == 0 || len(j.x.tokens) < clauseTokens {
		return Verdict{}
	}
	kind, score := j.m.score(fs, j.x.count, j.x.sum)
	return j.verdict(b, kind, score, clauseThreshold, prose)
}

// parts says whether a clause ends at i.
func parts(b []byte, i int) bool {
	switch b[i] {
	case ',', ';', '|', '\t', '\n', '(', ')':
		return true
	case ':':
		return i+1 == len(b) || b[i+1] == ' '
	case '-':
		return i > 0 && b[i-1] == ' ' && i+1 < len(b) && b[i+1] == ' '
	}
	return false
}
