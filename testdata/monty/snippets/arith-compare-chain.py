x = 5
print(1 < x < 10, 1 < x > 7, x == 5.0, 3 < 2 < 1)
print(True + True, False * 9, isinstance(True, int))
