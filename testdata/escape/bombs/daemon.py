# a daemon that would go on after the end: double fork, own session, no streams
import os, time, signal
if os.fork() == 0:
    os.setsid()
    for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(s, signal.SIG_IGN)
    if os.fork() == 0:
        for fd in (0, 1, 2):
            os.close(fd)
        os.open("/dev/null", os.O_RDWR)
        open("/out/began", "w").write("x")
        time.sleep(1)
        while True:
            open("/out/late", "a").write("still here\n")
            time.sleep(0.01)
    os._exit(0)
os.wait()
while not os.path.exists("/out/began"):
    time.sleep(0.01)
print("main ends")
