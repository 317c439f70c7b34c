m = [[1, 2, 3], [4, 5, 6]]
print([[row[i] for row in m] for i in range(3)])
print(sum([sum(r) for r in m]), [x for r in m for x in r])
