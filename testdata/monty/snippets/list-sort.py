a = [5, 2, 8, 1]
a.sort()
print(a)
a.sort(reverse=True)
print(a, sorted(['bb', 'a', 'ccc'], key=len), sorted([(2, 'b'), (1, 'z'), (2, 'a')]))
