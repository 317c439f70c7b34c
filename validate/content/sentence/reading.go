package sentence

// ease is how much less sure a finding may be in text of a kind that is hardly ever
// harmless: of 30 MB of other people's text none came near.
const ease = 2

// Read judges one sentence of what disguised text is meant to be read as. sure says
// that harmless text is hardly ever disguised so.
func (j *Judge) Read(b []byte, sure bool) Verdict {
	fs := j.x.extract(b)
	if fs == nil {
		return Verdict{}
	}
	kind, score := j.m.score(fs, j.x.count, j.x.sum)
	least, unexplained := j.m.Threshold, func([]byte) bool { return sure }
	if sure {
		least -= ease
	}
	return j.verdict(b, kind, score, least, unexplained)
}
