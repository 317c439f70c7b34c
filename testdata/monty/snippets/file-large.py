from pathlib import Path
s = 'zeile äöü\n' * 50000
print(Path('/out/large').write_text(s), Path('/out/large').read_text() == s, Path('/out/large').stat().st_size)
