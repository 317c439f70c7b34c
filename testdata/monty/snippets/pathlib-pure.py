from pathlib import Path
p = Path('/in') / 'sub' / 'file.tar.gz'
print(p, p.name, p.suffix, p.stem, p.parent, p.parts, p == Path('/in/sub/file.tar.gz'), str(p), repr(p))
