print('a' * 3)
print('a' * 'b')
