d = {'x': 1}
d.update({'y': 2, 'x': 5})
print(d.pop('x'), d, d.setdefault('z', []), d)
d['z'].append(1)
print(d, d.pop('nope', 'default'))
del d['y']
print(d)
