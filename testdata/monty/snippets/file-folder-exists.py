from pathlib import Path
Path('/out/d').mkdir()
Path('/out/d').mkdir()
