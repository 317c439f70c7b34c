package validate

import (
	"slices"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/content"
	"github.com/threegate/tool-exec/validate/secrets"
)

// IsReleased says whether a person took back that b breaks a rule. Only rules that judge text can be
// taken back.
func (p *Policy) IsReleased(rule string, b []byte) bool {
	if len(p.Released) == 0 {
		return false
	}
	span := schemas.SpanOf(rule, b)
	return span != "" && slices.Contains(p.Released, schemas.Release{Rule: rule, SHA256: span})
}

// hits is content.Scan without what was released. A scan that was full may have left something
// unread behind what is released: that does not pass.
func (p *Policy) hits(b []byte) []content.Hit {
	all := content.Scan(b)
	left := slices.DeleteFunc(slices.Clone(all), func(h content.Hit) bool {
		return p.IsReleased(h.Rule, matched(b, h.Offset, h.End))
	})
	if content.Full(all) && len(left) < len(all) {
		left = append(left, content.Unread())
	}
	return left
}

// Secrets are the secrets of b that were not released.
func (p *Policy) Secrets(b []byte) []secrets.Match {
	_, left := p.secrets(b)
	return left
}

// secrets is secrets.Scan, and what of it was not released, in the same way.
func (p *Policy) secrets(b []byte) (all, left []secrets.Match) {
	all = secrets.Scan(b)
	left = slices.DeleteFunc(slices.Clone(all), func(m secrets.Match) bool {
		return m.Rule != secrets.RuleUnscannable && p.IsReleased(ruleSecrets, matched(b, m.Offset, m.End))
	})
	if secrets.Full(all) && len(left) < len(all) {
		left = append(left, secrets.Unread())
	}
	return all, left
}

// matched is b[from:to], or nothing where that is none of it.
func matched(b []byte, from, to int) []byte {
	if from < 0 || from >= to || to > len(b) {
		return nil
	}
	return b[from:to]
}
