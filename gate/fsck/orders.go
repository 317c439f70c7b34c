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

const (
	mendOrder = "restore the file from a backup, and find out who may write there"
	hintOrder = "move it out of the node, and find out who may write there"
)

// Kinds of files in orders/done, by their ending.
var orderFiles = []string{".json", ".sig", ".answer"}

// givenOrders wants orders/done to hold what is on record: each order that was carried out or refused, its signature
// and what came of it, and nothing else.
func (n *node) givenOrders() {
	dir := n.path(spool.DirOrdersDone)
	es, err := os.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // an older node has none
			n.unreadable("", dir, err)
		}
		return
	}
	undone, err := spool.NewOrders(n.cfg.Dir, nil).Unanswered()
	if err != nil {
		n.unreadable("", dir, err)
		return
	}
	there := map[string]map[string]string{}
	for _, e := range es {
		kind := filepath.Ext(e.Name())
		stem := strings.TrimPrefix(strings.TrimSuffix(e.Name(), kind), ".")
		if strings.HasPrefix(stem, "or-") || spool.IsTemporary(e.Name()) {
			continue // a start takes over what an older node keeps by other names
		}
		if !slices.Contains(orderFiles, kind) {
			n.strangeOrder(filepath.Join(dir, e.Name()), "no event tells of this file")
			continue
		}
		sum, err := durable.Digest(filepath.Join(dir, e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			n.unreadable("", filepath.Join(dir, e.Name()), err)
		}
		if there[stem] == nil {
			there[stem] = map[string]string{}
		}
		there[stem][kind] = sum
		switch path := filepath.Join(dir, e.Name()); {
		case n.orders[stem] != nil:
		case slices.Contains(undone, stem): // it was about to be decided: the next start decides it anew
			n.report.Pending = append(n.report.Pending, path)
		default:
			n.strangeOrder(path, "no event tells of this order")
		}
	}
	for _, sum := range slices.Sorted(maps.Keys(n.orders)) {
		n.order(filepath.Join(dir, sum), sum, n.orders[sum], there[sum])
	}
}

func (n *node) strangeOrder(path, what string) {
	if n.blind {
		n.unjudged("", path, what)
	} else {
		n.found(CheckRecord, "", path, hintOrder, "%s", what)
	}
}

// order compares one that is on record with what is kept of it: path is that of its files, without their endings.
func (n *node) order(path, sum string, o *ordered, there map[string]string) {
	e := o.event
	unkept := e.OrderBytes != nil
	wrong := func(kind, format string, args ...any) {
		n.found(CheckRecord, "", path+kind, mendOrder, format, args...)
	}
	switch {
	case o.pruned:
		for kind := range there {
			n.leftover("", path+kind, "the order was pruned, and its removal was cut off; threegate prune goes on, too")
		}
		return
	case e.Answer == "":
		n.oldOrder(sum, path, o, there)
		return
	case unkept && there[".json"] != "":
		n.strangeOrder(path+".json", "what the record has as no order, and as not kept, lies here")
	case !unkept && there[".json"] == "":
		wrong(".json", "an order that is on record is gone: sha256 %s", sum)
	case !unkept && there[".json"] != sum:
		wrong(".json", "the order was replaced: its sha256 was %s and is %s now", sum, there[".json"])
	}
	switch got := there[".sig"]; {
	case got == e.Signature:
		if there[".json"] == sum {
			n.signedOrder(path, o)
		}
	case e.Signature == "":
		n.strangeOrder(path+".sig", "the record has no signature of this order")
	case got == "":
		wrong(".sig", "the signature of an order is gone: sha256 %s", e.Signature)
	default:
		wrong(".sig", "the signature of an order was replaced: its sha256 was %s and is %s now", e.Signature, got)
	}
	switch got := there[".answer"]; {
	case got == "":
		wrong(".answer", "the answer to an order is gone")
	case got != e.Answer:
		wrong(".answer", "the answer to an order was changed: its sha256 was %s and is %s now", e.Answer, got)
	}
}

// signedOrder wants an order to be what its event says, and its signature to be valid, if the node wanted one.
func (n *node) signedOrder(path string, by *ordered) {
	raw, err := durable.ReadRegular(path+".json", spool.MaxOrderBytes)
	sig, noSig := durable.ReadRegular(path+".sig", spool.MaxSignatureBytes)
	if err != nil || noSig != nil && !errors.Is(noSig, fs.ErrNotExist) {
		return
	}
	o, err := orders.Decode(raw)
	if err != nil {
		return
	}
	if e := by.event; e.Type != ledger.OrderRefused && !o.Fits(e) {
		n.found(CheckRecord, e.RunID, path+".json", mendOrder,
			"event %d, %s of %s, names this order, and the order says something else: %s of %s", e.Seq, e.Type,
			spool.Quote(e.RunID), o.Kind, spool.Quote(o.Subject))
	}
	n.orderSignature(path+".json", &o, raw, sig, by)
}

// oldOrder compares an order of an older node, which has neither signature nor answer on record.
func (n *node) oldOrder(sum, path string, o *ordered, there map[string]string) {
	if there[".json"] != sum {
		if !n.oldOrders()[sum] {
			n.found(CheckRecord, "", filepath.Dir(path), mendOrder,
				"an order that is on record is gone, or was changed: sha256 %s", sum)
		}
		return
	}
	n.signedOrder(path, o)
	what := ""
	switch a, err := orders.AnswerOf(n.cfg.Dir, sum); {
	case err != nil:
		what = fmt.Sprintf("its answer can't be read: %v", err)
	case a == nil:
		what = "its answer is gone"
	case a.SHA256 != sum || (a.Refused != "") != (o.event.Type == ledger.OrderRefused):
		what = "its answer does not say what the ledger has for it"
	}
	if what != "" {
		n.found(CheckRecord, "", path+".answer", mendOrder, "%s", what)
	}
}

// oldOrders are the digests of what an older node keeps by the names of orders, and of what waits.
func (n *node) oldOrders() map[string]bool {
	seen := map[string]bool{}
	for _, folder := range []string{spool.DirOrders, spool.DirOrdersDone} {
		found, _ := filepath.Glob(n.path(folder) + "/or-*.json") // it is a pattern
		for _, path := range found {
			if sum, err := durable.Digest(path); err == nil {
				seen[sum] = true
			}
		}
	}
	return seen
}
