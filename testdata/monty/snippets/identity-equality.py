a = [1, 2]
print(a == [1, 2], a is a, a is not [1, 2], None is None, 1 == True, 'a' != 'b', [1] != [2])
