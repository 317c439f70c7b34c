package validate

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/approval"
	"github.com/threegate/tool-exec/validate/document"
)

// clockSkew is how far the clocks of approver and node may differ.
const clockSkew = 5 * time.Minute

var (
	// placeholderRe matches what templates leave to be filled in.
	placeholderRe = regexp.MustCompile(`(?i)^(?:todo|tbd|fixme|x+|\?+|-+|\.+|n/?a|none|null|nobody|no one|pending` +
		`|unknown|approver|name|human|your name|someone|to be (?:approved|determined|filled in)` +
		`|not (?:yet )?approved|<.*>|\[.*\]|\{.*\}|\$.*|_+)$`)
	// nodeNames are the programs of the system, which can't approve for people, whatever a node allows.
	nodeNames = []string{"core", "tool-exec", "toolexec", "threegate", "gate", "system", "automatic", "auto", "bot",
		"agent"}
)

// DefaultForbidden are the patterns of names that machines have and people hardly ever: a node that sets none
// takes no approval of them.
func DefaultForbidden() []string {
	return []string{"ai", "ai-agent*", "ai-approver*", "ai-assistant*", "*-ai-*", "auto-*", "autoapprov*", "automation",
		"agent-*", "*-agent", "bot-*", "*-bot", "robot", "chatbot*", "assistant", "llm", "llm-*", "gpt", "gpt-*",
		"chatgpt*", "copilot*", "service-account*", "svc-*", "machine", "cron", "ci"}
}

// Forbids says by which rule no approval of name counts, and why, as the end of a sentence; both are empty
// if one may.
func (p Policy) Forbids(name string) (rule, why string) {
	switch pattern := approval.Machine(slices.Concat(nodeNames, p.Forbidden), name); {
	case pattern != "":
		return "approval.machine", "is the name of a machine here (" + document.Quote(pattern) +
			"), and only a person approves"
	case len(p.Approvers) > 0 && !approval.Among(p.Approvers, name):
		return "approval.approver", "is none of the node's approvers"
	}
	return "", ""
}

// approval checks who asked, who approved and when. Before anybody approved it, only who asked.
func (rr *requestReader) approval() {
	m, req := rr.doc.Front, rr.req
	keys := approvalKeys
	if rr.p.Unapproved {
		keys = approvalKeys[:1]
	}
	for _, key := range keys {
		if v, ok := m.Get(key); !ok || v.Empty() {
			rr.key("approval.missing", key, "give "+key+" a value; threegate approve fills in approver and time",
				"%s is missing: a request is valid only if it says who asked for it and who approved it when", key)
		}
	}
	req.RequestedBy = rr.person("requested_by")
	if rr.p.Unapproved {
		return
	}
	req.ApprovedBy = rr.person("approved_by")
	approved, ok := m.Time(rr.rep, "approved_utc")
	req.ApprovedUTC = approved
	if ok {
		rr.approvalTime(approved)
	}
	who := req.ApprovedBy
	if who == "" {
		return
	}
	if rule, why := rr.p.Forbids(who); rule != "" {
		r, _ := schemas.RuleByID(rule)
		rr.key(rule, "approved_by", r.Hint, "%s %s", document.Quote(who), why)
	}
	if req.RequestedBy != "" && !rr.p.AllowSelfApproval && approval.Same(who, req.RequestedBy) {
		rr.key("approval.self", "approved_by", "have another person approve it", "%s asked for the run and approved it",
			document.Quote(who))
	}
}

func (rr *requestReader) person(key string) string {
	s, ok := rr.doc.Front.String(rr.rep, key)
	switch {
	case !ok:
		return ""
	case strings.TrimSpace(s) != s:
		rr.key("doc.frontmatter.type", key, "remove the blanks", "%s begins or ends with a blank", key)
	case len(s) > maxPersonBytes:
		rr.key("doc.frontmatter.type", key, "write a name", "%s has %d bytes, %d are allowed", key, len(s),
			maxPersonBytes)
	case placeholderRe.MatchString(s):
		rr.key("approval.missing", key, "write who it is; threegate approve fills in approver and time",
			"%s is %s, which names nobody", key, document.Quote(s))
	}
	return s
}

func (rr *requestReader) approvalTime(approved time.Time) {
	created := rr.req.CreatedUTC
	const layout = time.RFC3339
	switch {
	case !created.IsZero() && approved.Before(created):
		rr.key("approval.time", "approved_utc", "approve the request after it was written: threegate approve",
			"approved %s, before the request was created at %s", approved.Format(layout), created.Format(layout))
	case approved.After(rr.p.Now.Add(clockSkew)):
		rr.key("approval.time", "approved_utc", "approve it with the right clock: threegate approve",
			"approved %s, which lies in the future (now is %s)", approved.Format(layout), rr.p.Now.UTC().Format(layout))
	case rr.p.MaxApprovalAge > 0 && rr.p.Now.Sub(approved) > rr.p.MaxApprovalAge:
		rr.key("approval.age", "approved_utc", "review and approve it again: threegate approve",
			"approved %s, more than %s ago", approved.Format(layout), days(rr.p.MaxApprovalAge))
	}
}

func days(d time.Duration) string {
	if d >= 48*time.Hour && d%(24*time.Hour) == 0 {
		return strings.TrimSuffix((d/24).String(), "h0m0s") + " days"
	}
	return d.String()
}
