package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool/durable"
)

// runDir is the folder of one task, below Config.RunDir/boxes. Only root gets near it;
// what lies in out and scratch belongs to the payload.
type runDir string

// Entries of a run folder. The folders are mounts of their own, so that what a sandbox is told of
// its mounts names nothing of the host.
const (
	taskFile    = "task.json"   // what was asked for; there before the container is
	startFile   = "start.json"  // there before init is told to start the payload
	endFile     = "end.json"    // why the host ended it
	outcomeFile = "judged.json" // how it ended, as an Outcome; written once
	gateDir     = "gate"        // init's, see package job
	inDir       = "in"          // the inputs, if there are any
	treesDir    = "trees"       // the inputs that are folder trees, unpacked
	outDir      = "out"
	scratchDir  = "scratch" // holds tmp and shm, under one cap, an empty folder and the devices
)

// Folders of scratchDir.
const (
	tmpDir   = scratchDir + "/tmp"
	shmDir   = scratchDir + "/shm"
	emptyDir = scratchDir + "/empty"
	devDir   = scratchDir + "/dev"
)

// record is task.json. Of the task it lacks code and inputs.
type record struct {
	Task     executors.Task     `json:"task"`
	Identity executors.Identity `json:"identity"`
	// Slot is the id of container and control group, if they are those of a slot;
	// otherwise that is the task's.
	Slot string `json:"slot,omitempty"`
	// Pid is that of process 1: it means something only while it is in the control group.
	Pid int `json:"pid"`
	// Tools says that the task tells of its tool calls.
	Tools bool `json:"tools,omitempty"`
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

// runDirOf is the place of a task's run folder, whether or not it is there.
func (e *Executor) runDirOf(id string) (runDir, error) {
	if err := checkID(id); err != nil {
		return "", err
	}
	return runDir(filepath.Join(e.cfg.RunDir, runDirsDir, id)), nil
}

// runDirs are the ids of all tasks that have a run folder.
func (e *Executor) runDirs() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(e.cfg.RunDir, runDirsDir))
	if err != nil {
		return nil, fmt.Errorf("list run folders: %w", err)
	}
	var ids []string
	for _, d := range entries {
		if checkID(d.Name()) == nil {
			ids = append(ids, d.Name())
		}
	}
	return ids, nil
}

func (b runDir) path(elem ...string) string {
	return filepath.Join(append([]string{string(b)}, elem...)...)
}

func (b runDir) there() bool {
	_, err := os.Lstat(string(b))
	return err == nil
}

// has says whether the file is there.
func (b runDir) has(name string) bool {
	_, err := os.Lstat(b.path(name))
	return err == nil
}

// lacks says whether the file is certainly not there.
func (b runDir) lacks(name string) bool {
	_, err := os.Lstat(b.path(name))
	return errors.Is(err, os.ErrNotExist)
}

func (b runDir) write(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return writeFile(b.path(name), data, 0o600)
}

// read decodes a file of the run folder. os.ErrNotExist tells that it is not there.
func (b runDir) read(name string, v any) error {
	data, err := b.readText(name, job.MaxFileBytes)
	if err != nil {
		return err
	}
	if err := schemas.DecodeOpen(data, v); err != nil {
		return fmt.Errorf("read %s: %w", b.path(name), err)
	}
	return nil
}

// readIf is read, and says whether the file is there.
func (b runDir) readIf(name string, v any) (bool, error) {
	err := b.read(name, v)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// readText reads at most limit bytes of a file, and follows no link.
func (b runDir) readText(name string, limit int64) ([]byte, error) {
	f, err := durable.OpenRegular(b.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

const maxFailureBytes = 512

// failure is init's one line on why it could not do its work, or "".
func (b runDir) failure() string {
	data, _ := b.readText(filepath.Join(gateDir, job.FailureFile), maxFailureBytes)
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}

// writeFile makes the file appear complete or not at all, with that mode.
func writeFile(path string, data []byte, mode os.FileMode) error {
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	err := os.WriteFile(tmp, data, mode)
	if err == nil {
		err = os.Chmod(tmp, mode) // whatever the umask is
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	return err
}

func makeDir(path string, mode os.FileMode) error {
	if err := os.Mkdir(path, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// make builds a run folder, with its mounts. Where /tmp is to be one in which files can be
// executed, no mount beneath it may be noexec.
func (b runDir) make(l executors.Limits, execTmp, mapped bool) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("make run folder: %w", err)
		}
	}()
	for _, d := range []string{"", gateDir, inDir, outDir, scratchDir} {
		if err := makeDir(b.path(d), 0o700); err != nil {
			return err
		}
	}
	var scratch uintptr = unix.MS_NODEV | unix.MS_NOEXEC
	if execTmp {
		scratch = unix.MS_NODEV
	}
	err = errors.Join(
		mountTmpfs(b.path(gateDir), unix.MS_NOEXEC|unix.MS_NODEV, "mode=0700"),
		mountTmpfs(b.path(outDir), unix.MS_NOEXEC|unix.MS_NODEV,
			fmt.Sprintf("size=%d,nr_inodes=%d,mode=0755", l.OutBytes, l.OutFiles+1)),
		mountTmpfs(b.path(scratchDir), scratch, fmt.Sprintf("size=%d,nr_inodes=%d,mode=0755", l.TmpBytes,
			scratchFiles(l.TmpBytes)+scratchInodes)))
	if err != nil {
		return err
	}
	first, err := b.firstID()
	if err != nil {
		return err
	}
	if err := os.Chown(b.path(outDir), first+1, first+1); err != nil {
		return err
	}
	if mapped { // else process 1 is the host's root
		if err := os.Chown(b.path(gateDir), first, first); err != nil {
			return err
		}
	}
	for d, mode := range map[string]os.FileMode{tmpDir: 0o777 | os.ModeSticky, shmDir: 0o777 | os.ModeSticky,
		emptyDir: 0o555, devDir: 0o755} {
		if err := makeDir(b.path(d), mode); err != nil {
			return err
		}
	}
	for _, pipe := range []string{job.StartPipe, job.DonePipe} {
		if err := unix.Mkfifo(b.path(gateDir, pipe), 0o600); err != nil {
			return err
		}
		if err := b.handOver(pipe); err != nil {
			return err
		}
	}
	// Of its own, since no other mount of a run folder may have devices.
	if err := mountTmpfs(b.path(devDir), unix.MS_NOEXEC, "size=64k,nr_inodes=16,mode=0755"); err != nil {
		return err
	}
	return makeDevices(b.path(devDir))
}

const (
	// scratchInodes are what make puts into scratchDir: its root and four folders.
	scratchInodes = 5
	// An inode costs kernel memory even if the file is empty.
	bytesPerScratchFile = 4096
	minScratchFiles     = 256
)

// scratchFiles bounds the number of files of /tmp, which no limit names.
func scratchFiles(bytes int64) int64 { return max(bytes/bytesPerScratchFile, minScratchFiles) }

func mountTmpfs(dir string, flags uintptr, options string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|flags, options); err != nil {
		return fmt.Errorf("mount a tmpfs at %s: %w", dir, err)
	}
	return nil
}

// devices are the harmless six.
var devices = map[string]uint64{
	"null": unix.Mkdev(1, 3), "zero": unix.Mkdev(1, 5), "full": unix.Mkdev(1, 7),
	"random": unix.Mkdev(1, 8), "urandom": unix.Mkdev(1, 9), "tty": unix.Mkdev(5, 0),
}

// makeDevices makes what is in /dev. The files are the sandbox's own: locks on those of
// the host would be seen by other runs.
func makeDevices(dir string) error {
	for name, number := range devices {
		path := filepath.Join(dir, name)
		err := unix.Mknod(path, unix.S_IFCHR, int(number))
		if err == nil {
			err = os.Chmod(path, 0o666)
		}
		if err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"} {
		if err := os.Symlink("/proc/self/fd"+to, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return makeDir(filepath.Join(dir, filepath.Base(sandbox.ShmDir)), 0o755) // its mount point
}

// firstID is the first of two ids that no other run folder of this host has: that of
// process 1 in a user namespace, then that of the payload. The kernel gives every
// mounted tmpfs a device number of its own, for as long as it is mounted: that of
// /out tells the run folders of all nodes apart, and there is no list that a crash could
// leave wrong.
func (b runDir) firstID() (int, error) {
	var st unix.Stat_t
	if err := unix.Stat(b.path(outDir), &st); err != nil {
		return 0, fmt.Errorf("ids of a run: %w", err)
	}
	if unix.Major(st.Dev) != 0 { // no tmpfs
		return 0, fmt.Errorf("ids of a run: %s is no mount of its own", b.path(outDir))
	}
	return sandbox.FirstHostID + 2*int(unix.Minor(st.Dev)), nil
}

// handOver gives a file of the gate folder to who owns that: process 1.
func (b runDir) handOver(name string) error {
	var st unix.Stat_t
	if err := unix.Stat(b.path(gateDir), &st); err != nil {
		return fmt.Errorf("hand over to init: %w", err)
	}
	if err := os.Lchown(b.path(gateDir, name), int(st.Uid), int(st.Gid)); err != nil {
		return fmt.Errorf("hand over to init: %w", err)
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

// remove takes the run folder away. It is no error if there is none. The record goes
// first: what is left of a run folder when its removal is cut short says nothing of the task.
func (b runDir) remove() error {
	err := os.Remove(b.path(taskFile))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	for _, d := range []string{inDir, gateDir, outDir, scratchDir} {
		if err == nil {
			err = unmount(b.path(d))
		}
	}
	if err == nil {
		err = os.RemoveAll(string(b))
	}
	if err != nil {
		return fmt.Errorf("remove run folder: %w", err)
	}
	return nil
}
