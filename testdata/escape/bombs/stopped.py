import os, signal, sys
print("stopping", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
