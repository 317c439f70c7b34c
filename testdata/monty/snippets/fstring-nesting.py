w = 8
n = 42
print(f'[{n:>{w}}] [{n:<{w}}] [{n:^{w}}] [{n:0{w}d}]')
print(f'{n!r} {"x"!r} {n:#x} {n:b} {{literal}} {n + 1 = }')
