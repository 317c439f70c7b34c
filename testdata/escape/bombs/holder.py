# the main program ends, a child keeps its streams open and writes on
import os, time
if os.fork() == 0:
    os.setsid()
    while True:
        os.write(1, b"x" * 1000)
        time.sleep(0.001)
time.sleep(0.2)
os._exit(9)
