def a():
    b()
def b():
    c()
def c():
    raise RuntimeError('deep trouble')
a()
