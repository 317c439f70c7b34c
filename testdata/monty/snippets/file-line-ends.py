from pathlib import Path
p = Path('/out/crlf')
p.write_bytes(b'a\r\nb\rc\n')
print(repr(p.read_text()), repr(open('/out/crlf').readlines()))
