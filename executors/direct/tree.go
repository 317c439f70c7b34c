package direct

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
)

// devices are the harmless six; links lead to them and to a program's own streams.
var (
	devices = []string{"/dev/full", "/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"}
	links   = map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
)

// emptyDir is a folder of every image's root with nothing in it: there is no /sys.
const emptyDir = "/sys"

// parts are the mounts of a sandbox, made and nowhere yet.
type parts struct {
	root, dev int
	binds     []bind
}

type bind struct {
	at string
	fd int
}

func (p *parts) close() {
	for _, fd := range append([]int{p.root, p.dev}, fds(p.binds)...) {
		if fd >= 0 {
			_ = unix.Close(fd) // what was not put anywhere goes with it
		}
	}
}

func fds(bs []bind) []int {
	var all []int
	for _, b := range bs {
		all = append(all, b.fd)
	}
	return all
}

// openParts takes them from the host's file system.
func openParts(p sandbox.Policy) (*parts, error) {
	x := &parts{root: -1, dev: -1}
	err := x.open(p)
	if err != nil {
		x.close()
		return nil, fmt.Errorf("make a sandbox: %w", err)
	}
	return x, nil
}

const (
	quiet = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	data  = quiet | unix.MOUNT_ATTR_NOEXEC
)

func (x *parts) open(p sandbox.Policy) (err error) {
	if x.root, err = clone(p.Root, quiet|unix.MOUNT_ATTR_RDONLY); err != nil {
		return err
	}
	if x.dev, err = deviceFolder(p.FirstID); err != nil {
		return err
	}
	add := func(at, from string, attr uint64) {
		if err == nil {
			var fd int
			if fd, err = clone(from, attr); err == nil {
				x.binds = append(x.binds, bind{at, fd})
			}
		}
	}
	for _, d := range devices {
		add(d, d, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	}
	add(sandbox.ShmDir, p.Shm, data)
	add(sandbox.InDir, p.In, data|unix.MOUNT_ATTR_RDONLY)
	add(sandbox.OutDir, p.Out, data)
	if p.ExecTmp {
		add(sandbox.TmpDir, p.Tmp, quiet)
	} else {
		add(sandbox.TmpDir, p.Tmp, data)
	}
	add(job.Dir, p.Gate, data)
	add(job.InitPath, p.Init, quiet|unix.MOUNT_ATTR_RDONLY)
	return err
}

// clone makes a mount of what is at path, without those below it.
func clone(path string, attr uint64) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return -1, &fs.PathError{Op: "open_tree", Path: path, Err: err}
	}
	if err := setAttributes(fd, attr); err != nil {
		return -1, errors.Join(&fs.PathError{Op: "mount_setattr", Path: path, Err: err}, unix.Close(fd))
	}
	return fd, nil
}

func setAttributes(fd int, attr uint64) error {
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: attr, Propagation: unix.MS_PRIVATE})
}

// fileSystem makes a new file system and a mount of it.
func fileSystem(kind string, options map[string]string, attr int) (int, error) {
	f, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("fsopen "+kind, err)
	}
	defer unix.Close(f)
	for k, v := range options {
		if err := unix.FsconfigSetString(f, k, v); err != nil {
			return -1, os.NewSyscallError("fsconfig "+k, err)
		}
	}
	if err := unix.FsconfigCreate(f); err != nil {
		return -1, os.NewSyscallError("fsconfig "+kind, err)
	}
	fd, err := unix.Fsmount(f, unix.FSMOUNT_CLOEXEC, attr)
	if err != nil {
		return -1, os.NewSyscallError("fsmount "+kind, err)
	}
	return fd, nil
}

// deviceFolder is /dev: mount points of the devices, links, and the folder of shm.
// It is written before it is mounted read-only.
func deviceFolder(owner int) (int, error) {
	fd, err := fileSystem("tmpfs", map[string]string{"mode": "755", "size": "64k", "uid": strconv.Itoa(owner), "gid": strconv.Itoa(owner)},
		unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_STRICTATIME)
	if err != nil {
		return -1, err
	}
	fill := func() error {
		for _, d := range devices {
			f, err := unix.Openat(fd, filepath.Base(d), unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_WRONLY, 0o444)
			if err == nil {
				err = unix.Close(f)
			}
			if err != nil {
				return err
			}
		}
		for name, to := range links {
			if err := unix.Symlinkat(to, fd, name); err != nil {
				return err
			}
		}
		if err := unix.Mkdirat(fd, filepath.Base(sandbox.ShmDir), 0o755); err != nil {
			return err
		}
		return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY, Propagation: unix.MS_PRIVATE})
	}
	if err := fill(); err != nil {
		return -1, errors.Join(fmt.Errorf("fill /dev: %w", err), unix.Close(fd))
	}
	return fd, nil
}

// put puts a mount to its place, seen from the calling thread.
func put(fd int, at string) error {
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return &fs.PathError{Op: "move_mount", Path: at, Err: err}
	}
	return nil
}

// enterRoot makes root, a mount that is nowhere yet, the root of the calling
// thread's mount namespace, and of every process in it, and drops all else that
// was there. Through is a folder that is there.
func enterRoot(root int, through string) error {
	if err := put(root, through); err != nil {
		return err
	}
	if err := unix.Fchdir(root); err != nil {
		return os.NewSyscallError("fchdir", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return os.NewSyscallError("pivot_root", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil { // the old root is on top
		return os.NewSyscallError("umount", err)
	}
	return os.NewSyscallError("chdir", unix.Chdir("/"))
}

// mould is the mount namespace that those of an image's sandboxes begin as: its
// root, init, and a /proc: for the thread that starts them, and because the kernel
// lets init make its own only where there is one. So init sees no other mount of the
// host's, not for an instant. The mould is made once and kept open.
type mould struct {
	ns   *os.File
	init identity
}

// mostMoulds are kept. Each keeps an image and a program of init alive.
const mostMoulds = 32

// identity tells files apart, also those that have had the same name.
type identity struct{ dev, ino uint64 }

func identify(path string) (identity, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return identity{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return identity{st.Dev, st.Ino}, nil
}

// dropMoulds lets go of all; the sandboxes made from them go on.
func (m *Maker) dropMoulds() error {
	var errs []error
	for _, x := range m.moulds {
		errs = append(errs, x.ns.Close())
	}
	clear(m.moulds)
	return errors.Join(errs...)
}

// mould gives the one of the policy's image, with that program of init.
func (m *Maker) mould(p sandbox.Policy, init identity) (*os.File, error) {
	x, ok := m.moulds[p.Root]
	if ok && x.init == init {
		return x.ns, nil
	}
	if ok || len(m.moulds) >= mostMoulds { // there is another init, or many images have gone
		if err := m.dropMoulds(); err != nil {
			return nil, err
		}
	}
	var f *os.File
	err := onThread(func() (err error) {
		root, err := clone(p.Root, quiet|unix.MOUNT_ATTR_RDONLY)
		if err != nil {
			return err
		}
		defer unix.Close(root)
		init, err := clone(p.Init, quiet|unix.MOUNT_ATTR_RDONLY)
		if err != nil {
			return err
		}
		defer unix.Close(init)
		proc, err := fileSystem("proc", map[string]string{"hidepid": "invisible"}, data)
		if err != nil {
			return err
		}
		defer unix.Close(proc)
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return os.NewSyscallError("unshare", err)
		}
		// What is done below is seen nowhere else.
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return os.NewSyscallError("mount", err)
		}
		if err := enterRoot(root, filepath.Dir(p.Root)); err != nil {
			return err
		}
		if err := errors.Join(put(init, job.InitPath), put(proc, "/proc")); err != nil {
			return err
		}
		f, err = m.open("self/task/" + strconv.Itoa(unix.Gettid()) + "/ns/mnt")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the making of sandboxes: %w", err)
	}
	m.moulds[p.Root] = mould{f, init}
	return f, nil
}

// open opens a file of the host's /proc, wherever the calling thread is.
func (m *Maker) open(name string) (*os.File, error) {
	fd, err := unix.Openat(int(m.proc.Fd()), name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: "/proc/" + name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// furnish gives a sandbox's mount namespace, a copy of the mould, what belongs in it
// and takes away what does not. Its init has mounted its /proc, and waits.
func (m *Maker) furnish(pid int, x *parts, spec *specs.Spec) error {
	ns, err := m.open(strconv.Itoa(pid) + "/ns/mnt")
	if err != nil {
		return err
	}
	err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNS)
	if err = errors.Join(os.NewSyscallError("setns", err), ns.Close()); err != nil {
		return err
	}
	// This thread's descriptors are its own: one that is opened here is closed here.
	proc, err := clone("/proc", data)
	if err != nil {
		return err
	}
	defer unix.Close(proc)
	if err := enterRoot(x.root, sandbox.InDir); err != nil {
		return err
	}
	for _, b := range slices.Concat([]bind{{"/proc", proc}, {"/dev", x.dev}}, x.binds) {
		if err := put(b.fd, b.at); err != nil {
			return err
		}
	}
	for _, at := range spec.Linux.ReadonlyPaths {
		if err := cover(at, at, data|unix.MOUNT_ATTR_RDONLY); err != nil {
			return err
		}
	}
	for _, at := range spec.Linux.MaskedPaths {
		if err := mask(at); err != nil {
			return err
		}
	}
	return nil
}

// mask hides a file or folder of /proc, if this kernel has it.
func mask(at string) error {
	st, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.IsDir():
		return cover(at, emptyDir, data|unix.MOUNT_ATTR_RDONLY)
	default:
		return cover(at, os.DevNull, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
	}
}

// cover puts a mount of what is at from over another place.
func cover(at, from string, attr uint64) error {
	fd, err := clone(from, attr)
	if err != nil {
		return err
	}
	return errors.Join(put(fd, at), unix.Close(fd))
}
