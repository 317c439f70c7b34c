import os
while True:
    os.write(1, b"all work and no play\n" * 3000)
    os.write(2, b"all work and no play\n" * 3000)
