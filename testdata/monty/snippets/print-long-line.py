print('x' * 20000)
