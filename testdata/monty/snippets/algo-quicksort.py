def qs(a):
    if len(a) < 2:
        return a
    p = a[len(a) // 2]
    return qs([x for x in a if x < p]) + [x for x in a if x == p] + qs([x for x in a if x > p])
print(qs([5, 3, 9, 1, 5, 0, -4]))
