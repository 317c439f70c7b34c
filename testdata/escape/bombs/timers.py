# each timer is an object of the kernel
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
n = 0
while libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p())) == 0:
    n += 1
print(errno.errorcode[ctypes.get_errno()], "after", n)
