package desk

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
)

// trend counts what came of requests by day, and which rules refused.
type trend struct {
	dir    string
	record *ledger.Follower
	days   map[string]*day
	rules  map[string]map[string]int // by day
}

// day is what was decided on one day.
type day struct {
	Date                        string // 2006-01-02, UTC
	Delivered, Refused, Results int
}

const dateOnly = time.DateOnly

func newTrend(node *config.Node) *trend {
	t := &trend{dir: filepath.Join(node.Dir, spool.DirLedger)}
	t.restart()
	return t
}

func (t *trend) restart() {
	t.record, t.days, t.rules = ledger.Follow(t.dir), map[string]*day{}, map[string]map[string]int{}
}

// read reads on in the record.
func (t *trend) read() error {
	err := t.record.Read(t.note)
	if err != nil { // a gate may have taken back what it could not write: all of it once more
		t.restart()
		err = t.record.Read(t.note)
	}
	return err
}

func (t *trend) note(e ledger.Event) error {
	date := e.Time.UTC().Format(dateOnly)
	d := t.days[date]
	if d == nil {
		d = &day{Date: date}
		t.days[date], t.rules[date] = d, map[string]int{}
	}
	switch ledger.Announces(e) {
	case spool.StateDelivered:
		d.Delivered++
	case spool.StateRequestRefused:
		d.Refused++
	case spool.StateResultRefused:
		d.Results++
	default:
		return nil
	}
	for _, rule := range e.Rules {
		t.rules[date][rule]++
	}
	return nil
}

// last are the days up to now, the oldest first.
func (t *trend) last(now time.Time, n int) (days []day) {
	for i := n - 1; i >= 0; i-- {
		date := now.UTC().AddDate(0, 0, -i).Format(dateOnly)
		d := day{Date: date}
		if on := t.days[date]; on != nil {
			d = *on
		}
		days = append(days, d)
	}
	return days
}

// count is how often something was.
type count struct {
	Name string
	N    int
}

// most are the rules that refused most often in these days.
func (t *trend) most(days []day, n int) []count {
	sums := map[string]int{}
	for _, d := range days {
		for rule, times := range t.rules[d.Date] {
			sums[rule] += times
		}
	}
	var list []count
	for _, rule := range slices.Sorted(maps.Keys(sums)) {
		list = append(list, count{visible(rule), sums[rule]})
	}
	slices.SortStableFunc(list, func(a, b count) int { return cmp.Compare(b.N, a.N) })
	return list[:min(n, len(list))]
}
