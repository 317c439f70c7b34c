digits = '0123456789abcdefghijklmnopqrstuvwxyz'
def to_base(n, b):
    out = ''
    while n:
        n, r = divmod(n, b)
        out = digits[r] + out
    return out or '0'
print([to_base(255, b) for b in (2, 8, 16, 36)], int(to_base(10 ** 20, 36), 36))
