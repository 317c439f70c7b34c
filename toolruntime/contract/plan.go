package contract

import (
	"bytes"
	"errors"
	"fmt"
)

// ReadPlan reads a plan: one ToolRequest a line. Whether tools take the arguments is not looked at.
func ReadPlan(data []byte) (requests []*ToolRequest, err error) {
	n := 0
	for line := range bytes.Lines(data) {
		if n++; len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		v, err := Decode(bytes.TrimRight(line, "\n"))
		r, ok := v.(*ToolRequest)
		if err == nil && !ok {
			err = errors.New("a plan holds ToolRequests only")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		requests = append(requests, r)
	}
	return requests, nil
}

// CompareTimeline holds a timeline to the plan of its run: it computes each args_hash anew. It returns what
// differs, a sentence each. With ended, threegate-tools came to its end, so only a call that failed explains
// a timeline that is shorter than its plan.
func CompareTimeline(plan []*ToolRequest, entries []Entry, ended bool) (differ []string) {
	complain := func(format string, args ...any) { differ = append(differ, fmt.Sprintf(format, args...)) }
	for i, e := range entries {
		if i >= len(plan) {
			complain("the timeline has %d calls, the plan %d", len(entries), len(plan))
			break
		}
		hash, err := ArgsHash(plan[i].Args)
		switch {
		case err != nil:
			complain("call %d: the arguments in the plan have no hash: %v", i+1, err)
		case plan[i].Tool != e.Tool:
			complain("call %d: the plan has %s, the timeline %s", i+1, plan[i].Tool, e.Tool)
		case hash != e.ArgsHash:
			complain("call %d: %s has other arguments in the plan", i+1, e.Tool)
		}
	}
	if n := len(entries); ended && n < len(plan) && (n == 0 || entries[n-1].Code == CodeOK) {
		complain("the timeline ends after %d of %d calls, and no failure says why", n, len(plan))
	}
	return differ
}
