x = [1]
print(x)
x.push(2)
