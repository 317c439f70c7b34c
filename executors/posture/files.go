package posture

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// fileTechniques go through files.
var fileTechniques = []technique{
	creates("write-root", "EROFS", "/threegate-posture", "write to the root"),
	creates("write-usr", "EROFS", "/usr/threegate-posture", "change what the image holds"),
	creates("write-etc", "EROFS", "/etc/threegate-posture", "change the identity files"),
	creates("write-in", "EROFS", "/in/threegate-posture", "change the inputs"),
	creates("write-dev", "EROFS", "/dev/threegate-posture", "put something into /dev"),
	creates("write-gate", "EACCES", "/gate/threegate-posture", "write into the folder of process 1"),
	{"read-gate", "file", "EACCES", "", "read the job of process 1", func() error { return readFrom("/gate/job.json") }},
	{"forge-result", "file", "EACCES", "", "write the result instead of process 1", func() error { return create("/gate/result.json") }},
	{"overwrite-init", "file", "EROFS|ETXTBSY|EACCES", "", "overwrite the program of process 1", func() error { return open("/gate-init", os.O_WRONLY) }},
	{"overwrite-self", "file", "EROFS|ETXTBSY|EACCES", "", "overwrite the own program through /proc/self/exe", func() error { return open("/proc/self/exe", os.O_WRONLY) }},
	{"mknod-null", "file", "EPERM", "", "make a device node", func() error { return mknod("/tmp/null", unix.S_IFCHR, 1, 3) }},
	{"mknod-mem", "file", "EPERM", "", "make a node for physical memory", func() error { return mknod("/tmp/mem", unix.S_IFCHR, 1, 1) }},
	{"mknod-disk", "file", "EPERM", "", "make a node for a disk", func() error { return mknod("/out/disk", unix.S_IFBLK, 8, 0) }},
	{"open-by-handle", "file", "EPERM", "", "open a file by its handle, past all mounts", func() error {
		fd, err := unix.OpenByHandleAt(unix.AT_FDCWD, unix.NewFileHandle(1, make([]byte, 8)), 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{"name-to-handle", "file", "EPERM", "", "get such a handle", func() error { _, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/tmp", 0); return err }},
	{"hardlink-out", "file", "EXDEV|EROFS|EPERM", "", "hard-link a file of the root into /out", func() error { return link("/etc/passwd", "/out/threegate-posture-link") }},
	{"hardlink-in", "file", "EXDEV|EROFS|EPERM|ENOENT", "", "hard-link an input into /out", func() error { return link("/in/threegate-posture", "/out/threegate-posture-link") }},
	{"chown-root", "file", "EPERM|EINVAL", "", "give a file to root", func() error {
		return inFile("/tmp/threegate-posture-own", func(p string) error { return os.Chown(p, 0, 0) })
	}},
	{"setuid-program", "file", "EACCES", "", "make a setuid program in /out and run it", func() error { return execCopy("/out", 0o6755) }},
	{"exec-tmp", "file", "EACCES", "", "execute what was written to /tmp", func() error { return execCopy("/tmp", 0o755) }},
	{"exec-out", "file", "EACCES", "", "execute what was written to /out", func() error { return execCopy("/out", 0o755) }},
	{"exec-shm", "file", "EACCES", "", "execute what was written to /dev/shm", func() error { return execCopy("/dev/shm", 0o755) }},
	{"map-exec-tmp", "file", "EPERM", "", "map what was written to /tmp as code", mapExec},
	{"protect-exec-tmp", "file", "EACCES|EPERM", "", "map what was written to /tmp and make it code later", protectExec},
	{"exec-descriptor", "file", "EACCES", "", "execute what was written to /tmp through its descriptor", execDescriptor},
	{"immutable", "file", "EPERM|ENOTTY|EOPNOTSUPP", "", "make a file in /out that nobody can remove", func() error { return setFlags("/out/threegate-posture-flags", 0x10) }},
	{"append-only", "file", "EPERM|ENOTTY|EOPNOTSUPP", "", "make a file in /out that nobody can cut", func() error { return setFlags("/out/threegate-posture-flags", 0x20) }},
	{"trusted-attribute", "file", "EPERM|EOPNOTSUPP", "", "set an attribute that only the host's root has", func() error {
		return inFile("/out/threegate-posture-attr", func(p string) error { return unix.Setxattr(p, "trusted.overlay.opaque", []byte("y"), 0) })
	}},
	{"file-capability", "file", "EPERM|EOPNOTSUPP", "", "give a program a capability", func() error {
		return inFile("/out/threegate-posture-attr", func(p string) error {
			return unix.Setxattr(p, "security.capability", []byte("\x01\x00\x00\x02\xff\xff\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00"), 0)
		})
	}},
	{"memfd-create", "file", "ENOSYS", "", "make a file without a name, to execute it", func() error { return newFD(unix.SYS_MEMFD_CREATE, text("x"), 0) }},
	{"memfd-secret", "file", "ENOSYS", "", "make memory that nobody sees", func() error { return newFD(unix.SYS_MEMFD_SECRET, 0) }},
	{"execveat", "file", "ENOSYS", "", "execute a descriptor", func() error { return call(unix.SYS_EXECVEAT, ^uintptr(0), text(""), 0, 0, unix.AT_EMPTY_PATH) }},
	{"dotdot", "file", "ENOENT", "", "leave the root by ..", func() error { return readFrom("/in/" + strings.Repeat("../", 40) + "var/lib/dpkg/status") }},
	{"containerd-socket", "file", "ENOENT", "", "reach containerd's socket", func() error { return open("/run/containerd/containerd.sock", os.O_RDONLY) }},
	{"docker-socket", "file", "ENOENT", "", "reach Docker's socket", func() error { return open("/var/run/docker.sock", os.O_RDONLY) }},
	{"systemd-socket", "file", "ENOENT", "", "reach systemd's socket", func() error { return open("/run/systemd/private", os.O_RDONLY) }},
	{"podman-socket", "file", "ENOENT", "", "reach Podman's socket", func() error { return open("/run/podman/podman.sock", os.O_RDONLY) }},
	{"crio-socket", "file", "ENOENT", "", "reach CRI-O's socket", func() error { return open("/var/run/crio/crio.sock", os.O_RDONLY) }},
	{"notify-socket", "file", "ENOENT", "", "reach systemd's notification socket", func() error { return open("/run/systemd/notify", os.O_RDONLY) }},
	{"log-socket", "file", "ENOENT", "", "write to the host's log", func() error { return open("/dev/log", os.O_RDONLY) }},
	{"dbus-socket", "file", "ENOENT", "", "reach D-Bus, and polkit behind it (CVE-2021-3560)", func() error { return open("/run/dbus/system_bus_socket", os.O_RDONLY) }},
	{"shadow", "file", "ENOENT|EACCES", "", "read the passwords", func() error { return readFrom("/etc/shadow") }},
	{"setuid-files", "file", "none", "", "find setuid programs and files with capabilities", setuidFiles},
	{"leaked-descriptors", "file", "none", "", "find descriptors that were left open", leakedDescriptors},
	{"sync", "file", "EPERM", "", "make the host write its disks (sync)", func() error { return call(unix.SYS_SYNC) }},
	{"syncfs", "file", "EPERM", "", "make the host write the disk that the inputs are on (syncfs)", func() error {
		f, err := os.Open("/in")
		if err != nil {
			return err
		}
		defer f.Close()
		return unix.Syncfs(int(f.Fd()))
	}},
}

func creates(name, want, path, what string) technique {
	return technique{name: name, group: "file", want: want, what: what, try: func() error { return create(path) }}
}

func create(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		f.Close()
		os.Remove(path)
	}
	return err
}

func open(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0)
	if err == nil {
		f.Close()
	}
	return err
}

func mknod(path string, kind uint32, major, minor uint32) error {
	err := unix.Mknod(path, kind|0o600, int(unix.Mkdev(major, minor)))
	if err == nil {
		os.Remove(path)
	}
	return err
}

func link(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		os.Remove(to)
	}
	return err
}

func inFile(path string, f func(string) error) error {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return found("no file to try with")
	}
	defer os.Remove(path)
	return f(path)
}

// execCopy copies this program into dir and executes it there.
func execCopy(dir string, mode os.FileMode) error {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return found("no program to try with")
	}
	path := filepath.Join(dir, "threegate-posture-exec")
	if err := os.WriteFile(path, program, 0o600); err != nil {
		return found("no file to try with")
	}
	defer os.Remove(path)
	if err := unix.Chmod(path, uint32(mode)); err != nil {
		return err
	}
	pid, err := syscall.ForkExec(path, []string{path, "posture", "nothing"}, &syscall.ProcAttr{})
	if err == nil {
		_, err = syscall.Wait4(pid, nil, 0, nil)
	}
	return err
}

func mapExec() error {
	const path = "/tmp/threegate-posture-map"
	if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
		return found("no file to try with")
	}
	defer os.Remove(path)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	mem, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err == nil {
		err = unix.Munmap(mem)
	}
	return err
}

// setuidFiles looks through the whole tree. The mounts are nosuid, so that it
// would do nothing; there should be none all the same.
func setuidFiles() error {
	hit := false
	err := filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what can't be read can't be run
		}
		if path == "/proc" || path == "/dev" {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			hit = true
			return fs.SkipAll
		}
		if n, err := unix.Lgetxattr(path, "security.capability", nil); err == nil && n > 0 {
			hit = true
			return fs.SkipAll
		}
		return nil
	})
	if hit {
		return nil
	}
	if err != nil {
		return err
	}
	return none
}

// leakedDescriptors looks for open files that are neither a stream nor made by
// this program's own runtime.
func leakedDescriptors() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || len(e.Name()) == 1 && e.Name() <= "2" {
			continue
		}
		if strings.HasPrefix(target, "anon_inode:[event") || strings.HasSuffix(target, "/fd") {
			continue
		}
		return nil
	}
	return none
}

// protectExec maps a file as data and then asks for it to be code.
func protectExec() error {
	const path = "/tmp/threegate-posture-protect"
	if err := os.WriteFile(path, make([]byte, 4096), 0o700); err != nil {
		return found("no file to try with")
	}
	defer os.Remove(path)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	mem, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	defer unix.Munmap(mem)
	return unix.Mprotect(mem, unix.PROT_READ|unix.PROT_EXEC)
}

func execDescriptor() error {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return found("no program to try with")
	}
	const path = "/tmp/threegate-posture-descriptor"
	if err := os.WriteFile(path, program, 0o700); err != nil {
		return found("no file to try with")
	}
	defer os.Remove(path)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	pid, err := syscall.ForkExec(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), []string{"posture", "posture", "nothing"}, &syscall.ProcAttr{})
	if err == nil {
		_, err = syscall.Wait4(pid, nil, 0, nil)
	}
	return err
}

// setFlags sets the flags that chattr sets, and takes them away again.
func setFlags(path string, flags int) error {
	return inFile(path, func(p string) error {
		f, err := os.OpenFile(p, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags); err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0)
	})
}
