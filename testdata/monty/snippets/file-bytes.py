from pathlib import Path
b = Path('/in/bytes.bin').read_bytes()
print(b, list(b))
print(Path('/out/copy.bin').write_bytes(b + b'!'), Path('/out/copy.bin').read_bytes())
