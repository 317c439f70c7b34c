// Package validate turns the bytes of a request or a result into a typed
// document and findings. It is pure: no clock, disk or network of its own. Its
// input is hostile; every size is bounded before it is read.
package validate

import (
	"slices"
	"time"

	"github.com/threegate/tool-exec/schemas"
)

// Policy is what a node allows. It is the only thing besides the bytes that a
// verdict depends on: same bytes, same Policy, same findings.
type Policy struct {
	// Now judges approval times.
	Now time.Time
	// MaxRequestBytes and MaxResultBytes bound a document before it is parsed.
	MaxRequestBytes, MaxResultBytes int64
	// Languages are the ERA languages that the node has an image for; empty
	// means that any language but a shell is accepted.
	Languages []string
	// Programs are what the image of a language has on its PATH. A language that is not there has any.
	Programs map[string][]string
	// Egress says that the node can offer an allowlisted network to
	// AllowedDomains. Without it a request for one is refused, except that
	// AnyNode turns that into a warning.
	Egress         bool
	AllowedDomains []string
	// AnyNode judges a document without a node at hand (lint without a config).
	AnyNode bool
	// The node's maxima.
	MaxMilliCPU, MaxMemoryMB, MaxTimeSec int
	MaxInputs, MaxOutputs                int
	MaxInputBytes                        int64
	// Unapproved leaves out the rules about approver and time of approval: nobody has approved the request yet.
	Unapproved bool
	// Approvers are the names that may approve; empty means anybody named.
	Approvers []string
	// Forbidden are patterns of names that may not: machines have them (approval.Machine).
	Forbidden []string
	// MaxApprovalAge of 0 means no limit.
	MaxApprovalAge    time.Duration
	AllowSelfApproval bool
	// RequireSignature wants an OpenSSH signature, checked with AllowedSigners
	// (the text of an allowed_signers file).
	RequireSignature bool
	AllowedSigners   []byte
	// MinApprovers counts persons whose signatures verify.
	MinApprovers MinApprovers
	// RequirePlan wants a signed plan next to the signature.
	RequirePlan bool
	// ShellAllow are regular expressions; when present, one must match the command line.
	ShellAllow []string
	// Strict refuses a result where something would be withheld from it.
	Strict bool
	// ArtifactTypes are the names of schemas.ArtifactTypes that may be delivered.
	ArtifactTypes []string
	// MaxStreamLines is how many lines of a stream a result shows.
	MaxStreamLines int
	// Released is what a person took back of an earlier judgement of the same job, and nothing else.
	Released []schemas.Release
	// Levels raises (never lowers a Must) the level of rules.
	Levels map[string]schemas.Severity
}

// DefaultPolicy is the policy of a node without configuration, at time now.
func DefaultPolicy(now time.Time) Policy {
	return Policy{
		Now:             now,
		MaxRequestBytes: schemas.DefaultRequestKB << 10,
		MaxResultBytes:  2 << 20,
		MaxMilliCPU:     schemas.DefaultMilliCPU,
		MaxMemoryMB:     schemas.DefaultMemoryMB,
		MaxTimeSec:      schemas.DefaultTimeSec,
		MaxInputs:       schemas.DefaultInputFiles,
		MaxOutputs:      schemas.DefaultOutputs,
		MaxInputBytes:   schemas.DefaultInputsMB << 20,
		MaxApprovalAge:  schemas.DefaultApprovalAge,
		Forbidden:       DefaultForbidden(),
		MaxStreamLines:  schemas.DefaultStreamLines,
		ArtifactTypes:   schemas.DefaultArtifactTypes(),
	}
}

var severityRank = map[schemas.Severity]int{schemas.SeveritySuggestion: 1, schemas.SeverityWarning: 2,
	schemas.SeverityBlocking: 3}

// severities sets the levels that the policy gives and sorts. A level is never
// lowered below that of a finding whose rule a normative text demands.
func (p Policy) severities(fs []schemas.Finding) []schemas.Finding {
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

// ToolLanguages are the Languages whose image can run Monty programs that call tools, as far as is known.
func (p *Policy) ToolLanguages() []string {
	return slices.DeleteFunc(slices.Clone(p.Languages), func(language string) bool {
		programs, known := p.Programs[language]
		return schemas.PlainMonty(language) ||
			known && !(slices.Contains(programs, "monty") && slices.Contains(programs, "threegate-tools"))
	})
}
