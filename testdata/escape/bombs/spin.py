# more processors than it may have
import os
for _ in range(4):
    if os.fork() == 0:
        while True:
            pass
while True:
    pass
