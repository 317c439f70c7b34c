a = [1]
b = a
b.append(2)
c = a.copy()
c.append(3)
print(a, b, c, a is b, a == [1, 2])
g = [[0] * 2 for _ in range(2)]
g[0][0] = 1
print(g)
