# pipe buffers are memory of the kernel
import errno, fcntl, os
n = size = 0
try:
    while True:
        r, w = os.pipe()
        try:
            size += fcntl.fcntl(w, 1031, 1 << 20)
        except OSError:
            size += fcntl.fcntl(w, 1032)
        os.set_blocking(w, False)
        try:
            while True:
                os.write(w, b"x" * 65536)
        except BlockingIOError:
            pass
        n += 1
except OSError as e:
    print(errno.errorcode[e.errno], "after", n)
