# threads instead of processes
import threading, time
n = 0
try:
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        n += 1
except RuntimeError as e:
    print(e, flush=True)
    import os
    os._exit(5)
