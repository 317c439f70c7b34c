# what is under way between two sockets is memory of the kernel, descriptors too
import errno, socket
kept = []
n = 0
try:
    while True:
        a, b = socket.socketpair()
        a.setblocking(False)
        kept.append((a, b))
        try:
            while True:
                a.send(b"x" * 65536)
        except BlockingIOError:
            pass
        n += 1
except OSError as e:
    print(errno.errorcode[e.errno], "after", n)
