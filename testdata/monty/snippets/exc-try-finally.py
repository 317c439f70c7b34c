def f():
    try:
        return 'try'
    finally:
        print('finally')
print(f())
