print(len(str(10 ** 4000)))
print(10 ** 5000)
