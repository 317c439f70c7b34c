import errno, os
n = 0
try:
    while True:
        if os.fork() == 0:
            os._exit(0)
        n += 1
except OSError as e:
    print(errno.errorcode[e.errno])
raise SystemExit(3)
