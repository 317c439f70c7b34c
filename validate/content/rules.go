package content

import (
	"slices"
	"strings"

	"github.com/threegate/tool-exec/schemas"
)

// The ids of the rules that a Hit can name.
const (
	RuleTemplate = "result.instruction.template"
	RuleTurn     = "result.instruction.turn"
	RuleOverride = "result.instruction.override"
	RuleRole     = "result.instruction.role"
	RuleTheft    = "result.instruction.theft"
	RuleModel    = "result.instruction.model"
	RuleUnseen   = "result.instruction.unseen"
	RuleSay      = "result.instruction.say"
	RuleTool     = "result.instruction.tool"
	RuleInsert   = "result.instruction.insert"
	RuleFetch    = "result.instruction.fetch"
	RuleExecute  = "result.instruction.execute"
	RuleSend     = "result.instruction.send"
	RuleView     = "result.instruction.view"
	RuleLifted   = "result.claims.lifted"
	RulePolicy   = "result.claims.policy"
	RulePayload  = "result.payload.inline"
	RuleScript   = "result.payload.script"
	RuleCode     = "result.payload.code"
	RuleAttack   = "result.payload.attack"
	RuleDownload = "result.payload.download"
	RuleMarkup   = "result.payload.markup"
	RuleUnread   = "result.payload.unread"
)

// Tier says what becomes of text that a rule names.
type Tier int

// The tiers, mildest first: the text is reported and delivered, it is replaced by a marker wherever it stands, what
// holds it is replaced by a marker, or the whole result is refused.
const (
	Note Tier = iota
	Mask
	Withhold
	Refuse
)

var tierNames = []string{schemas.TierNote, schemas.TierMask, schemas.TierWithhold, schemas.TierRefuse}

// String returns the tier as documents name it.
func (t Tier) String() string { return tierNames[t] }

// TierOf returns the tier of a rule. A rule that is not known here refuses, so
// that none passes by mistake.
func TierOf(rule string) Tier {
	r, _ := schemas.RuleByID(rule)
	if t := slices.Index(tierNames, r.Tier); t >= 0 {
		return Tier(t)
	}
	return Refuse
}

// IsPayload says whether a rule is about text that a program would run.
func IsPayload(rule string) bool {
	return strings.HasPrefix(rule, "result.payload.") && rule != RuleUnread
}
