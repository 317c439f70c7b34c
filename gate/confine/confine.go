// Package confine takes from this process, for good, what a command does not need: files
// that nobody named, the network, other programs and other processes. Commands call it
// before they read an untrusted document, so that a flaw in a parser reaches no more than
// the files that were named.
//
// Landlock restricts files. A seccomp filter denies the rest, also on kernels without
// Landlock. Open descriptors stay usable.
package confine

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Needs are the files and folders that a command still has to reach. A folder includes all
// that lies below. Links are followed now. A path that does not exist gives no right.
type Needs struct {
	// Read may be read and listed.
	Read []string
	// Write are folders in which files and folders are made, changed, removed and
	// listed, but read only if Read names them, too.
	Write []string
	// Accept: connections to sockets that listen already are taken. None can be made.
	Accept bool
}

// Rights to files, as Landlock splits them. Nobody needs to execute, to make devices,
// sockets or links, or to move anything from one folder to another.
const (
	readFile  = ll.AccessFSReadFile
	readDir   = ll.AccessFSReadFile | ll.AccessFSReadDir
	writeFile = ll.AccessFSWriteFile | ll.AccessFSTruncate
	writeDir  = writeFile | ll.AccessFSReadDir | ll.AccessFSMakeReg | ll.AccessFSMakeDir |
		ll.AccessFSRemoveFile | ll.AccessFSRemoveDir
)

// Apply confines the whole process, once: rights only shrink. If the kernel has no
// Landlock, or only a part of it, Apply does what the kernel can; see ABI. An error says
// that the kernel refused something that it has.
func Apply(n Needs) error {
	_, _ = time.Now().Local().Zone() // read now: the file with the time zone is out of reach later
	var rules []landlock.Rule
	var held []*os.File // until the rules are made, so that a path means one thing
	defer func() {
		for _, f := range held {
			_ = f.Close()
		}
	}()
	add := func(path string, dir, file landlock.AccessFSSet) {
		f, isDir, ok := hold(path)
		if !ok {
			return
		}
		held = append(held, f)
		access := file
		if isDir {
			access = dir
		}
		rules = append(rules, landlock.PathAccess(access, fmt.Sprintf("/proc/self/fd/%d", f.Fd())))
	}
	for _, p := range n.Read {
		add(p, readDir, readFile)
	}
	for _, p := range n.Write {
		add(p, writeDir, writeFile)
	}
	if err := landlock.V11.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return filter(n.Accept)
}

// hold opens a path without any right to what lies there.
func hold(path string) (f *os.File, dir, ok bool) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false, false // whoever uses it gets the same answer, and says so
	}
	f = os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	var of unix.Statfs_t
	if errors.Join(unix.Fstat(fd, &st), unix.Fstatfs(fd, &of)) != nil || of.Type == unix.PIPEFS_MAGIC ||
		of.Type == unix.SOCKFS_MAGIC {
		return nil, false, f.Close() != nil // an open pipe, by way of /dev/stdin: Landlock leaves it alone
	}
	return f, st.Mode&unix.S_IFMT == unix.S_IFDIR, true
}

// ABI is the version of Landlock that the kernel has, 0 if it has none: from 1 on files
// are restricted, from 3 on truncation, from 4 on TCP, from 6 on signals.
func ABI() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return max(v, 0)
}
