package secrets

import (
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/text"
)

// Mask stands for what a Redactor took out.
const Mask = "[masked]"

// pieceLen is the length from which on a piece of a secret must not be shown.
const pieceLen = 6

// maxRedact bounds how many bytes of secrets a Redactor remembers.
const maxRedact = 4 << 20

// Redactor takes the secrets that Scan found out of texts about the scanned
// bytes. The zero value and nil change nothing.
type Redactor struct {
	pieces map[string]bool
	short  []string
	// blind says that there may be secrets that are not remembered.
	blind bool
}

// NewRedactor remembers every stretch of raw that ms point at.
func NewRedactor(raw []byte, ms []Match) *Redactor {
	r := &Redactor{pieces: map[string]bool{}, blind: len(ms) >= maxMatches}
	left := maxRedact
	for _, m := range ms {
		if m.Rule == RuleUnscannable || left < m.End-m.Offset {
			r.blind = true
		}
		if m.Offset < 0 || m.End > len(raw) || m.Offset >= m.End || left < m.End-m.Offset {
			continue
		}
		left -= m.End - m.Offset
		r.Add(string(raw[m.Offset:m.End]))
	}
	return r
}

// Add makes the redactor hide s and every piece of it too.
func (r *Redactor) Add(s string) {
	for _, v := range []string{s, text.Visible(s)} {
		if len(v) < pieceLen {
			if len(v) >= 3 {
				r.short = append(r.short, v)
			}
			continue
		}
		for i := 0; i+pieceLen <= len(v); i++ {
			r.pieces[v[i:i+pieceLen]] = true
		}
	}
}

// Clean returns s with every piece of a secret replaced by Mask.
func (r *Redactor) Clean(s string) string {
	if r == nil || len(r.pieces) == 0 && len(r.short) == 0 {
		return s
	}
	hide := make([]bool, len(s))
	any := false
	mark := func(from, to int) {
		any = true
		for i := from; i < to; i++ {
			hide[i] = true
		}
	}
	for i := 0; i+pieceLen <= len(s); i++ {
		if r.pieces[s[i:i+pieceLen]] {
			mark(i, i+pieceLen)
		}
	}
	for _, p := range r.short {
		for i := 0; ; {
			j := strings.Index(s[i:], p)
			if j < 0 {
				break
			}
			mark(i+j, i+j+len(p))
			i += j + len(p)
		}
	}
	if !any {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if !hide[i] {
			b.WriteByte(s[i])
		} else if i == 0 || !hide[i-1] {
			b.WriteString(Mask)
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD") // not "": that could join two halves of a piece
}

// Findings cleans every text of every finding, in place, and returns fs. Where
// not all secrets could be found, excerpts are left out.
func (r *Redactor) Findings(fs []schemas.Finding) []schemas.Finding {
	for i := range fs {
		if r != nil && r.blind {
			fs[i].Excerpt = ""
		}
		fs[i].Message = r.Clean(fs[i].Message)
		fs[i].Hint = r.Clean(fs[i].Hint)
		fs[i].Excerpt = r.Clean(fs[i].Excerpt)
	}
	return fs
}
