def mul(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(len(b))) for j in range(len(b[0]))] for i in range(len(a))]
m = [[1, 1], [1, 0]]
r = [[1, 0], [0, 1]]
for _ in range(90):
    r = mul(r, m)
print(r)
