package validate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/code"
	"github.com/threegate/tool-exec/validate/command"
	"github.com/threegate/tool-exec/validate/content"
	"github.com/threegate/tool-exec/validate/text"
)

// behindCommand is what the summary says behind the command.
var behindCommand = regexp.MustCompile(`^(?: \(ERA, [a-z]{1,20}\))?$`)

// commandLines are the lines that say which command ran. The schema demands the exact
// command, so what a request may have as its command a result may repeat there, although
// it reads like an order or a program anywhere else.
func (rr *resultReader) commandLines() []span {
	ran := ""
	for _, f := range rr.res.Provenance {
		if f.Name == schemas.ProvCommand && ran != "" {
			return nil
		} else if f.Name == schemas.ProvCommand {
			ran = f.Value
		}
	}
	for range text.Suspects(ran) { // no request may hold these in its command
		return nil
	}
	argv, notes := command.Check(ran)
	for _, n := range notes {
		if n.Rule != code.RuleNetwork {
			argv = nil
		}
	}
	if argv == nil {
		return nil
	}
	var out []span
	for _, title := range []string{sectionSummary, sectionProvenance} {
		s, ok := rr.doc.Find(title)
		if !ok {
			continue
		}
		for _, l := range bodyLines(s) {
			m := fieldLine.FindStringSubmatch(l.text)
			if m == nil || m[1] != labelWhatRan && m[1] != schemas.ProvCommand {
				continue
			}
			value, err := parseInline(m[2])
			rest, same := strings.CutPrefix(value, ran)
			inert := m[2] == inline(value) || m[2] == codeSpan(value) // a viewer might act on another spelling
			if err == nil && inert && same && behindCommand.MatchString(rest) {
				out = append(out, span{l.offset, l.offset + len(l.text)})
			}
		}
	}
	return out
}

// oneLiner is the row of an interpreter that is called with code.
const oneLiner = "one-liner"

// named says whether h is nothing but what a place names as the command: commands are
// bound to be orders, and programs. A claim is none, nor is what stands there encoded,
// nor what acts on a model or a viewer by its form.
func named(h content.Hit, places []span, origin func(int) int) bool {
	switch {
	case h.Encoding != "" || h.Rule == content.RuleLifted || h.Rule == content.RulePolicy:
		return false
	case content.TierOf(h.Rule) == content.Refuse && h.Name != oneLiner:
		return false
	case slices.Contains([]string{content.RuleTemplate, content.RuleTool, content.RuleView, content.RuleMarkup,
		content.RuleTurn, content.RuleOverride, content.RuleRole, content.RuleTheft, content.RuleModel}, h.Rule):
		return false
	}
	for _, p := range places {
		if origin(h.Offset) >= p.start && origin(h.End) <= p.end {
			return true
		}
	}
	return false
}
