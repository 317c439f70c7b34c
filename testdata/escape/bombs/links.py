import os, socket
for name, to in [("passwd", "/etc/passwd"), ("job", "/gate/job.json"), ("self", "/proc/self/exe"), ("root", "/"), ("up", "../../.."), ("loop", "loop"), ("host", "/proc/1/root/etc/shadow")]:
    os.symlink(to, "/out/" + name)
os.mkfifo("/out/fifo")
socket.socket(socket.AF_UNIX).bind("/out/socket")
open("/out/plain.txt", "w").write("plain\n")
os.link("/out/plain.txt", "/out/hard.txt")
os.mkdir("/out/closed")
open("/out/closed/x", "w").write("x")
os.chmod("/out/closed", 0)
