//go:build real

package accuracy_test

import (
	"bytes"
	"runtime"
	"slices"
	"sync"

	"github.com/threegate/tool-exec/validate/channel"
	"github.com/threegate/tool-exec/validate/secrets"
)

// What becomes of a channel's text.
type fate int

const (
	passed fate = iota
	withheld
	refused
)

func (f fate) String() string { return [...]string{"passed", "withheld", "refused"}[f] }

// found is one place that a rule names.
type found struct {
	rule, what  string
	fate        fate
	offset, end int
}

const ruleSecrets = "secrets.scan"

// judgeText says what becomes of text as a stream of a result, by the functions by which the
// renderer and then the rules for results decide it.
func judgeText(text []byte) (out fate, fs []found) {
	v := channel.Judge(text, nil)
	for _, s := range v.Withheld {
		fs = append(fs, found{s.Rule, s.What, withheld, s.From, s.To})
		out = withheld
	}
	for _, s := range v.Refused {
		fs = append(fs, found{s.Rule, s.What, refused, s.From, s.To})
	}
	if len(v.Refused) > 0 || v.TooMuch(false) {
		out = refused
	}
	ms := secrets.Scan(text)
	for _, m := range ms {
		fs = append(fs, found{ruleSecrets, m.Rule + " " + m.Masked, withheld, m.Offset, m.End})
		out = max(out, withheld)
	}
	if secrets.IsDump(ms) {
		out = refused
	}
	slices.SortStableFunc(fs, func(a, b found) int { return a.offset - b.offset })
	return out, fs
}

// lineOf is the number of the line, from 0, that offset lies in.
func lineOf(text []byte, offset int) int {
	return bytes.Count(text[:min(offset, len(text))], []byte("\n"))
}

// textVerdict is what came of one text.
type textVerdict struct {
	fate  fate
	found []found
}

func judgeTexts[T any](ts []T, text func(T) []byte) []textVerdict {
	out := make([]textVerdict, len(ts))
	var done sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		done.Go(func() {
			for i := range next {
				out[i].fate, out[i].found = judgeText(text(ts[i]))
			}
		})
	}
	for i := range ts {
		next <- i
	}
	close(next)
	done.Wait()
	return out
}
