# a file that says it is a terabyte, and one that says it is just below the limit
import errno, os
try:
    os.truncate(os.open("/out/tera", os.O_CREAT | os.O_RDWR), 1 << 40)
except OSError as e:
    print(errno.errorcode[e.errno])
f = os.open("/out/sparse", os.O_CREAT | os.O_RDWR)
for size in (64 << 20, 32 << 20, 1 << 20):
    try:
        os.ftruncate(f, size)
        print("sparse", size)
        break
    except OSError as e:
        print(errno.errorcode[e.errno])
