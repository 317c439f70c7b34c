import itertools
print(list(itertools.chain([1, 2], [3])), list(itertools.islice(itertools.count(5), 3)))
print(list(itertools.product('ab', [1, 2])), list(itertools.combinations([1, 2, 3], 2)))
