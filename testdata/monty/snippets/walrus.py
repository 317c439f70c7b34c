data = [1, 5, 10, 3]
if (n := len(data)) > 3:
    print('many', n)
print([y for x in data if (y := x * 2) > 5])
