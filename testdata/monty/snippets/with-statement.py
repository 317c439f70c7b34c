from pathlib import Path
with open('/in/lines.txt') as f:
    print(f.readline(), end='')
    print(f.name, f.mode)
print(f.closed)
