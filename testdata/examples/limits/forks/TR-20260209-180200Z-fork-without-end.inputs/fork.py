import os
import sys
import time

made = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(600)
        made += 1
except OSError as e:
    print("stopped:", type(e).__name__, flush=True)
    print("made", made, "children", file=sys.stderr)
    sys.exit(7)
