from pathlib import Path
t = Path('/in/lines.txt').read_text()
print(len(t), t.splitlines())
