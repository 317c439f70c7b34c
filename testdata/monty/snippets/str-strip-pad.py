print(repr('  x '.strip()), repr('xxaxx'.strip('x')), repr('  x'.lstrip()), 'ab'.center(8, '*'))
print('7'.zfill(4), 'ab'.ljust(5, '.') + '|', 'ab'.rjust(5) + '|', '-5'.zfill(4))
