# folders and links change places while they are looked at, until the very end
import os, threading, time
os.makedirs("/out/a/b")
open("/out/a/b/file", "w").write("mine\n")
os.symlink("/etc", "/out/link")
os.symlink("/etc/passwd", "/out/passwd")
deadline = time.monotonic() + 1


def churn(one, other):
    while time.monotonic() < deadline:
        try:
            os.rename(one, "/out/t" + str(threading.get_ident()))
            os.rename(other, one)
            os.rename("/out/t" + str(threading.get_ident()), other)
        except OSError:
            pass


threads = [threading.Thread(target=churn, args=pair) for pair in [("/out/a", "/out/link"), ("/out/a/b/file", "/out/passwd")]]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("renamed")
