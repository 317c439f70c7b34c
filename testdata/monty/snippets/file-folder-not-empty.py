from pathlib import Path
Path('/out/full').mkdir()
Path('/out/full/f').write_text('x')
try:
    Path('/out/full').unlink()
except IsADirectoryError as e:
    print(e)
Path('/out/full').rmdir()
