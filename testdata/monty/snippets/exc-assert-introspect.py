a = {'k': [1, 2]}
assert a['k'] == [1, 3]
