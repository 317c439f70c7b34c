if True:
    for i in range(2):
        x = i / (1 - i)
