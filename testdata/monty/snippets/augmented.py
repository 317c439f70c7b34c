x = 7
x += 3
x -= 1
x *= 2
x //= 4
x **= 2
x %= 7
print(x)
l = [1]
l += [2]
l *= 2
print(l)
