name = 'count: '
print(name + str(3))
print(name + 3)
