import os
os.chdir("/out")
for i in range(1000):
    os.mkdir("d")
    os.chdir("d")
open("bottom", "w").write("x")
open("/out/" + "n" * 255, "w").write("x")
open("/out/new\nline", "w").write("x")
open(b"/out/bad\xff", "w").write("x")
open("/out/\u202egnp.exe", "w").write("x")
open("/out/-rf", "w").write("x")
print("made")
