package fsck

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

const mendOrder = "restore the file from a backup, and find out who may write there"

// givenOrders wants each order that was carried out or refused to be the one on record, with an answer
// that says the same.
func (n *node) givenOrders() {
	seen := map[string]bool{}
	for _, folder := range []string{spool.DirOrders, spool.DirOrdersDone} {
		dir := n.path(folder)
		es, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // an older node has none
			n.unreadable("", dir, err)
			return
		}
		for _, e := range es {
			name, isOrder := strings.CutSuffix(e.Name(), ".json")
			fi, err := e.Info()
			if !isOrder || err != nil || !fi.Mode().IsRegular() || fi.Size() > spool.MaxOrderBytes {
				continue // what can't be an order was refused without a digest
			}
			path := filepath.Join(dir, e.Name())
			sum, err := durable.Digest(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				n.unreadable("", path, err)
			}
			seen[sum] = true
			if err == nil && folder == spool.DirOrdersDone {
				n.orderDone(path, name, sum)
			}
		}
	}
	for _, sum := range slices.Sorted(maps.Keys(n.orders)) {
		if !seen[sum] {
			n.found(CheckRecord, "", n.path(spool.DirOrdersDone), mendOrder,
				"an order that is on record is gone, or was changed: sha256 %s", sum)
		}
	}
}

// orderDone looks at one order that was carried out or refused.
func (n *node) orderDone(path, name, sum string) {
	by, known := n.orders[sum]
	if !known {
		const what = "no event tells of this order"
		if n.blind {
			n.unjudged("", path, what)
		} else {
			n.found(CheckRecord, "", path, mendOrder, what)
		}
		return
	}
	raw, sig, err := spool.NewOrders(n.cfg.Dir, nil).Read(name)
	if err == nil {
		if o, noOrder := orders.Read(name, raw); noOrder == nil {
			n.orderSignature(path, &o, raw, sig, by)
		}
	}
	a, err := orders.AnswerOf(n.cfg.Dir, name)
	what := ""
	switch {
	case err != nil:
		what = fmt.Sprintf("its answer can't be read: %v", err)
	case a == nil:
		what = "its answer is gone"
	case a.SHA256 != sum || (a.Refused != "") != (by.event.Type == ledger.OrderRefused):
		what = "its answer does not say what the ledger has for it"
	}
	if what != "" {
		n.found(CheckRecord, "", strings.TrimSuffix(path, ".json")+".answer", mendOrder, "%s", what)
	}
}
