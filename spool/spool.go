// Package spool keeps jobs on disk: one job is one folder, its state is the
// folder that it lies in, a step is one rename. It claims requests from
// inboxes, moves jobs from state to state, watches for arrivals and publishes
// results. After a crash the same code goes on.
//
// It knows nothing of what a request means. Inboxes are hostile ground: every
// name, kind of file and byte in them is distrusted. The node works on copies
// that nobody else can change.
//
// The package never looks at a byte before the claim, never overwrites and never
// skips what it can't read. It removes originals only after it has copied them
// whole, and special files (FIFO, socket, device, symlink) that a refusal
// describes. What could not be copied whole stays in the job's raw/ as it came.
package spool

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool/durable"
)

// Seam, Step and Op let tests stand before every filesystem step.
type (
	Seam = durable.Seam
	Step = durable.Step
	Op   = durable.Op
)

// The kinds of steps.
const (
	OpMkdir   = durable.OpMkdir
	OpCreate  = durable.OpCreate
	OpWrite   = durable.OpWrite
	OpSync    = durable.OpSync
	OpClose   = durable.OpClose
	OpRename  = durable.OpRename
	OpRemove  = durable.OpRemove
	OpSyncDir = durable.OpSyncDir
	OpOpen    = durable.OpOpen
)

// Inbox is one drop zone. Its folder must be on the node's filesystem.
type Inbox struct {
	Name string
	Dir  string
}

// Options say how a Spool works. Zero values mean the defaults below.
type Options struct {
	Inboxes         []Inbox
	MaxRequestBytes int64
	MaxInputBytes   int64 // of all inputs of one request together
	MaxInputs       int
	// WaitForWriters is how long a request that is still open for writing is waited
	// for. It is refused then; other requests never wait for it.
	WaitForWriters time.Duration
	// SweepEvery is how often inboxes are read although no event came.
	SweepEvery time.Duration
	// MinFreeBytes stops claiming when less is free on the node's filesystem.
	MinFreeBytes uint64
	// Retry is the first pause before something that failed is tried again. It
	// doubles from try to try, up to a minute.
	Retry  time.Duration
	Logger *slog.Logger
	// Seam is for fault injection.
	Seam Seam
}

// Defaults of Options.
const (
	DefaultMaxRequestBytes = 1 << 20
	DefaultMaxInputBytes   = 256 << 20
	DefaultMaxInputs       = 64
	DefaultWaitForWriters  = 5 * time.Second
	DefaultSweepEvery      = 5 * time.Second
	DefaultMinFreeBytes    = 64 << 20
	DefaultRetry           = time.Second
)

// Spool is one node's spool, owned by this process until Close. It is safe for
// concurrent use; one Job belongs to one goroutine at a time.
type Spool struct {
	dir  string
	o    Options
	disk durable.Disk
	log  *slog.Logger
	lock *os.File
	ids  ids
	now  func() time.Time // for backoff and waiting for writers; has the monotonic clock

	mu      sync.Mutex
	inboxes []*inboxState
	turn    int                   // whose turn it is to hand out a name
	skip    func(string) bool     // inboxes of which nothing is handed out; nil: none
	full    func(uint32) bool     // users of whom nothing is handed out; nil: none
	open    map[string]*openClaim // claims in progress by job id
	months  map[string]bool       // folders of the archive that are durable
	// kick tells the watcher that something new is to be tried again; trashed
	// tells EmptyTrash that there is something to remove.
	kick, trashed chan struct{}
	// watchers counts running Watches: with one, only it asks for readings.
	watchers int
}

// Open takes the node in dir for this process and finishes what an earlier one
// left half done. It fails with ErrLocked if another process has the node, and
// with a clear error if a rename from an inbox or between states can't work. An
// inbox that is missing is no error: Stuck lists it until it comes.
func Open(dir string, o Options) (*Spool, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := checkLayout(abs); err != nil {
		return nil, fmt.Errorf("opening the spool: %w", err)
	}
	s := &Spool{dir: abs, o: o.withDefaults(), disk: durable.Disk{Seam: o.Seam}, now: time.Now,
		open: map[string]*openClaim{}, months: map[string]bool{}, kick: make(chan struct{}, 1),
		trashed: make(chan struct{}, 1)}
	s.log = s.o.Logger
	if s.lock, err = lock(abs); err != nil {
		return nil, err
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the spool: %w", err), s.Close())
	}
	return s, nil
}

func (s *Spool) start() error {
	seen := map[string]bool{}
	for _, in := range s.o.Inboxes {
		abs, err := filepath.Abs(in.Dir)
		if err != nil {
			return err
		}
		if in.Name == "" || seen[in.Name] {
			return fmt.Errorf("inbox %q: every inbox needs a name of its own", in.Name)
		}
		if len(abs) > maxInboxPath {
			return fmt.Errorf("inbox %q: its path has %d bytes; at most %d can be noted at a claim", in.Name, len(abs),
				maxInboxPath)
		}
		seen[in.Name] = true
		in.Dir = abs
		s.inboxes = append(s.inboxes, &inboxState{Inbox: in, unread: true, stuck: map[string]*retry{}})
	}
	if err := s.checkRenames(); err != nil {
		return err
	}
	return s.recover()
}

func (o Options) withDefaults() Options {
	if o.MaxRequestBytes <= 0 {
		o.MaxRequestBytes = DefaultMaxRequestBytes
	}
	if o.MaxInputBytes <= 0 {
		o.MaxInputBytes = DefaultMaxInputBytes
	}
	if o.MaxInputs <= 0 {
		o.MaxInputs = DefaultMaxInputs
	}
	if o.WaitForWriters <= 0 {
		o.WaitForWriters = DefaultWaitForWriters
	}
	if o.SweepEvery <= 0 {
		o.SweepEvery = DefaultSweepEvery
	}
	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = DefaultMinFreeBytes
	}
	if o.Retry <= 0 {
		o.Retry = DefaultRetry
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Close gives the node back. Watchers must have been cancelled before.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	err := s.lock.Close()
	s.lock = nil
	return err
}

var errClosed = errors.New("the spool is closed")

func (s *Spool) path(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}

// stateDir is the folder of a state, but for the archive, which has months.
func (s *Spool) stateDir(st State) string {
	if st == StateRequestRefused || st == StateResultRefused {
		return s.path(string(st))
	}
	return s.path(DirSpool, string(st))
}

// minFreeInodes is how many files must still fit for a claim.
const minFreeInodes = 1024

// room fails with ErrNoSpace if no further request may be taken in.
func (s *Spool) room() error { return Room(s.stateDir(StateClaimed), s.o.MinFreeBytes) }

// Room fails with ErrNoSpace if the filesystem of dir has no room for another
// request: minFree bytes and some inodes.
func Room(dir string, minFree uint64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("looking for free space: %w", err)
	}
	if free := st.Bavail * uint64(st.Bsize); free < minFree || (st.Files > 0 && st.Ffree < minFreeInodes) {
		return fmt.Errorf("%w: %d bytes and %d inodes are free, %d bytes and %d inodes must be",
			ErrNoSpace, free, st.Ffree, minFree, minFreeInodes)
	}
	return nil
}

// checkRenames proves that a rename works from every inbox and to every store:
// all on one mount, and with the promise not to overwrite.
func (s *Spool) checkRenames() error {
	type place struct{ what, dir string }
	var places []place
	for _, f := range layout() {
		if f.mode == modePrivateDir && f.path != DirLedger && f.path != DirSigners {
			places = append(places, place{"folder of the node", s.path(f.path)})
		}
	}
	for _, in := range s.inboxes {
		places = append(places, place{"inbox " + in.Name, in.Dir})
	}
	claimed := s.stateDir(StateClaimed)
	for _, p := range places {
		// The kernel compares the mounts before it looks for the file, so a
		// file that does not exist is enough, and the inbox stays untouched.
		err := unix.Renameat2(unix.AT_FDCWD, filepath.Join(p.dir, probeName), unix.AT_FDCWD,
			filepath.Join(claimed, probeName), unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EXDEV) {
			return fmt.Errorf("%s: %q is on another filesystem or mount than %q: %w; move one of them", p.what, p.dir,
				claimed, ErrOtherFilesystem)
		}
		if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
			s.log.Warn("a rename out of this folder does not work", "what", p.what, "dir", p.dir, "err", err)
		}
	}
	return s.checkNoReplace()
}

const probeName = ".threegate-probe"

// checkNoReplace proves that the filesystem can rename without overwriting.
func (s *Spool) checkNoReplace() error {
	a, b := s.path(DirSpool, probeName+"-a"), s.path(DirSpool, probeName+"-b")
	for _, p := range []string{a, b} {
		if err := os.WriteFile(p, nil, modePrivateFile); err != nil {
			return err
		}
		defer os.Remove(p)
	}
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("the filesystem of %q can't rename without overwriting (%v): use ext4, xfs, btrfs or tmpfs",
			s.dir, err)
	}
	return nil
}
