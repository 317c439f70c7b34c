print('this must not be printed')
def f(:
    pass
