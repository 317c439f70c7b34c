# each mapping is an object of the kernel, and pages of tables
import mmap
print("mapping", flush=True)
kept = []
try:
    while True:
        m = mmap.mmap(-1, 1 << 30)
        m[::1 << 21] = b"x" * (1 << 9)
        kept.append(m)
except (OSError, MemoryError) as e:
    print(type(e).__name__, "after", len(kept))
    raise SystemExit(1)
