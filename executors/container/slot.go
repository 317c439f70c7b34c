package container

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/sandbox"
	"github.com/threegate/tool-exec/schemas"
)

// What a slot has before the limits of its task are known: enough for init, which alone
// runs in it.
const (
	slotMemoryBytes = 32 << 20
	slotMilliCPU    = 1000
	// slotCPUTime is only lowered by a claim. It is beyond what any request may ask for.
	slotCPUTime = 30 * 24 * time.Hour
)

// slot is a sandbox in which init waits, and which no task has yet. It serves one.
type slot struct {
	id string // of container and control group
	model
	runDir runDir
	pid    int // of init
}

// slotPrefix begins the ids of this run folder's slots: what is left of one, a
// control group perhaps, tells whose it was.
func (e *Executor) slotPrefix() string {
	sum := sha256.Sum256([]byte(e.cfg.RunDir))
	return "s" + hex.EncodeToString(sum[:6])
}

// fits says whether a task can take a slot: what a claim does not set must be
// as the slots have it.
func (e *Executor) fits(t executors.Task) bool {
	c, l := e.cfg.Slots.Limits, t.Limits
	return t.Network == schemas.NetworkNone && l.OpenFiles == c.OpenFiles &&
		l.OutBytes == c.OutBytes && l.OutFiles == c.OutFiles && l.TmpBytes == c.TmpBytes &&
		fileBytes(l) == fileBytes(c) && cpuTime(l) <= slotCPUTime
}

// makeSlot makes one of a model. A creation that is cut short could leave what is not
// found until later: ctx may not end.
func (e *Executor) makeSlot(ctx context.Context, m model) (*slot, error) {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	s := &slot{id: e.slotPrefix() + hex.EncodeToString(b[:]), model: m}
	s.runDir = runDir(filepath.Join(e.cfg.RunDir, slotsDir, s.id))
	l := e.cfg.Slots.Limits
	l.MilliCPU, l.MemoryBytes = slotMilliCPU, slotMemoryBytes
	err := s.runDir.make(l, m.execTmp, e.mapped)
	if err == nil {
		s.pid, err = e.makeSandbox(ctx, s.runDir, blueprint{
			id: s.id, model: m, limits: l, network: schemas.NetworkNone, cpuTime: slotCPUTime,
			labels: []string{slotLabel},
		})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a slot: %w", err), e.destroySlot(ctx, s))
	}
	return s, nil
}

// sound says whether init still lives.
func (e *Executor) sound(s *slot) error {
	pids, err := cgroup.Procs(cgroup.Root, e.cgroupOf(s.id))
	if err == nil && !slices.Contains(pids, s.pid) {
		err = fmt.Errorf("the slot %s has ended: %s", s.id, s.runDir.failure())
	}
	return err
}

// mountNamespace gives that of init, which lives.
func (e *Executor) mountNamespace(s *slot) (*os.File, error) {
	mnt, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", s.pid))
	if err != nil {
		return nil, err
	}
	if err := e.sound(s); err != nil { // so it is not that of another process with this number
		return nil, errors.Join(err, mnt.Close())
	}
	return mnt, nil
}

// destroySlot removes a slot that no task has.
func (e *Executor) destroySlot(ctx context.Context, s *slot) error {
	return e.destroy(context.WithoutCancel(ctx), s.id, s.runDir)
}

// claim gives a task its slot. Until the rename the task has no trace; with it,
// it is prepared: run folder, record and sandbox are its own.
func (e *Executor) claim(b runDir, s *slot, t executors.Task, p payload) error {
	if s.model != p.model {
		return fmt.Errorf("the slot %s was made for another kind of run", s.id)
	}
	mnt, err := e.mountNamespace(s)
	if err != nil {
		return err
	}
	defer mnt.Close()
	policy := e.policy(s.runDir, "", blueprint{id: s.id, model: s.model, limits: t.Limits})
	if err := cgroup.Limit(cgroup.Root, e.cgroupOf(s.id), sandbox.Limits(policy)); err != nil {
		return err
	}
	if t.InputsDir != "" || t.GivenDir != "" {
		if err := s.runDir.addInputs(t); err != nil {
			return err
		}
		if err := mountInto(mnt, s.runDir.path(inDir), unix.MOUNT_ATTR_NODEV, sandbox.InDir); err != nil {
			return fmt.Errorf("inputs: %w", err)
		}
	}
	if err := e.addPayload(s.runDir, record{Task: t, Identity: e.identity(p), Slot: s.id, Pid: s.pid}, p); err != nil {
		return err
	}
	if err := os.Rename(string(s.runDir), string(b)); err != nil {
		return fmt.Errorf("claim a slot: %w", err)
	}
	return nil
}

// ownMasks covers what a runtime masked with the host's /dev/null, as crun does, with the sandbox's
// own: locks on the host's would be seen by other runs.
func (e *Executor) ownMasks(s *slot, p sandbox.Policy) error {
	masks := sandbox.ForeignMasks(s.pid, p)
	if len(masks) == 0 {
		return nil
	}
	mnt, err := e.mountNamespace(s)
	if err != nil {
		return err
	}
	defer mnt.Close()
	return mountInto(mnt, filepath.Join(p.Dev, "null"), 0, masks...)
}

// mountInto puts what is at a path to places of a sandbox that is there already: read-only, nosuid, noexec
// and with more flags. Nothing of a request runs in it yet.
func mountInto(mnt *os.File, from string, more uint64, places ...string) error {
	var trees []int
	defer func() {
		for _, t := range trees {
			unix.Close(t)
		}
	}()
	for range places {
		tree, err := unix.OpenTree(unix.AT_FDCWD, from,
			unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			return os.NewSyscallError("open_tree", err)
		}
		trees = append(trees, tree)
		err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{
			Attr_set:    unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC | more,
			Propagation: unix.MS_PRIVATE,
		})
		if err != nil {
			return os.NewSyscallError("mount_setattr", err)
		}
	}
	return executors.OnOwnThread(func() error {
		err := os.NewSyscallError("unshare", unix.Unshare(unix.CLONE_FS))
		if err == nil {
			err = os.NewSyscallError("setns", unix.Setns(int(mnt.Fd()), unix.CLONE_NEWNS))
		}
		for i := 0; err == nil && i < len(places); i++ {
			err = os.NewSyscallError("move_mount", unix.MoveMount(trees[i], "", unix.AT_FDCWD, places[i],
				unix.MOVE_MOUNT_F_EMPTY_PATH))
		}
		return err
	})
}
