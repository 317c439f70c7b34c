print(round(2.5), round(3.5), round(-2.5), round(2.675, 2), round(1234.5678, -2), round(7))
print(int(3.99), int(-3.99), float('1e3'))
