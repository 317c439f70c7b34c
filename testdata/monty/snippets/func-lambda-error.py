f = lambda x: 10 / x
print(f(4))
print(f(0))
