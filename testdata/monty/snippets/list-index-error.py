a = [1, 2]
try:
    print(a[5])
except IndexError as e:
    print('caught', e)
a[7] = 1
