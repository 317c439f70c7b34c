n = 'outer'
print([n for n in range(3)], n)
