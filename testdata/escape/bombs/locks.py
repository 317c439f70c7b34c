# each lock of a byte is an object of the kernel, and a walk through all others
import fcntl, os
print("locking", flush=True)
fd = os.open("/tmp/locked", os.O_RDWR | os.O_CREAT)
n = 0
while True:
    fcntl.lockf(fd, fcntl.LOCK_EX, 1, 2 * n)
    n += 1
