# a storm of signals at process 1, at everybody, and at the own group
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
denied = 0
for i in range(100000):
    try:
        os.kill(1, (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGUSR1)[i % 5])
    except PermissionError:
        denied += 1
for i in range(1000):
    os.kill(0, signal.SIGCHLD)
print("denied", denied)
os.kill(0, signal.SIGTERM)
try:
    os.kill(-1, signal.SIGTERM)
except OSError as e:
    print(type(e).__name__)
print("survived")
