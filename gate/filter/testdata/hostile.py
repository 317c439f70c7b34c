#!/usr/bin/python3
"""A filter's command that was taken over by the text that it judges. Its answer tells what came of each attempt.

hostile.py FOLDER: a folder that everybody may write to, with a file "open" of mode 0666 and a socket "socket" in it.
"""
import contextlib
import ctypes
import errno
import fcntl
import json
import os
import resource
import socket
import subprocess
import sys

folder, question = sys.argv[1], json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
outcomes = {}


def attempt(name, do):
    try:
        do()
        outcomes[name] = "done"
    except OSError as e:
        outcomes[name] = errno.errorcode.get(e.errno, str(e))
    except Exception as e:  # as the library says it
        outcomes[name] = type(e).__name__


def call(number, *args):
    if libc.syscall(number, *args) < 0:
        raise OSError(ctypes.get_errno(), "")


def opened(path, flags):
    os.close(os.open(path, flags, 0o666))


def connect(family, address):
    with socket.socket(family) as s:
        s.connect(address)


def descriptors():
    for n in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the one that lists
            if int(n) > 2 and "/lib" not in os.readlink(f"/proc/self/fd/{n}"):
                return
    raise OSError(errno.EBADF, "")


def fork_many():
    for _ in range(200):
        if os.fork() == 0:
            os.close(hold)
            os.read(blocked, 1)
            os._exit(0)


for name, where in {"tmp": "/tmp", "shm": "/dev/shm", "var tmp": "/var/tmp", "folder": folder, "work": ".",
                    "lock": "/run/lock", "mqueue": "/dev/mqueue"}.items():
    new = os.path.join(where, "threegate-hostile")
    attempt(f"{name}: file", lambda: opened(new, os.O_WRONLY | os.O_CREAT))
    attempt(f"{name}: file without a name", lambda: opened(where, os.O_WRONLY | 0o20200000))
    attempt(f"{name}: folder", lambda: os.mkdir(new))
    attempt(f"{name}: link", lambda: os.symlink("x", new))
    attempt(f"{name}: hard link", lambda: os.link("/etc/hostname", new))
    attempt(f"{name}: pipe", lambda: os.mkfifo(new))
    attempt(f"{name}: socket", lambda: os.mknod(new, 0o140666))

theirs = os.path.join(folder, "open")
attempt("write", lambda: opened(theirs, os.O_WRONLY))
attempt("append", lambda: opened(theirs, os.O_WRONLY | os.O_APPEND))
attempt("truncate by its path", lambda: os.truncate(theirs, 0))
attempt("truncate while reading", lambda: opened(theirs, os.O_RDONLY | os.O_TRUNC))
attempt("times", lambda: os.utime(theirs))
attempt("attribute", lambda: os.setxattr(theirs, "user.x", b"x"))
attempt("rename", lambda: os.rename(theirs, theirs + "x"))
attempt("remove", lambda: os.unlink(theirs))
attempt("mode", lambda: os.chmod(theirs, 0o777))
attempt("owner", lambda: os.chown(theirs, -1, os.getgid()))
with open("/etc/passwd") as passwd:
    attempt("lock", lambda: fcntl.flock(passwd, fcntl.LOCK_EX | fcntl.LOCK_NB))
    attempt("read lock", lambda: fcntl.lockf(passwd, fcntl.LOCK_SH | fcntl.LOCK_NB))
attempt("memory of another process", lambda: opened("/proc/%d/mem" % int(os.environ.get("PPID", 1)), os.O_WRONLY))
attempt("a terminal", lambda: opened("/dev/tty", os.O_RDWR))
attempt("a device", lambda: opened("/dev/full", os.O_WRONLY))

attempt("connect to a socket file", lambda: connect(socket.AF_UNIX, os.path.join(folder, "socket")))
attempt("connect to an abstract socket", lambda: connect(socket.AF_UNIX, "\0threegate-hostile"))
attempt("tcp", lambda: connect(socket.AF_INET, ("127.0.0.1", 1)))
attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12))
attempt("vsock", lambda: socket.socket(socket.AF_VSOCK))
attempt("socketpair", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
attempt("io_uring", lambda: call(425, 1, ctypes.create_string_buffer(256)))

attempt("root", lambda: os.setuid(0))
attempt("group", lambda: os.setgroups([0]))
attempt("user namespace", lambda: call(272, 0x10000000))
attempt("user namespace by clone", lambda: call(56, 0x10000011, 0, 0, 0, 0) or os._exit(0))
attempt("clone3", lambda: call(435, ctypes.create_string_buffer(b"\0\0\0\x10" + b"\0" * 84), 88))
attempt("mount", lambda: call(165, b"tmpfs", b"/tmp", b"tmpfs", 0, 0))
attempt("trace", lambda: call(101, 16, os.getppid(), 0, 0))
attempt("keyring", lambda: call(250, 0, 0, 0))
attempt("bpf", lambda: call(321, 0, 0, 0))
attempt("memory that nobody has", lambda: call(29, 0, 1 << 30, 0o1600))
attempt("to be the last when memory is short", lambda: opened("/proc/self/oom_score_adj", os.O_WRONLY))
attempt("limit of files", lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1)))
attempt("descriptors of the node's", descriptors)
attempt("a device for reading", lambda: fcntl.ioctl(os.open("/dev/ptmx", os.O_RDONLY), 0x80045430, bytes(4)))
blocked, hold = os.pipe()
attempt("many processes", fork_many)
os.close(hold)
while outcomes["many processes"]:
    try:
        os.wait()
    except ChildProcessError:
        break

# What a filter does every day.
attempt("a pipeline", lambda: subprocess.run("cat /etc/hostname | grep -c . >/dev/null 2>&1", shell=True, check=True))
attempt("a large read", lambda: open("/usr/bin/python3", "rb").read())

print(json.dumps({"version": 1, "sha256": question["sha256"], "findings": [
    {"from": 0, "to": 1, "reason": f"{name}: {outcome}"} for name, outcome in outcomes.items()]}))
