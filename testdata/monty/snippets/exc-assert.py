def check(n):
    assert n > 0, 'n must be positive'
    return n
print(check(1))
check(-1)
