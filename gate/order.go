package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate/approval"
)

// OrderKind is what a person orders of a node.
type OrderKind string

// The kinds. carryOut does what each asks for.
const (
	// OrderReject ends a quarantined item for good.
	OrderReject OrderKind = "quarantine.reject"
)

// OrderNamespace is what the signature of an order must be made for.
const OrderNamespace = "threegate-order"

// orderVersion is the version of the form of orders and answers.
const orderVersion = 1

// Order is one order of a person. Its file is a JSON object of exactly these keys. The sha256 of
// its bytes names it in the ledger.
type Order struct {
	Version int `json:"order_version"`
	// Name is that of its file, so that no order can be given a second time.
	Name string    `json:"name"`
	Kind OrderKind `json:"kind"`
	// Subject is the id of what it is about.
	Subject string `json:"subject"`
	// By is the person's name, Reason their words.
	By         string    `json:"by"`
	Reason     string    `json:"reason"`
	OrderedUTC time.Time `json:"ordered_utc"`
}

// Bounds of an order.
const (
	maxOrderName   = 200
	maxOrderReason = 2000
)

// check says what is wrong with an order that was given under name, or "".
func (o *Order) check(name string) string {
	switch {
	case o.Version != orderVersion:
		return fmt.Sprintf("it has version %d; this node knows %d", o.Version, orderVersion)
	case o.Name != name:
		return "it was given under another name before"
	case !plainText(o.By) || o.By == "" || len(o.By) > maxOrderName:
		return "it does not say whose it is: by is one line of at most 200 bytes"
	case !plainText(o.Reason) || strings.TrimSpace(o.Reason) == "" || len(o.Reason) > maxOrderReason:
		return "it gives no reason: reason is one line of at most 2000 bytes"
	}
	return ""
}

// plainText reports whether a text is one line without hidden characters.
func plainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// OrderAnswer is what came of an order.
type OrderAnswer struct {
	Version int    `json:"answer_version"`
	Order   string `json:"order"`
	// SHA256 is the digest of the order's bytes, as in the ledger.
	SHA256 string `json:"order_sha256,omitempty"`
	// Refused says why nothing was done; it is empty if the order was carried out.
	Refused     string    `json:"refused,omitempty"`
	AnsweredUTC time.Time `json:"answered_utc"`
}

// GiveOrder puts an order into the folder of the node, and returns its name. Name, version and time are
// set here. sign makes a signature for OrderNamespace; it may be nil.
func GiveOrder(cfg *config.Loaded, o Order, now time.Time, sign func(order []byte) ([]byte, error)) (string, error) {
	orders := spool.NewOrders(cfg.Dir, nil)
	for {
		var err error
		if o.Name, err = orders.NextName(now); err != nil {
			return "", err
		}
		o.Version, o.OrderedUTC = orderVersion, now.UTC()
		if why := o.check(o.Name); why != "" {
			return "", fmt.Errorf("the order: %s", why)
		}
		raw, err := json.MarshalIndent(o, "", "  ")
		if err != nil {
			return "", err
		}
		raw = append(raw, '\n')
		var sig []byte
		if sign != nil {
			if sig, err = sign(raw); err != nil {
				return "", err
			}
		}
		err = orders.Put(o.Name, raw, sig)
		if errors.Is(err, fs.ErrExist) {
			continue // somebody else was faster
		}
		return o.Name, err
	}
}

// OrderAnswerOf is what came of an order, or nil while it waits.
func OrderAnswerOf(cfg *config.Loaded, name string) (*OrderAnswer, error) {
	raw, err := spool.NewOrders(cfg.Dir, nil).Answer(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var a OrderAnswer
	if err == nil {
		err = schemas.DecodeStrict(raw, &a)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer to order %s: %w", name, err)
	}
	return &a, nil
}

// takeOrders carries out what people order, one after the other, until ctx ends.
func (g *Gate) takeOrders(ctx context.Context, fatal chan<- error) {
	wake := g.orders.Watch(ctx, g.config().Node.Sweep)
	for ctx.Err() == nil {
		err := g.carryOutAll(ctx)
		switch {
		case err == nil:
			g.troubles.clear(troubleOrders)
			select {
			case <-ctx.Done():
			case <-wake:
			}
		case unknown(err):
			offer(fatal, err)
			return
		default:
			t := g.trouble(troubleOrders, "orders can't be carried out", err)
			wait := g.troubles.set(t)
			g.log.Error("orders are held up, will be tried again", "error", err, "mend", t.Mend, "again_in", wait)
			sleep(ctx, wait)
		}
	}
}

func (g *Gate) carryOutAll(ctx context.Context) error {
	for {
		names, err := g.orders.Pending()
		if err != nil || len(names) == 0 {
			return err
		}
		for _, name := range names {
			if ctx.Err() != nil {
				return nil
			}
			if err := g.order(name); err != nil {
				return fmt.Errorf("order %s: %w", name, err)
			}
		}
	}
}

// deed is what an order comes to: the event that is recorded first, unless it is on record. Then act
// is called, which can be called again after a crash. It may be nil.
type deed struct {
	event ledger.Event
	act   func() error
}

// refusal is why an order is not carried out, in words for the person who gave it.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuseOrder(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// order carries out one order, or refuses it. One that is on record is only brought to its end.
func (g *Gate) order(name string) error {
	raw, sig, err := g.orders.Read(name)
	answer := OrderAnswer{Version: orderVersion, Order: name, AnsweredUTC: g.now().UTC()}
	var o Order
	var why refusal
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // whoever gave it took it back
	case err == nil:
		sum := sha256.Sum256(raw)
		answer.SHA256 = hex.EncodeToString(sum[:])
		o, err = g.carryOut(name, raw, sig, answer.SHA256)
	case errors.Is(err, spool.ErrNoOrder):
		why = refusal(err.Error())
	}
	if err != nil && why == "" && !errors.As(err, &why) {
		return err
	}
	if answer.Refused = string(why); why != "" {
		if _, known := g.journal.ordered(answer.SHA256); !known {
			if err := g.record(ledger.Event{Type: ledger.OrderRefused, Order: answer.SHA256}); err != nil {
				return err
			}
		}
	}
	b, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		return err
	}
	g.log.Info("an order was answered", "order", name, "kind", spool.Quote(string(o.Kind)),
		"subject", spool.Quote(o.Subject), "refused", answer.Refused)
	return g.orders.Finish(name, append(b, '\n'))
}

// carryOut does what an order asks for. An error that is a refusal says why nothing was done.
func (g *Gate) carryOut(name string, raw, sig []byte, digest string) (Order, error) {
	was, known := g.journal.ordered(digest)
	o, err := g.readOrder(name, raw, sig, known)
	if err != nil {
		return o, err
	}
	if was == ledger.OrderRefused {
		return o, refuseOrder("it could not be carried out when it came; if that is no longer so, give it again")
	}
	var d deed
	switch o.Kind {
	case OrderReject:
		d, err = g.rejectItem(&o, known)
	default:
		err = refuseOrder("there is no order %s", spool.Quote(string(o.Kind)))
	}
	if err == nil && !known {
		d.event.Order, d.event.By = digest, o.By
		err = g.record(d.event)
	}
	if err == nil && d.act != nil {
		err = d.act()
	}
	return o, err
}

// readOrder reads an order and wants it to be of somebody who may give it, unless that was found
// before.
func (g *Gate) readOrder(name string, raw, sig []byte, known bool) (Order, error) {
	var o Order
	if err := schemas.DecodeStrict(raw, &o); err != nil {
		return o, refuseOrder("it can't be read: %v", err)
	}
	if why := o.check(name); why != "" {
		return o, refusal(why)
	}
	if known {
		return o, nil
	}
	p := g.config().Policy(g.now())
	if len(p.Approvers) > 0 && !slices.Contains(p.Approvers, o.By) {
		return o, refuseOrder("%s is none of the node's approvers", spool.Quote(o.By))
	}
	if !p.RequireSignature {
		return o, nil
	}
	if len(sig) == 0 {
		return o, refuseOrder("this node wants a signature of %s, and there is none", spool.Quote(o.By))
	}
	if err := approval.VerifyFor(OrderNamespace, p.AllowedSigners, o.By, raw, sig, p.Now); err != nil {
		return o, refuseOrder("the signature is not valid for %s: %v", spool.Quote(o.By), err)
	}
	return o, nil
}
