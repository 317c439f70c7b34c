print([x * y for x in range(3) for y in range(3) if x != y])
print([('even' if n % 2 == 0 else 'odd') for n in range(4)])
