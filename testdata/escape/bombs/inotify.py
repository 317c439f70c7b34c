import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
n = 0
while libc.inotify_init() >= 0:
    n += 1
print(errno.errorcode[ctypes.get_errno()], "after", n)
