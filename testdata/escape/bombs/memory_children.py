# each child alone stays below the limit, all together do not
import os, time
for _ in range(8):
    if os.fork() == 0:
        hoard = bytearray(32 << 20)
        time.sleep(5)
        os._exit(0)
bad = 0
for _ in range(8):
    _, status = os.wait()
    bad += status != 0
print("killed:", bad)
raise SystemExit(1 if bad else 0)
