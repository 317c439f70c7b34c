import os, signal
if os.fork() == 0:
    signal.pause()
try:
    os.kill(-1, signal.SIGKILL)
finally:
    os.kill(os.getpid(), signal.SIGKILL)
