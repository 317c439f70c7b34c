package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/job"
)

// box is the folder of one task, below RunDir/boxes. Only root gets near it;
// out and scratch are tmpfs mounts whose content belongs to the payload.
type box string

// Entries of a box.
const (
	taskFile    = "task.json"    // what was asked for; there before the container is
	startFile   = "start.json"   // there before the container is told to start
	endFile     = "end.json"     // why the host ended it
	outcomeFile = "outcome.json" // written once, after the end
	gateDir     = "gate"
	inDir       = "in" // only for a task without inputs
	outDir      = "out"
	scratchDir  = "scratch" // holds tmp and shm, under one cap
)

// record is task.json. Of the task it lacks code and inputs.
type record struct {
	Task     executors.Task     `json:"task"`
	Identity executors.Identity `json:"identity"`
	// Slot is the id of container and control group, if they were made ahead of
	// need; otherwise that is the task's.
	Slot string `json:"slot,omitempty"`
}

// container is the id of the task's container.
func (rec record) container() string {
	if rec.Slot != "" {
		return rec.Slot
	}
	return rec.Task.ID
}

// startRecord is start.json.
type startRecord struct {
	At        time.Time     `json:"at"`
	Monotonic time.Duration `json:"monotonic"`
}

// endRecord is end.json.
type endRecord struct {
	// Deadline: the wall clock limit had passed and init had not acted; else the gate asked for the end.
	Deadline bool `json:"deadline"`
}

var idRule = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const maxIDBytes = 64

func checkID(id string) error {
	if len(id) > maxIDBytes || !idRule.MatchString(id) {
		return fmt.Errorf("task id %q: must be of a-z, 0-9 and single dashes, at most %d", id, maxIDBytes)
	}
	return nil
}

// boxOf is the place of a task's box, whether or not it is there.
func (e *Executor) boxOf(id string) (box, error) {
	if err := checkID(id); err != nil {
		return "", err
	}
	return box(filepath.Join(e.cfg.RunDir, boxesDir, id)), nil
}

func (b box) path(elem ...string) string {
	return filepath.Join(append([]string{string(b)}, elem...)...)
}

func (b box) there() bool {
	_, err := os.Lstat(string(b))
	return err == nil
}

func (b box) write(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return writeFile(b.path(name), data, 0o600)
}

// read decodes a file of the box. os.ErrNotExist tells that it is not there.
func (b box) read(name string, v any) error {
	data, err := readFile(b.path(name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read %s: %w", b.path(name), err)
	}
	return nil
}

// has says whether the file is there.
func (b box) has(name string) bool {
	var st unix.Stat_t
	return unix.Lstat(b.path(name), &st) == nil
}

// make builds the box of a task, with its mounts. Where /tmp is to be one in which
// files can be executed, no mount beneath it may be noexec.
func (b box) make(l executors.Limits, execTmp bool) error {
	if err := os.Mkdir(string(b), 0o700); err != nil {
		return fmt.Errorf("make box: %w", err)
	}
	for _, d := range []string{gateDir, inDir, outDir, scratchDir} {
		if err := os.Mkdir(b.path(d), 0o700); err != nil {
			return fmt.Errorf("make box: %w", err)
		}
	}
	if err := os.Chmod(b.path(inDir), 0o555); err != nil {
		return fmt.Errorf("make box: %w", err)
	}
	if err := unix.Mkfifo(b.path(gateDir, job.DoneFile), 0o600); err != nil {
		return fmt.Errorf("make box: %w", err)
	}
	if err := mountTmpfs(b.path(outDir), l.OutBytes, int64(l.OutFiles), unix.MS_NOEXEC, "mode=0755"); err != nil {
		return err
	}
	first, err := b.firstID()
	if err != nil {
		return err
	}
	if err := os.Chown(b.path(outDir), first+1, first+1); err != nil {
		return fmt.Errorf("make box: %w", err)
	}
	var flags uintptr = unix.MS_NOEXEC
	if execTmp {
		flags = 0
	}
	if err := mountTmpfs(b.path(scratchDir), l.TmpBytes, scratchFiles(l.TmpBytes), flags, "mode=0755"); err != nil {
		return err
	}
	for _, d := range []string{"tmp", "shm"} {
		if err := os.Mkdir(b.path(scratchDir, d), 0o700); err != nil {
			return fmt.Errorf("make box: %w", err)
		}
		if err := os.Chmod(b.path(scratchDir, d), 0o777|os.ModeSticky); err != nil {
			return fmt.Errorf("make box: %w", err)
		}
	}
	return nil
}

const (
	// ownInodes is that of a tmpfs's own root.
	ownInodes = 1
	// An inode costs kernel memory even if the file is empty.
	bytesPerScratchFile = 4096
	minScratchFiles     = 256
)

// scratchFiles bounds the number of files of /tmp, which no limit names.
func scratchFiles(bytes int64) int64 { return max(bytes/bytesPerScratchFile, minScratchFiles) }

func mountTmpfs(dir string, bytes, inodes int64, flags uintptr, options string) error {
	data := fmt.Sprintf("size=%d,nr_inodes=%d,%s", bytes, inodes+ownInodes, options)
	if err := unix.Mount("threegate", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|flags, data); err != nil {
		return fmt.Errorf("make box: mount a tmpfs at %s: %w", dir, err)
	}
	return nil
}

// full says whether the tmpfs at dir has no byte or no inode left.
func full(dir string) bool {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		return false
	}
	return fs.Bavail == 0 || fs.Ffree == 0
}

// remove takes the box away. It is no error if there is none. The record goes
// first: what is left of a box when its removal is cut short says nothing of the task.
func (b box) remove() error {
	if err := os.Remove(b.path(taskFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove box: %w", err)
	}
	for _, d := range []string{outDir, scratchDir} {
		for { // a crash between two attempts may have left one upon the other
			err := unix.Unmount(b.path(d), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
			if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
				break
			}
			if err != nil {
				return fmt.Errorf("remove box: unmount %s: %w", b.path(d), err)
			}
		}
	}
	if err := os.RemoveAll(string(b)); err != nil {
		return fmt.Errorf("remove box: %w", err)
	}
	return nil
}

// boxes are the ids of all tasks that have a box.
func (e *Executor) boxes() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(e.cfg.RunDir, boxesDir))
	if err != nil {
		return nil, fmt.Errorf("list boxes: %w", err)
	}
	var ids []string
	for _, d := range entries {
		if !strings.HasPrefix(d.Name(), ".") && checkID(d.Name()) == nil {
			ids = append(ids, d.Name())
		}
	}
	return ids, nil
}
