d = {}
try:
    d[[1]] = 2
except TypeError as e:
    print('TypeError', e)
