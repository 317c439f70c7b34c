package orders

import (
	"regexp"
	"slices"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// maxRules is more than any request breaks.
const maxRules = 200

var sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)

// byRules says whether rules refused a request, and no person.
func (o *Order) byRules() bool {
	return o.Kind == Refused && len(o.Rules) > 0 && o.By == "" && o.Reason == ""
}

// ByPerson says whether a person gives the order, who must be one that may.
func (o *Order) ByPerson() bool { return !o.byRules() }

// checkRefused says what is wrong with a note of a refusal, or "".
func (o *Order) checkRefused() string {
	switch {
	case spool.RequestStem(o.Subject+".md") == "":
		return "it does not say which request it is about"
	case !sha256Hex.MatchString(o.RequestSHA256):
		return "it lacks the digest of the request"
	case len(o.Rules) > maxRules || !slices.IsSorted(o.Rules):
		return "its rules are not sorted, or too many"
	}
	for _, r := range o.Rules {
		if _, ok := schemas.RuleByID(r); !ok {
			return "it names a rule that this node does not know"
		}
	}
	return ""
}
