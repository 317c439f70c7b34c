package gate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/threegate/tool-exec/gate/access"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/recheck"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/spool"
)

// takeOrders carries out what people order, one after the other, until ctx ends.
func (g *Gate) takeOrders(ctx context.Context, fatal chan<- error) {
	wake := g.orders.Watch(ctx, g.config().Node.Sweep)
	for ctx.Err() == nil {
		err := g.carryOutAll(ctx)
		var again <-chan time.Time
		switch {
		case err == nil:
			g.troubles.Clear(troubleOrders)
		case unknown(err):
			offer(fatal, err)
			return
		default:
			t := g.trouble(troubleOrders, "orders can't be carried out", err)
			wait := g.troubles.Set(t)
			g.log.Error("orders are held up, will be tried again", "error", err, "mend", t.Hint, "again_in", wait)
			again = time.After(wait)
		}
		select {
		case <-ctx.Done():
		case <-wake:
		case <-again:
		}
	}
}

// carryOutAll carries out the orders that wait. One that fails holds up those about the same, and no others.
func (g *Gate) carryOutAll(ctx context.Context) (failed error) {
	names, err := g.orders.Pending()
	if err != nil {
		return err
	}
	held := map[string]bool{}
	for _, name := range names {
		if ctx.Err() != nil {
			return nil
		}
		subject, err := g.order(ctx, name, held)
		if unknown(err) {
			return err
		} else if err != nil {
			held[subject] = true
			failed = cmp.Or(failed, fmt.Errorf("order %s: %w", name, err))
		}
	}
	return failed
}

// orderEffect is what an order comes to: the event that is recorded first, unless it is on record. Then act
// is called, which can be called again after a crash. It may be nil.
type orderEffect struct {
	event ledger.Event
	act   func() error
}

// order carries out one order, or refuses it. One that is on record is only brought to its end; one about what is held
// is left for later.
func (g *Gate) order(ctx context.Context, name string, held map[string]bool) (subject string, err error) {
	raw, sig, err := g.orders.Read(name)
	answer := orders.Answer{Order: name, AnsweredUTC: g.now().UTC()}
	o, noOrder := orders.Read(name, raw)
	subject = strings.ToLower(o.Subject)
	var why orders.Refusal
	switch {
	case errors.Is(err, fs.ErrNotExist): // whoever gave it took it back
		return subject, nil
	case err == nil && noOrder == nil && held[subject]:
		return subject, nil
	case err == nil:
		sum := sha256.Sum256(raw)
		answer.SHA256 = hex.EncodeToString(sum[:])
		o, err = g.carryOut(ctx, name, raw, sig, answer.SHA256)
	case errors.Is(err, spool.ErrNoOrder):
		why = orders.Refusal(err.Error())
	}
	if err != nil && why == "" && !errors.As(err, &why) {
		return subject, err
	}
	if answer.Refused = string(why); why != "" {
		if _, known := g.journal.Ordered(answer.SHA256); !known {
			e := ledger.Event{Type: ledger.OrderRefused, Order: answer.SHA256, ByUser: g.userOf(name)}
			if err := g.record(e); err != nil {
				return subject, err
			}
		}
	}
	b, err := answer.Bytes()
	if err != nil {
		return subject, err
	}
	g.log.Info("an order was answered", "order", name, "kind", spool.Quote(string(o.Kind)),
		"subject", spool.Quote(o.Subject), "refused", answer.Refused)
	return subject, g.orders.Finish(name, raw, sig, b)
}

// carryOut does what an order asks for. An error that is a Refusal says why nothing was done.
func (g *Gate) carryOut(ctx context.Context, name string, raw, sig []byte, digest string) (orders.Order, error) {
	was, known := g.journal.Ordered(digest)
	o, err := orders.Read(name, raw)
	if err == nil && !known && o.ByPerson() { // who may give it was found before it came on record
		err = orders.Allowed(g.config().Policy(g.now()), o.By, raw, sig)
	}
	if err == nil && !known {
		err = g.mayOrder(&o)
	}
	if err != nil {
		return o, err
	}
	if was == ledger.OrderRefused {
		return o, orders.Refusef("it could not be carried out when it came; if that is no longer so, give it again")
	}
	d, err := g.decide(ctx, &o, known, digest)
	if err == nil && d.act != nil {
		err = d.act()
	}
	return o, err
}

// decide finds what an order comes to, and records it unless it is on record.
func (g *Gate) decide(ctx context.Context, o *orders.Order, known bool, digest string) (d orderEffect, err error) {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	switch o.Kind {
	case orders.Reject:
		d, err = g.rejectItem(o, known)
	case orders.Release:
		d, err = g.releaseItem(ctx, o, known)
	case orders.Cancel:
		d, err = g.cancelRequest(ctx, o, known)
	case orders.Refused: // nothing is done: the request never came
		d.event = ledger.Event{Type: ledger.RequestRefused, RequestID: o.Subject, RequestSHA256: o.RequestSHA256,
			Rules: o.Rules}
	default:
		err = orders.Refusef("there is no order %s", spool.Quote(string(o.Kind)))
	}
	if err == nil && !known {
		d.event.Order, d.event.By, d.event.ByUser = digest, o.By, g.userOf(o.Name)
		err = g.record(d.event)
	}
	return d, err
}

// mayOrder checks the host's user behind an order, whatever name stands in it: only auditors may order about the
// quarantine; approvers and auditors may cancel.
func (g *Gate) mayOrder(o *orders.Order) error {
	uid, gid, err := g.orders.Giver(o.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return orders.Refusef("it was taken back")
	case err != nil || uid == 0 || uid == os.Geteuid():
		return err
	case strings.HasPrefix(string(o.Kind), "quarantine.") && (gid != g.people.Auditors || gid == 0):
		return orders.Refusef("user %s is no auditor of this node (access.auditors)", access.UserName(uid))
	case o.Kind == orders.Cancel && (gid == 0 || gid != g.people.Auditors && gid != g.people.Approvers):
		return orders.Refusef("user %s is neither approver nor auditor of this node (access.approvers, .auditors)",
			access.UserName(uid))
	}
	return nil
}

// userOf is the host's user who gave an order that waits, "" if that is root.
func (g *Gate) userOf(name string) string {
	if uid, _, err := g.orders.Giver(name); err == nil && uid != 0 && uid != os.Geteuid() {
		return access.UserName(uid)
	}
	return ""
}

// cancelRequest ends a request that is not over, by the order of a person. Once that is on record, what of
// it was not started is refused by whoever has it next; what was started is stopped, and gets a result.
func (g *Gate) cancelRequest(ctx context.Context, o *orders.Order, known bool) (orderEffect, error) {
	e := ledger.Event{Type: ledger.RequestCancelled, RequestID: o.Subject}
	first, admitted := g.journal.Admitted(o.Subject)
	if admitted {
		e.RequestID, e.RunID, e.RequestSHA256 = first.RequestID, first.ID, first.SHA256
	}
	d := orderEffect{event: e, act: func() error { return g.stop(ctx, o.Subject) }}
	switch {
	case known:
		return d, nil
	case spool.RequestStem(o.Subject+".md") == "":
		return d, orders.Refusef("%s is the id of no request", spool.Quote(o.Subject))
	case g.journal.Cancelled(o.Subject):
		return d, orders.Refusef("%s was cancelled before", e.RequestID)
	case admitted:
		if at := g.journal.at(e.RunID); at != spool.StateAdmitted && at != spool.StateRunning {
			return d, orders.Refusef("%s is over: its run has ended", e.RequestID)
		}
		return d, nil
	}
	waits, claimed, err := view.Waits(g.config(), o.Subject)
	switch r := g.journal.Request(o.Subject); {
	case err != nil:
		return d, err
	case waits && (r.Job == "" || r.Job != claimed): // also put in again, after it was mended
		return d, nil
	case r.State == ledger.StateQuarantined:
		return d, orders.Refusef("%s is over: it was refused, and lies in quarantine as %s", o.Subject, r.Job)
	case r.State == ledger.StateUnknown:
		return d, orders.Refusef("the node knows no request %s", o.Subject)
	case r.State != ledger.StateWaiting: // that one was released
		return d, orders.Refusef("%s is over: it is %s", o.Subject, r.State)
	}
	return d, nil
}

// stop ends at once what can be reached of a cancelled request: its run, or its job that waits for one. Whoever works
// on it otherwise finds that it was cancelled. It can be called again.
func (g *Gate) stop(ctx context.Context, requestID string) error {
	first, _ := g.journal.Admitted(requestID)
	job := first.ID
	if g.journal.at(job) == spool.StateRunning {
		return g.stopRun(ctx, job)
	}
	j := g.runs.take(job)
	if j == nil {
		return nil
	}
	// A run that was taken back may lack the rename of that.
	for j.State == spool.StateAdmitted || j.State == spool.StateRunning {
		if err := g.step(ctx, j); err != nil {
			if unknown(err) { // the process must stop, and nobody may touch the job before
				g.runs.done(j)
			} else {
				g.runs.later(j, 0)
			}
			return fmt.Errorf("cancel job %s: %w", job, err)
		}
	}
	if j.State == spool.StateFinished {
		g.out.queue.push(j)
	}
	g.troubles.Clear(job)
	g.runs.done(j)
	return nil
}

func (g *Gate) stopRun(ctx context.Context, job string) error {
	if err := errors.Join(g.exec.Kill(ctx, job), g.exec.Kill(ctx, recheck.ID(job))); err != nil {
		return fmt.Errorf("stop the run of a cancelled request: %w", err)
	}
	return nil
}
