from pathlib import Path
try:
    Path('/in/lines.txt/x').read_text()
except NotADirectoryError as e:
    print('caught', e)
Path('/in/lines.txt').iterdir()
