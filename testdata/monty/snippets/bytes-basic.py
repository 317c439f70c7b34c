b = b'hello\x00\xff'
print(b, len(b), b[0], b[-1], b[1:3], list(b[:3]))
print('é'.encode(), b'\xc3\xa9'.decode(), bytes([65, 66]), b'a' + b'b')
