print(sorted([3, 1]))
sorted([1, 'a'])
