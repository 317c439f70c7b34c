package validate

import (
	"fmt"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/channel"
	"github.com/threegate/tool-exec/validate/content"
	"github.com/threegate/tool-exec/validate/text"
)

// Words is Policy.Words where nothing was released.
func Words(label, s string) (shown string, why *channel.Span, refused bool) {
	return (&Policy{}).Words(label, s)
}

// Words judges s, words of a request or of a sandbox, as a line of a result has them
// behind label. It returns what the result may say: s, or the marker for it and the
// reason. refused says that such words refuse the whole result.
func (p *Policy) Words(label, s string) (shown string, why *channel.Span, refused bool) {
	w := &resultWriter{}
	w.line(s + "\n") // judged by itself, as a stream would be, and where it will stand
	w.bullet(label, s)
	w.line("\n- /out/x sha256: " + strings.Repeat("0", 64)) // or as outputs are described
	w.line("  " + label + ":" + spaced(inline(s)))
	b := text.Loose([]byte(w.b.String())).Text
	span := channel.Span{To: len(s), What: "it imitates a marker of the gate"}
	if strings.Contains(s, schemas.MarkerStart) {
		span.Rule = "result.text.visible"
	}
	hits := content.Scan(b)
	for _, h := range hits {
		if p.IsReleased(h.Rule, []byte(s)) && !content.Full(hits) {
			continue
		}
		tier := content.TierOf(h.Rule)
		if tier == content.Refuse || tier == content.Withhold && span.Rule == "" {
			span.Rule, span.What, refused = h.Rule, h.What, refused || tier == content.Refuse
		}
	}
	if _, ms := p.secrets(b); len(ms) > 0 && !refused && !p.IsReleased(ruleSecrets, []byte(s)) {
		span.Rule, span.What, span.SHA256 = ruleSecrets, "it holds a secret ("+ms[0].Rule+")", ""
	}
	if span.Rule == "" {
		return s, nil, false
	}
	if refused {
		span.SHA256 = schemas.SpanOf(span.Rule, []byte(s))
	}
	return schemas.Withheld{Rule: span.Rule}.Marker(), &span, refused
}

// Refusal is the finding that a place of a channel refuses the result.
func Refusal(name string, s channel.Span) schemas.Finding {
	at := ""
	if s.First > 0 {
		at = fmt.Sprintf(", line %d", s.First)
	}
	rule, _ := schemas.RuleByID(s.Rule)
	return schemas.Finding{Rule: s.Rule, Severity: schemas.SeverityBlocking,
		Message: fmt.Sprintf("%s%s: %s", name, at, s.What), Hint: rule.Hint, Span: s.SHA256}
}
