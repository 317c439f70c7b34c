package channel

import (
	"fmt"

	"github.com/threegate/tool-exec/schemas"
)

// The share of a channel's lines, in percent, that may be withheld: of one that is to
// hold documentation more. So many lines may be withheld in any case.
const (
	share              = 20
	documentationShare = 80
	fewLines           = 10
)

// TooMuch says whether so much of a channel is withheld that what is left is not worth
// having. documentation says that the request declared such text.
func (v Verdict) TooMuch(documentation bool) bool {
	most := share
	if documentation {
		most = documentationShare
	}
	n := v.WithheldLines()
	return n > fewLines && n*100 > v.Lines*most
}

// Refusal is the finding that refuses a result of which too much would be withheld.
func (v Verdict) Refusal(name string) schemas.Finding {
	return schemas.Finding{Rule: "result.withheld.share", Severity: schemas.SeverityBlocking,
		Message: fmt.Sprintf("%s: something would be withheld in %d of %d lines", name, v.WithheldLines(), v.Lines),
		Hint: "look at what was withheld: threegate quarantine list --withheld; a request whose output is " +
			"documentation says so in its Output Expectations: documentation text"}
}

// WithheldLines counts the lines of which something is withheld. A secret that is masked leaves the rest of its line.
func (v Verdict) WithheldLines() (n int) {
	last := 0
	for _, s := range v.Withheld {
		if s.Rule == RuleSecrets {
			continue
		}
		n += s.Last - max(s.First, last+1) + 1
		last = s.Last
	}
	return n
}
