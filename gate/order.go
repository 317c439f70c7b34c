package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/gate/access"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/recheck"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
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

// carryOutAll does what was decided before, and then decides the orders that wait. One that fails holds up those about
// the same, and no others.
func (g *Gate) carryOutAll(ctx context.Context) (failed error) {
	held := map[string]bool{}
	if err := g.finishAll(ctx, held); err != nil {
		if unknown(err) || len(held) == 0 {
			return err
		}
		failed = err
	}
	g.forgiveOrders()
	queue, err := g.orders.InTurn(ordersPerMinute, access.Owner)
	if err != nil {
		return err
	}
	for _, w := range queue {
		if ctx.Err() != nil {
			return nil
		}
		subject, err := "", error(nil)
		if given, decided := g.taken.stays[w.Name]; decided {
			err = g.putAway(given)
		} else if g.mayTake(w.UID) {
			subject, err = g.order(ctx, w.Name, held)
		}
		if unknown(err) {
			return err
		} else if err != nil {
			held[subject] = subject != ""
			failed = cmp.Or(failed, fmt.Errorf("order %s of user %s: %w", w.Name, cmp.Or(nameOf(w.UID), "root"), err))
		}
	}
	return failed
}

// finishAll does what was decided and not done yet.
func (g *Gate) finishAll(ctx context.Context, held map[string]bool) (failed error) {
	if g.taken.undone == nil {
		undone, err := g.orders.Unanswered()
		if err != nil {
			return err
		}
		g.taken.undone = append([]string{}, undone...)
	}
	for _, sum := range slices.Clone(g.taken.undone) {
		o, err := g.finish(ctx, sum)
		if unknown(err) {
			return err
		} else if err != nil {
			held[strings.ToLower(o.Subject)] = true
			failed = cmp.Or(failed, fmt.Errorf("order %s: %w", cmp.Or(o.Name, sum), err))
		}
	}
	return failed
}

// finish does what an order on record asks for, and gives it its answer. It can be called again after a crash. What
// was only taken, and is on no record, is dropped: if it still waits, it is decided.
func (g *Gate) finish(ctx context.Context, sum string) (o orders.Order, err error) {
	as, known := g.journal.Ordered(sum)
	if known && as != ledger.OrderRefused && as != ledger.RequestRefused { // nothing is done of these
		var raw []byte
		if raw, err = g.orders.Kept(sum); err == nil {
			o, err = orders.Decode(raw)
		}
		if err == nil {
			err = g.act(ctx, &o)
		}
	}
	switch {
	case err != nil:
		return o, err
	case known:
		err = g.orders.Answered(sum)
	default:
		err = g.orders.Undo(sum)
	}
	if err == nil {
		g.taken.undone = slices.DeleteFunc(g.taken.undone, func(s string) bool { return s == sum })
	}
	return o, err
}

// act does what a decided order asks for.
func (g *Gate) act(ctx context.Context, o *orders.Order) error {
	switch o.Kind {
	case orders.Reject:
		return g.notifyRejected(o.Subject)
	case orders.Release:
		return g.takeBack(ctx, o.Subject)
	case orders.Cancel:
		return g.stop(ctx, o.Subject)
	case orders.Recall:
		return g.notifyRecalled(o.Subject)
	case orders.Reissue:
		g.out.reissues.wake()
	}
	return nil
}

// order decides one order that waits, does it, and takes it out of the folder. One that is on record was decided
// before, whoever puts it back; one about what is held is left for later.
func (g *Gate) order(ctx context.Context, name string, held map[string]bool) (subject string, err error) {
	given, err := g.orders.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, spool.ErrBusy): // taken back, or still being written
		return "", nil
	case err != nil:
		return "", err
	}
	o, noOrder := orders.Read(given)
	subject = strings.ToLower(o.Subject)
	if _, known := g.journal.Ordered(given.SHA256); !known {
		if noOrder == orders.OtherName { // what is decided of a copy is not decided of the order
			given.SHA256 = ""
		}
		if noOrder == nil && held[subject] {
			return subject, nil
		}
		if err := g.decide(ctx, &o, given, noOrder); err != nil {
			return subject, err
		}
		if given.SHA256 != "" {
			g.taken.undone = append(g.taken.undone, given.SHA256)
			if _, err := g.finish(ctx, given.SHA256); err != nil {
				return subject, err
			}
		}
	}
	if noOrder != nil {
		return subject, g.putAway(given)
	}
	return subject, g.orders.Remove(given)
}

// putAway takes out of the folder what is on record as no order. While that fails, as for a mount point, it is not
// recorded again.
func (g *Gate) putAway(given spool.Given) error {
	err := g.orders.Remove(given)
	if err == nil || unknown(err) {
		delete(g.taken.stays, given.Name)
		return err
	}
	g.taken.stays[given.Name] = given
	return fmt.Errorf("it is no order, and can't be moved away: %w", err)
}

// decide finds what an order comes to, and records that, with the digests of the order, its signature and its answer.
// noOrder says why it is none, if it is none: then nothing of it is kept, and little of one that comes to nothing.
func (g *Gate) decide(ctx context.Context, o *orders.Order, given spool.Given, noOrder error) error {
	user, e, err := nameOf(given.UID), ledger.Event{}, noOrder
	if err == nil {
		err = g.mayOrder(o, given)
	}
	g.deciding.Lock()
	defer g.deciding.Unlock()
	if err == nil && o.ByPerson() {
		err = orders.Allowed(g.config().Policy(g.now()), o.By, given.Data, given.Sig)
	}
	if err == nil {
		e, err = g.eventOf(ctx, o)
	}
	var why orders.Refusal
	if err != nil && !errors.As(err, &why) {
		return err
	}
	if why != "" {
		e = ledger.Event{Type: ledger.OrderRefused}
	} else {
		e.By = o.By
	}
	e.ByUser = user
	idle := why != "" || e.Type == ledger.RequestRefused
	keep := noOrder == nil && (!idle || len(given.Data)+len(given.Sig) <= maxIdleBytes || isRoot(given.UID))
	if !keep {
		e.OrderBytes = &given.Size
	} else if len(given.Sig) > 0 {
		e.Signature = schemas.SHA256(given.Sig)
	}
	if e.Order = given.SHA256; e.Order != "" {
		a := orders.Answer{Order: given.Name, SHA256: e.Order, Refused: string(why), AnsweredUTC: g.now().UTC()}
		answer, err := a.Bytes()
		if err == nil {
			err = g.orders.Take(given, keep, answer)
		}
		if err != nil {
			return err
		}
		e.Answer = schemas.SHA256(answer)
	}
	g.log.Info("an order is answered", "order", given.Name, "kind", spool.Quote(string(o.Kind)),
		"subject", spool.Quote(o.Subject), "user", cmp.Or(user, "root"), "refused", string(why))
	err = g.record(e)
	if err == nil && (e.Type == ledger.QuarantineRejected || e.Type == ledger.QuarantineReleased) {
		g.senders.decided(e.RunID)
	}
	return err
}

// eventOf is the event that an order comes to. An error that is a Refusal says why it can't be carried out.
func (g *Gate) eventOf(ctx context.Context, o *orders.Order) (ledger.Event, error) {
	switch o.Kind {
	case orders.Reject:
		return g.rejectItem(o)
	case orders.Release:
		return g.releaseItem(o)
	case orders.Cancel:
		return g.cancelRequest(o)
	case orders.Recall:
		return g.recallResult(o)
	case orders.Reissue:
		return g.reissueResult(ctx, o)
	case orders.Refused:
		return ledger.Event{Type: ledger.RequestRefused, RequestID: o.Subject, RequestSHA256: o.RequestSHA256,
			Rules: o.Rules}, nil
	}
	return ledger.Event{}, orders.Refusef("there is no order %s", spool.Quote(string(o.Kind)))
}

// mayOrder checks the host's user behind an order, whatever name stands in it: only auditors may order about the
// quarantine and recall or reissue a result; approvers and auditors may cancel.
func (g *Gate) mayOrder(o *orders.Order, given spool.Given) error {
	named := g.config().Access
	if isRoot(given.UID) {
		return nil
	}
	switch {
	case strings.HasPrefix(string(o.Kind), "quarantine."), o.OfResult():
		if is, err := isIn(given, g.people.Auditors); is || err != nil {
			return err
		}
		return orders.Refusef("user %s is no auditor of this node: members of access.auditors%s and root may give it",
			access.UserName(given.UID), inBrackets(named.Auditors))
	case o.Kind == orders.Cancel:
		if is, err := isIn(given, g.people.Auditors, g.people.Approvers); is || err != nil {
			return err
		}
		return orders.Refusef("user %s is neither approver nor auditor of this node: members of access.approvers%s, "+
			"of access.auditors%s and root may give it", access.UserName(given.UID), inBrackets(named.Approvers),
			inBrackets(named.Auditors))
	}
	return nil
}

// isIn says whether an order has the rights of one of the groups: its file has that group, so whoever made it had
// them then, and its owner is a member today.
func isIn(given spool.Given, groups ...int) (bool, error) {
	if given.GID == 0 || !slices.Contains(groups, given.GID) {
		return false, nil
	}
	return access.Member(given.UID, given.GID)
}

// inBrackets is the name of a group in brackets, if there is one.
func inBrackets(group string) string {
	if group == "" {
		return ""
	}
	return " (" + group + ")"
}

// cancelRequest is the event that ends a request that is not over. Once that is on record, what of
// it was not started is refused by whoever has it next; what was started is stopped, and gets a result.
func (g *Gate) cancelRequest(o *orders.Order) (ledger.Event, error) {
	e := ledger.Event{Type: ledger.RequestCancelled, RequestID: o.Subject}
	first, admitted := g.journal.Admitted(o.Subject)
	if admitted {
		e.RequestID, e.RunID, e.RequestSHA256 = first.RequestID, first.ID, first.SHA256
	}
	switch {
	case spool.RequestStem(o.Subject+".md") == "":
		return e, orders.Refusef("%s is the id of no request", spool.Quote(o.Subject))
	case g.journal.Cancelled(o.Subject):
		return e, orders.Refusef("%s was cancelled before", e.RequestID)
	case admitted:
		if at := g.journal.at(e.RunID); at != spool.StateAdmitted && at != spool.StateRunning {
			return e, orders.Refusef("%s is over: its run has ended", e.RequestID)
		}
		return e, nil
	}
	waits, claimed, err := view.Waits(g.config(), o.Subject)
	switch r := g.journal.Request(o.Subject); {
	case err != nil:
		return e, err
	case waits && (r.Job == "" || r.Job != claimed): // also put in again, after it was mended
		return e, nil
	case r.State == ledger.StateQuarantined:
		return e, orders.Refusef("%s is over: it was refused, and lies in quarantine as %s", o.Subject, r.Job)
	case r.State == ledger.StateUnknown:
		return e, orders.Refusef("the node knows no request %s", o.Subject)
	case r.State != ledger.StateWaiting: // that one was released
		return e, orders.Refusef("%s is over: it is %s", o.Subject, r.State)
	}
	return e, nil
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
