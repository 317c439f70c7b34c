from pathlib import Path
Path('/out/no/such').mkdir()
