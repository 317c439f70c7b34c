package validate

import (
	"github.com/threegate/tool-exec/schemas"
)

var severityRank = map[schemas.Severity]int{schemas.SeveritySuggestion: 1, schemas.SeverityWarning: 2, schemas.SeverityBlocking: 3}

// judge sets the levels that the policy gives and sorts. A level is never
// lowered below that of a finding whose rule a normative text demands.
func (p Policy) judge(fs []schemas.Finding) []schemas.Finding {
	for i := range fs {
		f := &fs[i]
		want, ok := p.Levels[f.Rule]
		if !ok || severityRank[want] == 0 {
			continue
		}
		rule, known := schemas.RuleByID(f.Rule)
		if severityRank[want] > severityRank[f.Severity] || known && !rule.Must {
			f.Severity = want
		}
	}
	return schemas.SortFindings(fs)
}
