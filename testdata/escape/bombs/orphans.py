# process 1 must collect thousands of orphans
import os
for _ in range(400):
    try:
        pid = os.fork()
    except OSError:
        os.wait3(0)
        continue
    if pid == 0:
        try:
            os.fork()
        except OSError:
            pass
        os._exit(0)
    os.waitpid(pid, 0)
print("done")
