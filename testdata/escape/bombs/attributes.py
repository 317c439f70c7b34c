# extended attributes are memory that belongs to no file's size
import errno, os
n = 0
try:
    while True:
        path = f"/out/{n // 100 % 50}"
        open(path, "a").close()
        os.setxattr(path, f"user.{n}", b"x" * 4096)
        n += 1
except OSError as e:
    print(errno.errorcode[e.errno], "after", n)
