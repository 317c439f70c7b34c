package contract

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"
)

// TimelineEnv names the variable that holds the number of an inherited descriptor: what is written there is the
// record that no program of the sandbox can change.
const TimelineEnv = "THREEGATE_TIMELINE_FD"

// Bounds of a timeline. One write is at most a line, which a pipe takes whole or not at all.
const (
	MaxCalls    = 10_000
	maxEntry    = 400
	MaxTimeline = MaxCalls * maxEntry
)

// CodeOK stands for success, next to the error codes.
const CodeOK = "OK"

// Entry is one line of a timeline, the record of tool calls, which holds neither arguments nor content. ArgsHash is the
// SHA-256 of the call's arguments as RFC 8785 JSON. Times are seconds since 1970. Bytes counts arguments and result.
type Entry struct {
	Tool     string  `json:"tool"`
	ArgsHash string  `json:"args_hash"`
	StartTS  float64 `json:"start_ts"`
	EndTS    float64 `json:"end_ts"`
	Code     string  `json:"code"`
	Bytes    int64   `json:"bytes"`
}

var (
	toolRule = regexp.MustCompile(toolPattern)
	hashRule = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Encode is the entry's line.
func (e Entry) Encode() ([]byte, error) { return Encode(e) }

// check says what of an entry can't be.
func (e Entry) check() error {
	known := e.Code == CodeOK || slices.ContainsFunc(Codes, func(c CodeInfo) bool {
		return string(c.Code) == e.Code
	})
	late := func(t float64) bool { return math.Signbit(t) || t > 1<<53 }
	switch {
	case !toolRule.MatchString(e.Tool):
		return fmt.Errorf("%q is no name of a tool", e.Tool)
	case !hashRule.MatchString(e.ArgsHash):
		return fmt.Errorf("args_hash is no SHA-256 in hex")
	case !known:
		return fmt.Errorf("%q is no code", e.Code)
	case late(e.StartTS), late(e.EndTS), e.Bytes < 0:
		return fmt.Errorf("a number is out of bounds")
	}
	return nil
}

// ParseTimeline reads a timeline, which comes from a sandbox and is hostile. Each line must be as Encode writes it. An
// error names the first line that is not; the entries before it are returned all the same.
func ParseTimeline(data []byte) ([]Entry, error) {
	var entries []Entry
	for line := range bytes.Lines(data) {
		n := len(entries) + 1
		if n > MaxCalls || len(line) > maxEntry {
			return entries, fmt.Errorf("line %d: more than a timeline has", n)
		}
		var e Entry
		err := json.Unmarshal(line, &e, json.RejectUnknownMembers(true))
		if err == nil {
			err = e.check()
		}
		if err != nil {
			return entries, fmt.Errorf("line %d: %w", n, err)
		}
		if again, err := e.Encode(); err != nil || !bytes.Equal(again, line) {
			return entries, fmt.Errorf("line %d: it is not spelled as threegate-tools does", n)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// CountCodes counts calls by their code.
func CountCodes(entries []Entry) map[string]int {
	n := map[string]int{}
	for _, e := range entries {
		n[e.Code]++
	}
	return n
}
