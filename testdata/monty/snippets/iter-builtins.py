print(list(enumerate('ab', 1)), list(zip([1, 2], 'xy')), list(map(lambda x: x + 1, [1, 2])), list(filter(lambda x: x, [0, 1, ''])))
print(list(reversed([1, 2, 3])), list(range(10, 0, -3)), min(3, 1, 2), max([4, 9], key=lambda v: -v), sum([1, 2], 10))
