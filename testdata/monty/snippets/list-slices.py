a = list(range(10))
print(a[2:5], a[:3], a[-3:], a[::2], a[::-1], a[5:2], a[8:100])
b = a[:]
b[0] = 99
print(a[0], b[0])
