from pathlib import Path
Path('/in/lines.txt').rename('/out/lines.txt')
