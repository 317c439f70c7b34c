def fact(n):
    return 1 if n < 2 else n * fact(n - 1)
for n in (0, 1, 5, 20, 30):
    print(n, fact(n))
