d = {1: 'int', 'one': 'str', (1, 2): 'tuple', None: 'none', True: 'bool'}
print(d, len(d), d[1], d[(1, 2)])
