package spool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool/durable"
)

// Orders is the folder in which people order something of a node that is served. An order is one
// file: its appearance is the commit point. A signature is put there first.
//
//	orders/or-NUMBER.json            waits to be carried out
//	orders/or-NUMBER.json.sig
//	orders/done/or-NUMBER.json       was carried out, or refused
//	orders/done/or-NUMBER.json.sig
//	orders/done/or-NUMBER.answer     what came of it
type Orders struct {
	Group int // of orders that are put there, if not 0

	dir  string
	disk durable.Disk
}

const (
	// MaxOrderBytes bounds an order and its answer.
	MaxOrderBytes = 1 << 20

	orderSuffix    = ".json"
	orderSigSuffix = ".sig"
	answerSuffix   = ".answer"
	// orderDigits holds every number of nanoseconds since 1970, so that names sort by number.
	orderDigits = 20
)

var orderNameRE = regexp.MustCompile(`^or-[0-9]{20}$`)

// NewOrders uses the folder of orders of the node in dir. seam may be nil.
func NewOrders(dir string, seam Seam) *Orders {
	return &Orders{dir: dir, disk: durable.Disk{Seam: seam}}
}

func (o *Orders) path(elem ...string) string {
	return filepath.Join(append([]string{o.dir, DirOrders}, elem...)...)
}

func (o *Orders) done(elem ...string) string {
	return filepath.Join(append([]string{o.dir, DirOrdersDone}, elem...)...)
}

// NextName is a name for an order that sorts behind all that wait: the time, or the number behind
// the last one if the clock went back. Put may find it taken meanwhile.
func (o *Orders) NextName(now time.Time) (string, error) {
	names, err := o.Pending()
	if err != nil {
		return "", err
	}
	number := now.UnixNano()
	if len(names) > 0 {
		last, err := strconv.ParseInt(strings.TrimPrefix(names[len(names)-1], "or-"), 10, 64)
		if err != nil {
			return "", fmt.Errorf("order %s: %w", names[len(names)-1], err)
		}
		number = max(number, last+1)
	}
	return fmt.Sprintf("or-%0*d", orderDigits, number), nil
}

// Put gives an order durably, with its signature unless that is empty. A name that is taken is an
// error that matches fs.ErrExist.
func (o *Orders) Put(name string, order, sig []byte) error {
	d := o.disk
	if o.Group > 0 {
		d.Owner = &durable.Owner{UID: -1, GID: o.Group}
	}
	if len(sig) > 0 {
		err := d.WriteFile("order.sig", o.path(), name+orderSuffix+orderSigSuffix, sig, modePrivateFile, false)
		if err != nil {
			return err
		}
	}
	return d.WriteFile("order.put", o.path(), name+orderSuffix, order, modePrivateFile, false)
}

// Giver is the owner and the group of an order that waits: the owner gave it. The sticky folder keeps others from
// replacing the file.
func (o *Orders) Giver(name string) (uid, gid int, err error) {
	var st unix.Stat_t
	err = unix.Lstat(o.path(name+orderSuffix), &st)
	return int(st.Uid), int(st.Gid), err
}

// Pending lists the orders that are not carried out, in the order in which they were given.
func (o *Orders) Pending() ([]string, error) { return ordersIn(o.path()) }

// Done lists the orders that were carried out or refused, in the same order.
func (o *Orders) Done() ([]string, error) { return ordersIn(o.done()) }

func ordersIn(dir string) ([]string, error) {
	es, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range es {
		if name, ok := strings.CutSuffix(e.Name(), orderSuffix); ok && orderNameRE.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// ErrNoOrder says that an order can't be read and never will be.
var ErrNoOrder = errors.New("this is no order")

// Read returns an order, whether it waits or is done, with its signature, if it has one.
func (o *Orders) Read(name string) (order, sig []byte, err error) {
	order, err = durable.ReadRegular(o.path(name+orderSuffix), MaxOrderBytes)
	if errors.Is(err, fs.ErrNotExist) {
		order, err = durable.ReadRegular(o.done(name+orderSuffix), MaxOrderBytes)
	}
	if errors.Is(err, durable.ErrNotRegular) || errors.Is(err, durable.ErrTooLong) {
		err = fmt.Errorf("%w: %w", ErrNoOrder, err)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range []string{o.path(), o.done()} { // a signature goes first
		sig, err = durable.ReadRegular(filepath.Join(dir, name+orderSuffix+orderSigSuffix), MaxSignatureBytes)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return order, nil, nil
	case errors.Is(err, durable.ErrNotRegular) || errors.Is(err, durable.ErrTooLong):
		err = fmt.Errorf("%w: %w", ErrNoOrder, err)
	}
	return order, sig, err
}

// Finish notes durably what came of an order, and puts away a copy of what Read gave: its giver may have the file
// open. What could not be read is moved as it is. It can be called again after a crash.
func (o *Orders) Finish(name string, order, sig, answer []byte) error {
	err := o.disk.WriteFile("order.answer", o.done(), name+answerSuffix, answer, modeGroupFile, true)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{name + orderSuffix + orderSigSuffix, sig}, {name + orderSuffix, order}} {
		if len(f.data) == 0 {
			err = o.disk.Move("order.done", o.path(f.name), o.done(f.name), true)
		} else if err = o.disk.WriteFile("order.done", o.done(), f.name, f.data, modeGroupFile, true); err == nil {
			err = o.disk.Remove("order.done", o.path(f.name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := o.disk.SyncDir("order.done", o.done()); err != nil {
		return err
	}
	return o.disk.SyncDir("order.done", o.path())
}

// Answer is what came of an order; while it waits, an error that matches fs.ErrNotExist.
func (o *Orders) Answer(name string) ([]byte, error) {
	return durable.ReadRegular(o.done(name+answerSuffix), MaxOrderBytes)
}

// Watch wakes the reader of the returned channel when an order may have come, and at every sweep.
func (o *Orders) Watch(ctx context.Context, sweep time.Duration) <-chan struct{} {
	wake := make(chan struct{}, 1)
	fsw, err := fsnotify.NewWatcher()
	var events chan fsnotify.Event
	if err == nil {
		if err = fsw.Add(o.path()); err == nil {
			events = fsw.Events
		}
	}
	go func() {
		if fsw != nil {
			defer fsw.Close()
		}
		tick := time.NewTicker(sweep)
		defer tick.Stop()
		for {
			select {
			case wake <- struct{}{}:
			default:
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			case _, ok := <-events:
				if !ok {
					events = nil
				}
			}
		}
	}()
	return wake
}
