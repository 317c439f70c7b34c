def gcd(a, b):
    while b:
        a, b = b, a % b
    return a
def add(p, q):
    n, d = p[0] * q[1] + q[0] * p[1], p[1] * q[1]
    g = gcd(n, d)
    return (n // g, d // g)
s = (0, 1)
for k in range(1, 31):
    s = add(s, (1, k))
print(s)
