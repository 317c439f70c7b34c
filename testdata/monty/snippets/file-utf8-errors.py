from pathlib import Path
p = Path('/out/bad')
for b in (b'ok\xff', b'\xc3', b'\xc3(', b'\xe2\x82', b'\xe2\x28\xa1', b'\xf0\x9f\x98', b'\xed\xa0\x80', b'\xf5\x80', b'\x80', b'\xe0\x80\x80', b'\xf4\x90\x80\x80', b'\xc0\xaf'):
    p.write_bytes(b)
    try:
        p.read_text()
    except UnicodeDecodeError as e:
        print(b, e)
