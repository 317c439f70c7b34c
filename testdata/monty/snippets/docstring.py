def f():
    """does nothing"""
    pass
print(f())
