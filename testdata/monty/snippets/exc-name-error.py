value = 1
print(value)
print(valu)
