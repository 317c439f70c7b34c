for i in range(400):
    print(i, i * i)
