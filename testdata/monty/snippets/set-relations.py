a, b = {1, 2}, {1, 2, 3}
print(a <= b, a < b, b >= a, a.issubset(b), a.isdisjoint({9}), a == {2, 1}, len(set()), frozenset([1, 1]))
