d = {}
for k in ['z', 'a', 'm']:
    d[k] = len(d)
d['z'] = 99
print(d, sorted(d), sorted(d.items(), key=lambda kv: kv[1]))
