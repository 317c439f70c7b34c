package gate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/spool"
)

// Item is what the ledger tells of a quarantined item. What lies in its folder may have been
// changed since.
type Item struct {
	// Refused is the event that put it there.
	Refused ledger.Event
	// Rejected is the order of a person that ended it, if there is one.
	Rejected *ledger.Event
	// Dir is the item's folder.
	Dir string
}

// ErrNoItem says that a job is not in quarantine.
var ErrNoItem = errors.New("no such item in quarantine")

// ItemOf reads the record of a quarantined item of the node in dir.
func ItemOf(dir, job string) (*Item, error) {
	var it Item
	_, _, err := ledger.Read(filepath.Join(dir, spool.DirLedger), func(e ledger.Event) error {
		if e.RunID != job {
			return nil
		}
		switch to := Announces(e); {
		case to == spool.StateRequestRefused || to == spool.StateResultRefused:
			it = Item{Refused: e, Dir: filepath.Join(dir, string(to), job)}
		case to != "":
			it = Item{}
		case e.Type == ledger.QuarantineRejected:
			it.Rejected = &e
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if it.Dir == "" {
		return nil, ErrNoItem
	}
	if _, err := os.Lstat(it.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoItem
	} else if err != nil {
		return nil, err
	}
	return &it, nil
}

// rejectItem ends a quarantined item for good.
func (g *Gate) rejectItem(o *orders.Order, known bool) (deed, error) {
	if known {
		return deed{}, nil
	}
	it, err := ItemOf(g.config().Dir, o.Subject)
	switch {
	case errors.Is(err, ErrNoItem):
		return deed{}, orders.Refusef("%s is not in quarantine", spool.Quote(o.Subject))
	case err != nil:
		return deed{}, err
	case it.Rejected != nil:
		return deed{}, orders.Refusef("%s was rejected before, by %s", o.Subject, spool.Quote(it.Rejected.By))
	}
	e := it.Refused
	return deed{event: ledger.Event{Type: ledger.QuarantineRejected, RunID: e.RunID, RequestID: e.RequestID,
		RequestSHA256: e.RequestSHA256, Rules: e.Rules}}, nil
}
