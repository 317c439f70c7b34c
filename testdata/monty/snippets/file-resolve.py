from pathlib import Path
print(Path('/in/../out/./x/..').resolve(), Path('/in//sub').absolute(), Path('in/lines.txt').read_text()[:6])
