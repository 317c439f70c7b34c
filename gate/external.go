package gate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/filter"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate/channel"
)

// ruleExternal is the rule of what filters find.
const ruleExternal = "result.external"

// filterTries is how often a result is held for a filter that does not answer, before it is
// refused: about ten minutes, as the pauses grow to one.
const filterTries = 15

// FilterRecord is the content of ledger.FileFilters: what the filters answered about a job's
// output, so that none is asked twice about the same text.
type FilterRecord struct {
	Version int            `json:"version"`
	Answers []FilterAnswer `json:"answers"`
	// Tries is how often a filter did not answer.
	Tries int `json:"tries,omitempty"`
}

// FilterAnswer is what one filter found in one text.
type FilterAnswer struct {
	Filter   string           `json:"filter"`
	SHA256   string           `json:"sha256"`
	Findings []filter.Finding `json:"findings"`
}

// filters asks the node's filters about the output of one job; nil asks none.
type filters struct {
	ctx    context.Context
	j      *spool.Job
	result string // its id
	list   []filter.Filter
	record FilterRecord
	known  map[string][]filter.Finding // by filter and digest
	// failed is why a filter did not answer. No other is asked then.
	failed error
}

func openFilters(ctx context.Context, j *spool.Job, result string, from []config.External) (*filters, error) {
	f := &filters{ctx: ctx, j: j, result: result, record: FilterRecord{Version: recordVersion},
		known: map[string][]filter.Finding{}}
	for _, e := range from {
		f.list = append(f.list, Filter(e))
	}
	if len(f.list) == 0 {
		return f, nil
	}
	err := readRecord(j, ledger.FileFilters, &f.record, &f.record.Version)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, a := range f.record.Answers {
		f.known[a.Filter+" "+a.SHA256] = a.Findings
	}
	return f, nil
}

// Filter is the filter that an entry of the configuration means.
func Filter(e config.External) filter.Filter {
	return filter.Filter{Name: e.Name, Socket: e.Socket, Command: e.Command,
		Timeout: cmp.Or(e.Timeout, config.DefaultFilterTimeout)}
}

// names are the names of the filters.
func (f *filters) names() (names []string) {
	for _, e := range f.list {
		names = append(names, e.Name)
	}
	return names
}

// filterOverlap is how much of a part of a channel the next part repeats.
const filterOverlap = 16 << 10

// judgeChannel asks every filter about a channel of size bytes. It returns the places that are
// withheld and those that refuse the result. An error is that of r; that a filter did not
// answer shows at the end.
func (f *filters) judgeChannel(name string, r io.ReaderAt, size int64) (withheld, refused []channel.Span, err error) {
	if len(f.list) == 0 {
		return nil, nil, nil
	}
	part := make([]byte, min(size, filter.MaxText))
	for at := int64(0); at < size && f.failed == nil; {
		n, err := r.ReadAt(part, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, fmt.Errorf("read what filters judge: %w", err)
		}
		q := filter.Question{Result: f.result, Channel: name, Offset: at, Text: part[:n]}
		for _, e := range f.list {
			for _, found := range f.ask(e, q) {
				s := channel.Span{Rule: ruleExternal, What: e.Name + ": " + found.Reason,
					From: int(at) + found.From, To: int(at) + found.To}
				if found.Refuses() {
					refused = append(refused, s)
				} else {
					withheld = append(withheld, s)
				}
			}
		}
		if err != nil || at+int64(n) >= size { // nothing is behind it
			break
		}
		at += int64(n) - filterOverlap
	}
	return withheld, refused, nil
}

// ask asks one filter, unless it is known what it answers.
func (f *filters) ask(e filter.Filter, q filter.Question) []filter.Finding {
	sum := sha256.Sum256(q.Text)
	sha := hex.EncodeToString(sum[:])
	key := e.Name + " " + sha
	if found, ok := f.known[key]; ok || f.failed != nil {
		return found
	}
	found, err := e.Ask(f.ctx, q)
	if err != nil {
		f.failed = err
		return nil
	}
	f.known[key] = found
	f.record.Answers = append(f.record.Answers, FilterAnswer{Filter: e.Name, SHA256: sha, Findings: found})
	return found
}

// end keeps the answers. If a filter did not answer, the error says so, and the result is
// held; after filterTries the finding refuses it.
func (f *filters) end() (*schemas.Finding, error) {
	if len(f.list) == 0 {
		return nil, nil
	}
	if f.failed != nil {
		if f.ctx.Err() != nil { // the node stops
			return nil, f.ctx.Err()
		}
		f.record.Tries++
	}
	if err := writeRecord(f.j, ledger.FileFilters, f.record); err != nil || f.failed == nil {
		return nil, err
	}
	if f.record.Tries < filterTries {
		return nil, executors.WithHint(f.failed, cmp.Or(executors.HintOf(f.failed), "start that filter, or correct "+
			"results.external in "+config.FileName+" and reload the node"))
	}
	return &schemas.Finding{Rule: ruleExternal, Severity: schemas.SeverityBlocking,
		Message: fmt.Sprintf("tried %d times: %s", f.record.Tries, f.failed),
		Hint:    "mend that filter; threegate doctor tries it"}, nil
}

// judgeQuotes asks every filter about the words of others that the result would hold.
func (f *filters) judgeQuotes(in *result.Input) {
	if len(f.list) == 0 {
		return
	}
	in.Filtered = map[result.Quote]result.Filtered{}
	for _, q := range result.Quoted(*in) {
		withheld, refused, _ := f.judgeChannel(q.Channel, strings.NewReader(q.Text), int64(len(q.Text)))
		if all := slices.Concat(refused, withheld); len(all) > 0 {
			in.Filtered[q] = result.Filtered{Why: all[0], Refuse: len(refused) > 0}
		}
	}
}

// TryFilter asks a filter about a harmless line. The error says what is wrong with it.
func TryFilter(ctx context.Context, e config.External) (took time.Duration, err error) {
	start := time.Now()
	_, err = Filter(e).Ask(ctx, filter.Question{Result: "TS-doctor", Channel: "doctor", Text: []byte("4 rows read\n")})
	return time.Since(start), err
}
