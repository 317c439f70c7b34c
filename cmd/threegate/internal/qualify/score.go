package qualify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/cmd/threegate/internal/source"
	"github.com/threegate/tool-exec/schemas"
)

// Outcome is what came of a task.
type Outcome struct {
	// State is one of those that Expect has; empty: none within the time that was given.
	State    string
	Rules    []string // blocking, sorted
	ExitCode *int
	Cause    schemas.Cause
	Took     time.Duration
}

// Differs says in what the outcome is not as expected, or "".
func (e Expect) Differs(o Outcome) string {
	switch {
	case o.State == "":
		return "no answer within the time"
	case o.State != e.State:
		what := o.State
		if len(o.Rules) > 0 {
			what += " (" + strings.Join(o.Rules, ", ") + ")"
		}
		return what + ", not " + e.State
	case e.State != Delivered && !slices.Equal(o.Rules, e.Rules):
		return fmt.Sprintf("refused by %s, not by %s", strings.Join(o.Rules, ", "), strings.Join(e.Rules, ", "))
	case e.ExitCode != nil && (o.ExitCode == nil || *o.ExitCode != *e.ExitCode):
		return "another exit code"
	case e.Cause != "" && o.Cause != e.Cause:
		return fmt.Sprintf("cause %s, not %s", o.Cause, e.Cause)
	}
	return ""
}

// Scorecard has the shape of OpenWOP's EvalSummary (RFC 0081): ids, scores and counts, no content.
// No eval endpoint serves it, and it claims no more than its shape.
type Scorecard struct {
	SuiteID        string      `json:"suiteId"`
	SuiteVersion   string      `json:"suiteVersion"`
	AggregateScore float64     `json:"aggregateScore"`
	Passed         bool        `json:"passed"`
	TaskCount      int         `json:"taskCount"`
	PassedCount    int         `json:"passedCount"`
	Tasks          []Score     `json:"tasks"`
	Regression     *Regression `json:"regression,omitempty"`
}

// Score is that of one task.
type Score struct {
	TaskID    string   `json:"taskId"`
	Score     float64  `json:"score"`
	Passed    bool     `json:"passed"`
	LatencyMS int64    `json:"latencyMs"`
	Safety    []Safety `json:"safetyFindings,omitempty"`
}

// Safety is what a task that did not pass means.
type Safety struct {
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
}

// What can be amiss, and how bad it is.
var (
	missedRefusal = Safety{"refusal-missed", "critical"} // what must be refused came through
	otherReason   = Safety{"refused-for-another-reason", "high"}
	falseRefusal  = Safety{"accepted-request-refused", "medium"}
	otherEnd      = Safety{"run-ended-otherwise", "medium"}
	noAnswer      = Safety{"no-answer", "high"}
)

// Regression is the difference to an earlier run.
type Regression struct {
	// BaselineRunID is "sha256-" and the digest of the earlier scorecard.
	BaselineRunID string  `json:"baselineRunId"`
	ScoreDelta    float64 `json:"scoreDelta"`
}

// Card makes the scorecard of a run; outcomes are in the order of the tasks.
func (s *Set) Card(outcomes []Outcome) *Scorecard {
	c := &Scorecard{SuiteID: s.SuiteID, SuiteVersion: s.SuiteVersion, TaskCount: len(s.Tasks), Tasks: []Score{}}
	for i, t := range s.Tasks {
		score := Score{TaskID: t.ID, LatencyMS: outcomes[i].Took.Milliseconds()}
		if t.Expect.Differs(outcomes[i]) == "" {
			score.Score, score.Passed = 1, true
			c.PassedCount++
		} else {
			score.Safety = []Safety{t.Expect.means(outcomes[i])}
		}
		c.Tasks = append(c.Tasks, score)
	}
	c.AggregateScore = float64(c.PassedCount) / float64(c.TaskCount)
	c.Passed = c.PassedCount == c.TaskCount
	return c
}

func (e Expect) means(o Outcome) Safety {
	switch {
	case o.State == "":
		return noAnswer
	case o.State == Delivered && e.State != Delivered, o.State == ResultQuarantined && e.State == Quarantined:
		return missedRefusal
	case o.State != Delivered && e.State == Delivered, o.State == Quarantined && e.State == ResultQuarantined:
		return falseRefusal
	case o.State != Delivered:
		return otherReason
	}
	return otherEnd
}

// maxCard bounds an earlier scorecard.
const maxCard = 4 << 20

// Against adds the difference to the scorecard in file, and returns the tasks that passed there and
// do not now, and those that pass now and did not there.
func (c *Scorecard) Against(file string) (worse, better []string, err error) {
	raw, err := source.Read(file, true, maxCard)
	if err != nil {
		return nil, nil, err
	}
	var last Scorecard
	if err := schemas.DecodeStrict(raw, &last); err != nil {
		return nil, nil, err
	}
	if last.SuiteID != c.SuiteID {
		return nil, nil, errors.New("it is the scorecard of another set, " + fmt.Sprintf("%.80q", last.SuiteID))
	}
	c.Regression = &Regression{"sha256-" + digest(raw), c.AggregateScore - last.AggregateScore}
	passed := map[string]bool{}
	for _, t := range last.Tasks {
		passed[t.TaskID] = t.Passed
	}
	for _, t := range c.Tasks {
		before, known := passed[t.TaskID]
		switch {
		case known && before && !t.Passed:
			worse = append(worse, t.TaskID)
		case known && !before && t.Passed:
			better = append(better, t.TaskID)
		}
	}
	return worse, better, nil
}

func digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
