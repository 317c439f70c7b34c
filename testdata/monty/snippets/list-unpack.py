a, b, *rest = [1, 2, 3, 4]
print(a, b, rest)
first, *mid, last = 'hello'
print(first, mid, last)
x, y = 1, 2
x, y = y, x
print(x, y)
