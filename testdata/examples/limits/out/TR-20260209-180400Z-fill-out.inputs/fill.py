import os
import sys

block = b"x" * (1 << 20)
try:
    with open("/out/big.dat", "wb", buffering=0) as f:
        while True:
            f.write(block)
except OSError as e:
    print("stopped:", os.strerror(e.errno))
    sys.exit(5)
