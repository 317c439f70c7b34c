package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/cmd/threegate/internal/backend"
	"github.com/threegate/tool-exec/executors/container"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/spool"
)

const (
	// runsDir is the folder of a node in which its runs have their private nodes.
	runsDir = "runs"
	// removeTime bounds how long the removal of one private node may take.
	removeTime = time.Minute
)

// private is the node of one `threegate run`. The run holds a lock on its folder. If the run
// is killed, the kernel gives the lock back: a folder without a lock is that of a dead run.
type private struct {
	of   *config.Node // the node that it is made after
	cfg  *config.Node
	lock *os.File
	exec *container.Executor // nil until the run serves
}

// privateConfig is the configuration of the private node in dir. It shares the containerd of
// the node l, which has the images, and nothing else.
func privateConfig(l *config.Node, dir string) *config.Node {
	c := *l
	c.Containerd.State = l.ContainerdState()
	c.Dir = dir
	c.Inboxes = []config.Inbox{{Name: "default", Path: filepath.Join(dir, spool.DefaultInbox)}}
	c.CoreInbound = config.CoreInbound{Path: filepath.Join(dir, spool.DirCoreInbound),
		Mode: config.Default().CoreInbound.Mode}
	c.CoreNotices.Enabled = false
	c.Access = config.Access{}
	return &c
}

// makePrivate makes a private node after l and locks it.
func makePrivate(l *config.Node) (*private, error) {
	runs := filepath.Join(l.Dir, runsDir)
	if err := os.Mkdir(runs, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	all, err := lockFolder(runs, unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	dir, err := os.MkdirTemp(runs, "")
	if err != nil {
		return nil, err
	}
	lock, err := lockFolder(dir, unix.LOCK_EX)
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	if err := spool.Init(dir); err != nil {
		return nil, errors.Join(err, lock.Close(), os.RemoveAll(dir))
	}
	return &private{of: l, cfg: privateConfig(l, dir), lock: lock}, nil
}

// lockFolder opens and locks a folder. The lock ends with the descriptor.
func lockFolder(dir string, how int) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "lock", Path: dir, Err: err}, f.Close())
	}
	return f, nil
}

// deadRuns locks and returns the private nodes of l whose runs are dead, and counts the others.
func deadRuns(l *config.Node) (dead []*private, alive int, err error) {
	runs := filepath.Join(l.Dir, runsDir)
	all, err := lockFolder(runs, unix.LOCK_EX)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer all.Close()
	return lockDead(l, all)
}

// lockDead is deadRuns for whoever has locked the folder of all runs.
func lockDead(l *config.Node, all *os.File) (dead []*private, alive int, err error) {
	entries, err := all.ReadDir(-1)
	for _, e := range entries {
		dir := filepath.Join(all.Name(), e.Name())
		lock, lerr := lockFolder(dir, unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(lerr, unix.EWOULDBLOCK):
			alive++
		case lerr != nil:
			err = errors.Join(err, lerr)
		default:
			dead = append(dead, &private{of: l, cfg: privateConfig(l, dir), lock: lock})
		}
	}
	return dead, alive, err
}

// removeDeadRuns removes what runs that were killed left behind. A failure is logged and
// stops nothing: the next run or serve tries again.
func removeDeadRuns(ctx context.Context, l *config.Node, log *slog.Logger) {
	dead, _, err := deadRuns(l)
	for _, p := range dead {
		rerr := p.removeDead(ctx)
		if rerr == nil {
			log.Warn("removed what a killed threegate run left behind", "folder", p.cfg.Dir)
		}
		err = errors.Join(err, rerr)
	}
	if err != nil {
		log.Error("can't remove what a killed threegate run left behind", "error", err)
	}
}

func (p *private) removeDead(ctx context.Context) (err error) {
	if _, err := os.Lstat(p.cfg.RunDir()); err == nil { // it may have sandboxes
		if p.exec, err = backend.Open(ctx, p.cfg, nil); err != nil {
			return errors.Join(err, p.lock.Close())
		}
	}
	return p.remove(ctx)
}

// remove ends the sandboxes of the private node and removes it. The containerd is stopped if
// nobody else needs it.
func (p *private) remove(ctx context.Context) (err error) {
	defer p.lock.Close() // last: until then nobody takes it for dead
	// One at a time: of runs that end together, the last must know that it is the last.
	all, err := lockFolder(filepath.Join(p.of.Dir, runsDir), unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer all.Close()
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	if p.exec != nil {
		if err := p.endSandboxes(ctx, all); err != nil {
			return err
		}
	}
	if err := container.Dismantle(p.cfg.RunDir()); err != nil {
		return err
	}
	key := filepath.Dir(p.cfg.RunDir())
	if err := os.Remove(key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(p.cfg.Dir)
}

func (p *private) endSandboxes(ctx context.Context, all *os.File) error {
	ids, err := p.exec.List(ctx)
	for _, id := range ids {
		err = errors.Join(err, p.exec.Cleanup(ctx, id))
	}
	needed, nerr := p.containerdNeeded(all)
	if err = errors.Join(err, nerr); needed || err != nil {
		return errors.Join(err, p.exec.Close())
	}
	return p.exec.Shutdown(ctx)
}

// containerdNeeded says whether somebody else uses the containerd of the node: whoever serves
// the node, or another run.
func (p *private) containerdNeeded(all *os.File) (bool, error) {
	served, err := spool.Locked(p.of.Dir)
	if err != nil || served {
		return true, err
	}
	dead, alive, err := lockDead(p.of, all)
	for _, d := range dead { // the next run removes them
		err = errors.Join(err, d.lock.Close())
	}
	return alive > 1, err // this one is alive, too
}

// kill ends what runs in the private node.
func (p *private) kill() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	ids, err := p.exec.List(ctx)
	for _, id := range ids {
		if kerr := p.exec.Kill(ctx, id); kerr != nil {
			err = errors.Join(err, fmt.Errorf("kill %s: %w", id, kerr))
		}
	}
	return err
}
