package validate

import (
	"fmt"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/channel"
	"github.com/threegate/tool-exec/validate/secrets"
)

// SecretElsewhere is why a channel is masked whose text shows no secret by itself.
var SecretElsewhere = channel.Span{Rule: channel.RuleSecrets,
	What: "it holds a secret that another channel shows as one"}

// Dump are the secrets of a stream that holds so many of them, or such, that it is likely to hold others: they refuse
// the result. It is empty for other streams.
func (p *Policy) Dump(raw []byte) (refused []channel.Span) {
	_, ms := p.secrets(raw)
	if !secrets.IsDump(ms) {
		return nil
	}
	for _, m := range ms {
		s := channel.Span{Rule: channel.RuleSecrets, From: max(m.Offset, 0), To: max(m.End, 0),
			What: fmt.Sprintf("it holds a secret (%s), and with it perhaps others that no rule knows", m.Rule)}
		if m.Rule != secrets.RuleUnscannable {
			s.SHA256 = schemas.SpanOf(s.Rule, raw[s.From:s.To])
		}
		refused = append(refused, s)
	}
	return refused
}

// Unmasked finds secrets that a document still holds in words of the sandbox, which stand in its spans.
func Unmasked(document []byte, spans []schemas.ForeignSpan, masked *secrets.Set) (found []schemas.Finding) {
	for _, s := range spans {
		if s.By == schemas.BySandbox && len(masked.Find(document[s.From:s.To])) > 0 {
			found = append(found, Refusal(strings.ToLower(s.In),
				channel.Span{Rule: channel.RuleSecrets, What: "a secret of this run is not masked there"}))
		}
	}
	return found
}
