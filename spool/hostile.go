package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool/durable"
)

// defect is one thing that is wrong with a file that somebody put into an inbox.
type defect struct {
	kind string // last part of the rule id
	text string // goes on after "the request file "
}

func (d defect) rule(prefix string) string { return prefix + d.kind }

// The kinds of defects.
const (
	defectKind       = "kind"
	defectHardlink   = "hardlink"
	defectSize       = "size"
	defectUnreadable = "unreadable"
	defectBusy       = "busy"
	defectMode       = "mode"
)

// entry is what was seen of such a file.
type entry struct {
	mode    uint32 // the kind, as in st_mode
	perm    uint32
	uid     uint32
	gid     uint32
	size    int64
	modTime time.Time
	excerpt string
	defects []defect
	// copied says that the node has all its bytes.
	copied bool
	// special says that it is neither a file nor a folder.
	special bool
	// foreign says that something else is mounted there.
	foreign bool
}

func (l *entry) refuse(kind, format string, args ...any) {
	l.defects = append(l.defects, defect{kind, fmt.Sprintf(format, args...)})
}

// copyIn looks at one entry of a folder that others may still change, and copies
// it to the fresh file dst if it is a regular file of bounded size. Nothing but a
// regular file is ever opened. The error is ErrBusy or trouble of ours; what is
// wrong with it is in the entry.
func (t *taker) copyIn(step string, dir int, name, dst string, limit int64) (durable.Copied, entry, error) {
	s, timeUp := t.s, t.timeUp
	var none durable.Copied
	pin, l, err := look(s.disk, step, dir, name)
	if err != nil {
		return none, l, err
	}
	defer unix.Close(pin)
	switch {
	case l.foreign:
		l.refuse(defectKind, "is a mount point, not a file")
		return none, l, nil
	case l.mode != unix.S_IFREG:
		l.refuse(defectKind, "is a %s, not a file", kindOf(l.mode))
		return none, l, nil
	}
	if l.size > limit {
		l.refuse(defectSize, "has %d bytes, at most %d are allowed", l.size, limit)
		return none, l, nil
	}
	f, err := reopen(s.disk, step, pin, name, &l, timeUp)
	if err != nil || f == nil {
		return none, l, err
	}
	defer f.Close()
	before, leased, err := watchWriters(f)
	if errors.Is(err, ErrBusy) {
		return none, l, l.busy(timeUp)
	}
	if err != nil {
		return none, l, err
	}
	c, err := s.disk.Copy(step, dst, modeGroupFile, f, limit)
	switch {
	case errors.Is(err, durable.ErrTooLong):
		return none, l, l.busy(timeUp) // it grew meanwhile
	case errors.Is(err, durable.ErrSource) && (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) ||
		errors.Is(err, unix.EISDIR)):
		l.refuse(defectUnreadable, "can't be read: %v", reason(err))
		return none, l, nil
	case err != nil:
		return none, l, err
	}
	if changed(f, before, leased) {
		if err := s.disk.Remove(step+".undo", dst); err != nil {
			return none, l, err
		}
		return none, l, l.busy(timeUp)
	}
	l.copied = true
	t.batch.File(step, dst)
	return c, l, nil
}

// busy is ErrBusy while waiting makes sense, and a defect after that.
func (l *entry) busy(timeUp bool) error {
	if !timeUp {
		return ErrBusy
	}
	l.refuse(defectBusy, "was still being written by another program when its time was up")
	return nil
}

// look pins an entry without opening it and says what it is. It follows no link
// and enters no other filesystem, which could make the node wait for ever. The
// caller closes pin, also when it is negative.
func look(disk durable.Disk, step string, dir int, name string) (pin int, l entry, err error) {
	pin = -1
	err = disk.Open(step, name, func() error {
		var err error
		pin, err = unix.Openat2(dir, name, &unix.OpenHow{
			Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
		})
		return err
	})
	if errors.Is(err, unix.EXDEV) {
		return -1, entry{foreign: true, excerpt: "mount point"}, nil
	}
	if err != nil {
		return -1, l, fmt.Errorf("looking at %s: %w", Quote(name), err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(pin, &st); err != nil {
		unix.Close(pin)
		return -1, l, err
	}
	l.mode, l.perm, l.uid, l.gid = st.Mode&unix.S_IFMT, st.Mode&0o7777, st.Uid, st.Gid
	l.size, l.modTime = st.Size, time.Unix(st.Mtim.Unix()).UTC()
	l.excerpt = fmt.Sprintf("%s, mode %04o, owner %d:%d, %d bytes, %d links", kindOf(st.Mode), st.Mode&0o7777, st.Uid,
		st.Gid, st.Size, st.Nlink)
	switch l.mode {
	case unix.S_IFREG:
		if st.Nlink != 1 {
			l.refuse(defectHardlink, "has %d names (hard links); whoever holds another one could change it", st.Nlink)
		}
	case unix.S_IFDIR:
	case unix.S_IFLNK:
		l.special = true
		l.excerpt += ", to " + Quote(linkTarget(pin))
	case unix.S_IFCHR, unix.S_IFBLK:
		l.special = true
		l.excerpt += fmt.Sprintf(", device %d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	default:
		l.special = true
	}
	return pin, l, nil
}

// reopen opens a pinned regular file for reading. It goes through /proc, so that
// it is the very inode that was checked.
func reopen(disk durable.Disk, step string, pin int, name string, l *entry, timeUp bool) (*os.File, error) {
	var fd int
	err := disk.Open(step+".read", name, func() error {
		var err error
		fd, err = unix.Open(procPath(pin), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	switch {
	case err == nil:
		return os.NewFile(uintptr(fd), name), nil
	case errors.Is(err, unix.EWOULDBLOCK): // somebody holds a lease on it
		return nil, l.busy(timeUp)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		l.refuse(defectUnreadable, "can't be read: %v", reason(err))
		return nil, nil
	}
	return nil, err
}

// watchWriters takes a read lease: the kernel grants it only while nobody has
// the file open for writing, and breaks it when somebody tries. Where leases do
// not work, only the comparison of before and after is left.
func watchWriters(f *os.File) (before unix.Stat_t, leased bool, err error) {
	if err := unix.Fstat(int(f.Fd()), &before); err != nil {
		return before, false, err
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if errors.Is(err, unix.EAGAIN) {
		return before, false, ErrBusy
	}
	return before, err == nil, nil
}

// changed says whether anybody wrote to f, or began to, since watchWriters.
func changed(f *os.File, before unix.Stat_t, leased bool) bool {
	var after unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &after); err != nil {
		return true
	}
	if after.Size != before.Size || after.Mtim != before.Mtim {
		return true
	}
	if !leased {
		return false
	}
	held, err := unix.FcntlInt(f.Fd(), unix.F_GETLEASE, 0)
	return err != nil || held != unix.F_RDLCK
}

func linkTarget(pin int) string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(pin, "", buf)
	if err != nil {
		return "?"
	}
	return string(buf[:n])
}

func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "regular file"
	case unix.S_IFDIR:
		return "folder"
	case unix.S_IFLNK:
		return "symbolic link"
	case unix.S_IFIFO:
		return "FIFO"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFCHR:
		return "character device"
	case unix.S_IFBLK:
		return "block device"
	}
	return "unknown kind of file"
}

// readDirNames lists a folder that is open, in batches, until stop says so.
func readDirNames(f *os.File, each func(name string) (more bool)) error {
	for {
		names, err := f.Readdirnames(1024)
		for _, n := range names {
			if !each(n) {
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
