d = {'a': 1, 'b': 2}
for k in list(d):
    if d[k] == 1:
        del d[k]
print(d)
