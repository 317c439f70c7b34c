# memory that no process holds: shared mappings without a file
import mmap, os
hoard = []
print("hoarding", flush=True)
while True:
    m = mmap.mmap(-1, 8 << 20)
    m.write(b"x" * (8 << 20))
    hoard.append(m)
