package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
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

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool/durable"
)

// Orders is the folder in which people order something of a node that is served. An order is one
// file: its appearance is the commit point. A signature is put there first.
//
//	orders/or-NUMBER.json        waits to be decided
//	orders/or-NUMBER.json.sig
//	orders/done/SHA256.json      the node's copy of a decided order, by the digest of its bytes
//	orders/done/SHA256.sig
//	orders/done/SHA256.answer    what came of it; hidden as .SHA256.answer until all of it is done
//
// Everybody who may give orders can write to orders; only the node writes to done. The node copies an order, records
// what it decides, and does that; then the answer appears.
type Orders struct {
	Group int // of orders that are put there, if not 0

	dir  string
	disk durable.Disk
	// discard moves what is no file to the trash.
	discard func(path string) error
}

const (
	// MaxOrderBytes bounds an order and its answer.
	MaxOrderBytes = 64 << 10

	orderSuffix    = ".json"
	orderSigSuffix = ".sig"
	answerSuffix   = ".answer"
	// orderDigits holds every number of nanoseconds since 1970, so that names sort by number.
	orderDigits = 20
)

// doneSuffixes end the names of what is kept of a decided order.
var doneSuffixes = []string{orderSuffix, orderSigSuffix, answerSuffix}

var orderNameRE = regexp.MustCompile(`^or-[0-9]{20}$`)

// NewOrders uses the folder of orders of the node in dir. seam may be nil.
func NewOrders(dir string, seam Seam) *Orders {
	return &Orders{dir: dir, disk: durable.Disk{Seam: seam}}
}

// Orders is the folder of orders of the spool's node, for whoever carries them out.
func (s *Spool) Orders() *Orders { return &Orders{dir: s.dir, disk: s.disk, discard: s.discard} }

func (o *Orders) path(elem ...string) string {
	return filepath.Join(append([]string{o.dir, DirOrders}, elem...)...)
}

func (o *Orders) done(elem ...string) string {
	return filepath.Join(append([]string{o.dir, DirOrdersDone}, elem...)...)
}

// orderNumber is the number in the name of an order's file. What has none of 63 bits is no order.
func orderNumber(file string) (name string, number int64, ok bool) {
	name, ok = strings.CutSuffix(file, orderSuffix)
	if !ok || !orderNameRE.MatchString(name) {
		return "", 0, false
	}
	number, err := strconv.ParseInt(name[len("or-"):], 10, 64)
	return name, number, err == nil
}

// NextName is a name for an order that sorts behind all that the caller gave and that wait: the time, or the number
// behind the last one if the clock went back. Put may find it taken meanwhile; then tries counts on.
func (o *Orders) NextName(now time.Time, tries int) (string, error) {
	number := now.UnixNano() + int64(tries)
	ahead := number + int64(48*time.Hour) // no clock was set back that far
	err := o.each(func(_ string, n int64, uid int) {
		if uid == os.Geteuid() && n < ahead {
			number = max(number, n+1)
		}
	})
	return fmt.Sprintf("or-%0*d", orderDigits, number), err
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

// Pending lists the names of all orders that wait.
func (o *Orders) Pending() (names []string, err error) {
	err = o.each(func(name string, _ int64, _ int) { names = append(names, name) })
	slices.Sort(names)
	return names, err
}

// each calls f with every order that waits, and the owner of its file.
func (o *Orders) each(f func(name string, number int64, uid int)) error {
	fd, err := openDir(o.path())
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), o.path())
	defer dir.Close()
	return readDirNames(dir, func(file string) bool {
		name, number, ok := orderNumber(file)
		if !ok {
			return true
		}
		pin, in, err := look(o.disk, "order.look", fd, file)
		if err == nil { // else it was taken back
			_ = unix.Close(pin)
			f(name, number, in.giver())
		}
		return true
	})
}

// Queued is an order that waits, and the person whose it is.
type Queued struct {
	Name string
	UID  int
}

// InTurn lists orders that wait: of each person at most so many, in the order of their numbers, the persons in turn.
// So nobody's flood delays another by more than one turn. person is who a user belongs to.
func (o *Orders) InTurn(most int, person func(uid int) int) ([]Queued, error) {
	lines := map[int][]string{}
	err := o.each(func(name string, _ int64, uid int) {
		uid = person(uid)
		line := lines[uid]
		if len(line) == most && name > line[most-1] {
			return
		}
		at, _ := slices.BinarySearch(line, name)
		line = slices.Insert(line, at, name)
		lines[uid] = line[:min(len(line), most)]
	})
	var list []Queued
	for turn := range most {
		from := len(list)
		for uid, line := range lines {
			if turn < len(line) {
				list = append(list, Queued{line[turn], uid})
			}
		}
		if from == len(list) {
			break
		}
		slices.SortFunc(list[from:], func(a, b Queued) int { return strings.Compare(a.Name, b.Name) })
	}
	return list, err
}

// Given is an order that waits, as one open file has it: who owns that file gave the order, and the file's group is
// one that the owner is in.
type Given struct {
	Name     string
	UID, GID int // the UID is -1 if nobody knows
	Size     int64
	Data     []byte
	// SHA256 is the digest of Data, or "" if nothing was read.
	SHA256 string
	// Sig is a signature that the same user, or the node's, put there for it.
	Sig []byte
	// Why says why it is no order, and never will be.
	Why string

	hasSig bool
}

// Open reads an order that waits. One that was taken back is an error that matches fs.ErrNotExist, one that is still
// open for writing ErrBusy. What somebody else put there as its signature is none of it.
func (o *Orders) Open(name string) (Given, error) {
	g := Given{Name: name}
	dir, err := openDir(o.path())
	if err != nil {
		return g, err
	}
	defer unix.Close(dir)
	file, err := o.read(dir, name+orderSuffix, MaxOrderBytes, func(int) bool { return true })
	if err != nil {
		return g, err
	}
	g.UID, g.GID, g.Size = file.giver(), int(file.gid), file.size
	if g.Why = file.why(); g.Why != "" {
		return g, nil
	}
	g.Data, g.SHA256 = file.data, schemas.SHA256(file.data)
	sig, err := o.read(dir, name+orderSuffix+orderSigSuffix, MaxSignatureBytes, func(giver int) bool {
		return giver == g.UID || giver == os.Geteuid()
	})
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return g, err
	}
	g.hasSig, g.Sig = true, sig.data
	if why := sig.why(); why != "" {
		g.Why = "its signature " + why
	}
	return g, nil
}

// giver is the user who put an entry into a folder that others write to, or -1: who made another name for a file need
// not own it.
func (l *entry) giver() int {
	linked := slices.ContainsFunc(l.defects, func(d defect) bool { return d.kind == defectHardlink })
	if linked || l.foreign {
		return -1
	}
	return int(l.uid)
}

// opened is an entry with its bytes.
type opened struct {
	entry
	data []byte
}

// why says what is wrong with a file, or "".
func (f *opened) why() string {
	if len(f.defects) == 0 {
		return ""
	}
	return f.defects[0].text
}

// read reads a file in a folder that others write to, with one open that follows nothing and waits for nothing. What
// is wrong with it is in its defects. A file of a user who does not count is as good as none: it is not opened, for
// its owner could keep that from ever succeeding (fcntl(2), F_SETLEASE).
func (o *Orders) read(dir int, file string, limit int64, counts func(giver int) bool) (opened, error) {
	pin, in, err := look(o.disk, "order.look", dir, file)
	if err != nil {
		return opened{}, err
	}
	defer unix.Close(pin)
	if !counts(in.giver()) {
		return opened{}, fs.ErrNotExist
	}
	f := opened{entry: in}
	switch {
	case in.foreign:
		f.refuse(defectKind, "is a mount point, not a file")
	case in.mode != unix.S_IFREG:
		f.refuse(defectKind, "is a %s, not a file", kindOf(in.mode))
	case in.size > limit:
		f.refuse(defectSize, "has %d bytes, at most %d are allowed", in.size, limit)
	case in.perm&0o022 != 0:
		f.refuse(defectMode, "can be written to by others (mode %04o): chmod go-w", in.perm)
	}
	if len(f.defects) > 0 {
		return f, nil
	}
	src, err := reopen(o.disk, "order.open", pin, file, &f.entry, false)
	if err != nil || src == nil {
		return f, err
	}
	defer src.Close()
	f.data, err = io.ReadAll(io.LimitReader(src, limit+1))
	if int64(len(f.data)) > limit { // it grew meanwhile
		err = ErrBusy
	}
	return f, err
}

// Take makes durable what is about to be decided: a copy of the order unless it is none, its signature, and the
// answer, hidden until Answered. It can be called again until the decision is on record.
func (o *Orders) Take(g Given, keep bool, answer []byte) error {
	if !keep {
		g.Data, g.Sig = nil, nil
	}
	var b durable.Batch
	for _, f := range []struct {
		name string
		data []byte
	}{{g.SHA256 + orderSuffix, g.Data}, {g.SHA256 + orderSigSuffix, g.Sig}, {hiddenAnswer(g.SHA256), answer}} {
		var err error
		if len(f.data) == 0 { // an earlier try may have left one
			err = o.disk.Remove("order.take", o.done(f.name))
		} else {
			err = o.disk.Write("order.take", o.done(), f.name, f.data, modeGroupFile, &b)
		}
		if err != nil {
			return err
		}
	}
	return durable.Uncertain(o.disk.Sync(&b))
}

func hiddenAnswer(sha256 string) string { return "." + sha256 + answerSuffix }

// Answered makes the answer to an order appear, durably: all that was decided is done.
func (o *Orders) Answered(sha256 string) error {
	err := o.disk.Rename("order.answer", o.done(hiddenAnswer(sha256)), o.done(sha256+answerSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it appeared before
	}
	return err
}

// Unanswered lists the digests of orders that were taken, and whose answer has not appeared.
func (o *Orders) Unanswered() (digests []string, err error) {
	es, err := os.ReadDir(o.done())
	if err != nil {
		return nil, err
	}
	answered := map[string]bool{}
	for _, e := range es {
		sum, ok := strings.CutSuffix(e.Name(), answerSuffix)
		answered[sum] = answered[sum] || ok
	}
	for _, e := range es {
		sum := doneDigest(e.Name())
		if sum != "" && !answered[sum] && !slices.Contains(digests, sum) {
			digests = append(digests, sum)
		}
	}
	return digests, nil
}

var doneRE = regexp.MustCompile(`^\.?([0-9a-f]{64})\.(json|sig|answer)$`)

// doneDigest is the digest of the order to which a file in done belongs, or "".
func doneDigest(file string) string {
	if m := doneRE.FindStringSubmatch(file); m != nil {
		return m[1]
	}
	return ""
}

// Undo removes what Take left of an order on which nothing was recorded.
func (o *Orders) Undo(sha256 string) error {
	for _, name := range []string{sha256 + orderSuffix, sha256 + orderSigSuffix, hiddenAnswer(sha256)} {
		if err := o.disk.Remove("order.undo", o.done(name)); err != nil {
			return err
		}
	}
	return o.disk.SyncDir("order.undo", o.done())
}

// Remove takes what was decided out of the folder, with its giver's signature: a file is removed, anything else is
// moved to the trash as it is.
func (o *Orders) Remove(g Given) error {
	names := []string{g.Name + orderSuffix}
	if g.hasSig {
		names = append(names, g.Name+orderSuffix+orderSigSuffix)
	}
	for _, name := range names {
		err := o.disk.Remove("order.remove", o.path(name))
		if errors.Is(err, unix.ENOTEMPTY) {
			err = o.discard(o.path(name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return o.disk.SyncDir("order.remove", o.path())
}

// Kept is the node's copy of a decided order. One that it has not is an error that matches fs.ErrNotExist.
func (o *Orders) Kept(sha256 string) ([]byte, error) {
	return durable.ReadRegular(o.done(sha256+orderSuffix), MaxOrderBytes)
}

// Answer is what came of an order; before it is all done, an error that matches fs.ErrNotExist.
func (o *Orders) Answer(sha256 string) ([]byte, error) {
	return durable.ReadRegular(o.done(sha256+answerSuffix), MaxOrderBytes)
}

// Has says whether anything is kept of a decided order.
func (o *Orders) Has(sha256 string) (bool, error) {
	for _, suffix := range doneSuffixes {
		if there, err := exists(o.done(sha256 + suffix)); err != nil || there {
			return there, err
		}
	}
	return false, nil
}

// Prune removes what is kept of a decided order, durably.
func (o *Orders) Prune(sha256 string) error {
	for _, suffix := range doneSuffixes {
		if err := o.disk.Remove("order.prune", o.done(sha256+suffix)); err != nil {
			return err
		}
	}
	return o.disk.SyncDir("order.prune", o.done())
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

// takeOver gives what an older node keeps in done by the names of orders its place by their digests.
func (o *Orders) takeOver() error {
	es, err := os.ReadDir(o.done())
	if err != nil {
		return err
	}
	for _, e := range es {
		name, _, ok := orderNumber(e.Name())
		if !ok {
			continue
		}
		sum, err := durable.Digest(o.done(e.Name()))
		if errors.Is(err, durable.ErrNotRegular) {
			continue // it never was an order
		}
		if err != nil {
			return err
		}
		for _, f := range [][2]string{{name + orderSuffix + orderSigSuffix, sum + orderSigSuffix},
			{name + answerSuffix, sum + answerSuffix}, {e.Name(), sum + orderSuffix}} { // the order last
			err := o.disk.Move("takeover.order", o.done(f[0]), o.done(f[1]), false)
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	return o.disk.SyncDir("takeover.order", o.done())
}
