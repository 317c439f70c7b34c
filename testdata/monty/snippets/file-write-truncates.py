from pathlib import Path
p = Path('/out/t.txt')
print(p.write_text('long content'), p.write_text('ß'), repr(p.read_text()))
open('/out/t.txt', 'w').close()
print(repr(p.read_text()), p.stat().st_size)
