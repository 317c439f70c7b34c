package text

import (
	"bytes"
	"regexp"
)

// sequence is what a terminal acts on and does not show, such as a colour (ECMA-48).
var sequence = regexp.MustCompile(`\x1b\[[0-9;:?]{0,32}[@-~]`)

// Printed returns b as a terminal shows it, without the sequences that it acts on. changed says whether there were any.
func Printed(b []byte) (m *Mapped, changed bool) {
	if !bytes.Contains(b, []byte("\x1b[")) {
		return nil, false
	}
	m = &Mapped{}
	at := 0
	for _, p := range sequence.FindAllIndex(b, -1) {
		m.Add(b[at:p[0]], at)
		at = p[1]
	}
	m.Add(b[at:], at)
	return m, at > 0
}
