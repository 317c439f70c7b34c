d = {'a': 1, 'b': 2}
d['c'] = 3
d['a'] = 10
print(d, len(d), 'a' in d, d.get('z'), d.get('z', 0))
print(list(d), list(d.values()), list(d.items()))
