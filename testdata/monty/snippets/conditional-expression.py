for n in (0, 3, -2):
    print('zero' if n == 0 else 'positive' if n > 0 else 'negative')
print([] or 'empty', 'x' and 'y', None or 0, not [])
