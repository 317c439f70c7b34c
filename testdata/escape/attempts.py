"""Attempts of a python program to get out. See README.md."""

import ctypes
import errno
import fcntl
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

libc = ctypes.CDLL(None, use_errno=True)
tried = 0


def word(e):
    if isinstance(e, OSError) and e.errno is not None and e.errno in errno.errorcode:
        return errno.errorcode[e.errno]
    return type(e).__name__


def attempt(name, want, f, *args):
    global tried
    tried += 1
    try:
        f(*args)
        got = "POSSIBLE"
    except BaseException as e:
        got = word(e)
    print(f"{name} | {got} | {want}")


def look(name, want, f):
    global tried
    tried += 1
    try:
        got = f()
    except BaseException as e:
        got = word(e)
    print(f"{name} | {got} | {want}")


def call(nr, *args):
    if libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args]) < 0:
        raise OSError(ctypes.get_errno(), "")


def c(function, *args):
    if getattr(libc, function)(*args) < 0:
        raise OSError(ctypes.get_errno(), "")


def write(path):
    fd = os.open(path, os.O_WRONLY)
    null = os.fstat(fd).st_rdev == 0x103  # a file that the kernel has is masked by it
    os.close(fd)
    if null:
        raise OSError(errno.EACCES, "it is /dev/null")


def map_huge():
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, 2 << 20, 3, 0x40022, -1, 0)
    if at == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "")


def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(3)
        s.connect(address)


# before anything else: what was left open
look("descriptors", "none", lambda: "none" if all(int(n) < 3 or os.readlink("/proc/self/fd/" + n).endswith("/fd") for n in os.listdir("/proc/self/fd") if os.path.lexists("/proc/self/fd/" + n)) else "some")

# the kernel, through the C library
attempt("mount", "EPERM", c, "mount", b"none", b"/tmp", b"tmpfs", 0, None)
attempt("umount-proc-mask", "EPERM", c, "umount2", b"/proc/keys", 2)
attempt("pivot-root", "EPERM", call, 155, b"/", b"/")
attempt("unshare-all", "EPERM", c, "unshare", 0x7E020000)
attempt("setns", "EPERM", lambda: c("setns", os.open("/proc/self/ns/user", os.O_RDONLY), 0))
attempt("clone-newuser", "EPERM", call, 56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
attempt("ptrace-parent", "EPERM", c, "ptrace", 16, os.getppid(), 0, 0)
attempt("keyctl-session", "EPERM", call, 250, 1, 0)
attempt("bpf-prog", "EPERM", call, 321, 5, 0, 0)
attempt("io-uring", "ENOSYS", call, 425, 1, ctypes.create_string_buffer(256))
attempt("userfaultfd", "ENOSYS", call, 323, 0)
attempt("perf", "EPERM", call, 298, ctypes.create_string_buffer(256), 0, -1, -1, 0)
attempt("kexec", "EPERM", call, 246, 0, 0, 0, 0)
attempt("init-module", "EPERM", call, 175, 0, 0, b"")
attempt("process-vm-readv", "EPERM", call, 310, 1, 0, 0, 0, 0, 0)
attempt("open-by-handle", "EPERM", call, 304, -100, ctypes.create_string_buffer(64), 0)
attempt("syslog", "EPERM", call, 103, 3, ctypes.create_string_buffer(64), 64)
attempt("personality", "EPERM", call, 135, 0x0040000)
attempt("hugepages", "ENOMEM", lambda: map_huge())
attempt("clock-settime", "EPERM", time.clock_settime, time.CLOCK_REALTIME, 0)
attempt("memfd", "OSError|ENOSYS", os.memfd_create, "x") if hasattr(os, "memfd_create") else None
attempt("shmget", "ENOSYS", c, "shmget", 0, 1 << 20, 0o1600)




def old_abi():
    # getpid by the gate of 32-bit programs, in a child: the filter may end it
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, 4096, 7, 0x22, -1, 0)
    if at == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "")
    code = bytes.fromhex("53b814000000cd805bc3")  # push rbx; mov eax, 20; int 0x80; pop rbx; ret
    ctypes.memmove(at, code, len(code))
    pid = os.fork()
    if pid == 0:
        got = ctypes.CFUNCTYPE(ctypes.c_int)(at)()
        os._exit(0 if got == os.getpid() else 1)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        raise OSError(errno.EPERM, "")
    if os.WEXITSTATUS(status):
        raise OSError(errno.ENOSYS, "")


attempt("int80", "EPERM|ENOSYS", old_abi)
attempt("set-mm", "EPERM|EINVAL", c, "prctl", 35, 13, 0, 0, 0)
attempt("pressure-trigger", "EACCES|ENOENT|EROFS", lambda: os.write(os.open("/proc/pressure/memory", os.O_RDWR), b"some 150000 2000000"))
attempt("cgroup-path", "StopIteration", lambda: next(line for line in open("/proc/self/cgroup") if not line.rstrip().endswith(":/")))

# privileges
attempt("setuid", "EPERM", os.setuid, 0)
attempt("setresgid", "EPERM", os.setresgid, 0, 0, 0)
attempt("setgroups", "EPERM", os.setgroups, [0])
attempt("chroot", "EPERM", os.chroot, "/tmp")
attempt("nice", "EPERM|EACCES", os.nice, -5)
attempt("realtime", "EPERM", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
attempt("ulimit-files", "ValueError", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20)))
attempt("ulimit-core", "ValueError", lambda: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1)))

# files
for name, path, want in [
    ("core-pattern", "/proc/sys/kernel/core_pattern", "EROFS|EACCES"),
    ("sysrq", "/proc/sysrq-trigger", "ENOENT|EACCES|EROFS"),
    ("release-agent", "/sys/fs/cgroup/release_agent", "ENOENT"),
    ("own-program", "/proc/self/exe", "EROFS|ETXTBSY|EACCES"),
    ("init-program", "/gate-init", "EROFS|ETXTBSY|EACCES"),
    ("init-memory", "/proc/1/mem", "ENOENT|EACCES"),
    ("init-oom", "/proc/1/oom_score_adj", "ENOENT|EACCES"),
    ("gate-result", "/gate/result.json", "EACCES"),
    ("own-library", os.__file__, "EROFS|EACCES"),
    ("passwd", "/etc/passwd", "EROFS|EACCES"),
    ("block-device", "/dev/vda", "ENOENT"),
    ("memory-device", "/dev/mem", "ENOENT"),
]:
    attempt("write-" + name, want, write, path)
attempt("oom-score", "EACCES|EPERM", lambda: os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"-1000"))
attempt("mknod", "EPERM", os.mknod, "/tmp/null", 0o20666, os.makedev(1, 3))
attempt("hardlink-root", "EXDEV|EROFS|EPERM", os.link, "/etc/passwd", "/out/passwd")
attempt("hardlink-in", "EXDEV|EROFS|EPERM", os.link, "/in/script.py", "/out/script.py")
attempt("rename-in", "EXDEV|EROFS|EPERM", os.rename, "/in/script.py", "/out/script.py")
attempt("chmod-in", "EROFS|EPERM", os.chmod, "/in/script.py", 0o777)
attempt("xattr-capability", "EPERM", os.setxattr, "/out", "security.capability", b"\x01\x00\x00\x02" + b"\xff" * 16)
attempt("list-gate", "EACCES", os.listdir, "/gate")
attempt("list-init", "ENOENT|EACCES", os.listdir, "/proc/1/fd")
attempt("exe-of-init", "ENOENT|EACCES", os.readlink, "/proc/1/exe")
attempt("cwd-escape", "ENOENT|EACCES", os.chdir, "/proc/1/cwd")


def splice_to_proc():
    r, w = os.pipe()
    os.write(w, b"x")
    os.splice(r, os.open("/proc/self/comm", os.O_WRONLY), 1)


def sendfile_to_root():
    os.sendfile(os.open("/etc/passwd", os.O_RDONLY), os.open("/in/script.py", os.O_RDONLY), 0, 1)


look("splice-to-own-comm", "bounded|EINVAL", lambda: splice_to_proc() or "bounded")
attempt("sendfile-to-readonly", "EBADF", sendfile_to_root)


# programs
def copied(path):
    shutil.copy(sys.executable, path)
    os.chmod(path, 0o755)
    try:
        subprocess.run([path, "-c", "pass"], check=True)
    finally:
        os.remove(path)


def by_loader():
    shutil.copy(os.path.realpath(sys.executable), "/tmp/py")
    done = subprocess.run(["/lib64/ld-linux-x86-64.so.2", "/tmp/py", "-S", "-c", "pass"], capture_output=True)
    os.remove("/tmp/py")
    if done.returncode != 0:
        raise OSError(errno.EPERM if b"failed to map" in done.stderr else done.returncode, "")


def library():
    name = next(line.split()[-1] for line in open("/proc/self/maps") if "/libm.so" in line)
    shutil.copy(name, "/tmp/lib.so")
    pid = os.fork()  # a kernel that refuses late kills
    if pid == 0:
        try:
            ctypes.CDLL("/tmp/lib.so")
        except OSError:
            os._exit(1)
        os._exit(0)
    if os.waitpid(pid, 0)[1] != 0:
        raise OSError(errno.EPERM, "")


attempt("exec-tmp", "EACCES", copied, "/tmp/program")
attempt("exec-out", "EACCES", copied, "/out/program")
attempt("exec-shm", "EACCES", copied, "/dev/shm/program")
attempt("exec-by-loader", "EPERM|FileNotFoundError|ENOENT", by_loader)
attempt("library-from-tmp", "EPERM", library)
attempt("shell", "ENOENT", subprocess.run, ["/bin/sh", "-c", "true"])
attempt("su", "ENOENT", subprocess.run, ["su"])
attempt("mount-program", "ENOENT", subprocess.run, ["mount"])

# what tells of the node and of other runs
FOLDERS = {"/", "/empty", "/null", "/shm", "/tmp"}


def named_mounts():
    for line in open("/proc/self/mountinfo"):
        f = line.split()
        kind, source, options = f[-3:]
        if kind != "proc" and (f[3] not in FOLDERS or "/" in source + options):
            return line.strip().replace("|", "/")
    return "none"


look("mount-names", "none", named_mounts)
for name, path in [("image", "/usr"), ("inputs", "/in"), ("devices", "/dev")]:
    attempt("watch-" + name, "EPERM|EINVAL", lambda: fcntl.fcntl(os.open(path, os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS))
attempt("lease-image", "EPERM|EINVAL", lambda: fcntl.fcntl(os.open("/etc/passwd", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK))
attempt("inotify", "ENOSYS", c, "inotify_init1", 0)

# processes
attempt("kill-init", "EPERM", os.kill, 1, signal.SIGKILL)
attempt("stop-init", "EPERM", os.kill, 1, signal.SIGSTOP)
attempt("pidfd-init", "EPERM", lambda: signal.pidfd_send_signal(os.pidfd_open(1), signal.SIGKILL))
look("processes-seen", "own", lambda: "own" if all(os.stat("/proc/" + p).st_uid == os.getuid() for p in os.listdir("/proc") if p.isdigit()) else "others")
look("environment", "clean", lambda: "clean" if set(os.environ) <= {"PATH", "HOME", "TMPDIR", "LANG", "PYTHONDONTWRITEBYTECODE", "LC_CTYPE", "PYTHONUNBUFFERED"} else str(sorted(os.environ)))
look("host-name", "sandbox", socket.gethostname)
look("machine-id", "0" * 32, lambda: open("/etc/machine-id").read().strip())

# network
for name, family, kind in [
    ("tcp", socket.AF_INET, socket.SOCK_STREAM), ("udp", socket.AF_INET, socket.SOCK_DGRAM), ("tcp6", socket.AF_INET6, socket.SOCK_STREAM),
    ("raw", socket.AF_INET, socket.SOCK_RAW), ("packet", socket.AF_PACKET, socket.SOCK_RAW), ("netlink", socket.AF_NETLINK, socket.SOCK_RAW),
    ("vsock", socket.AF_VSOCK, socket.SOCK_STREAM), ("alg", socket.AF_ALG, socket.SOCK_SEQPACKET),
]:
    attempt("socket-" + name, "EAFNOSUPPORT", socket.socket, family, kind)
attempt("resolve", "gaierror|EAI_AGAIN|EBUSY|ENOEXEC|ENXIO|E2BIG|ESRCH|EINTR|EIO", socket.getaddrinfo, "example.com", 443)
attempt("metadata", "URLError", urllib.request.urlopen, "http://169.254.169.254/latest/meta-data/", None, 3)
attempt("abstract-of-host", "ECONNREFUSED", connect, socket.AF_UNIX, "\0threegate-escape-test")
attempt("containerd-socket", "ENOENT", connect, socket.AF_UNIX, "/run/containerd/containerd.sock")
print(f"tried | {tried} | {tried}")
