def rest(a, b):
    return a % b
print(rest(9, 4))
rest(9, 0)
