import errno, os
n = 0
try:
    while True:
        os.open("/dev/null", os.O_RDONLY)
        n += 1
except OSError as e:
    print(errno.errorcode[e.errno], "after", n)
