def inner():
    raise ValueError('inner')
try:
    try:
        inner()
    except ValueError:
        print('seen')
        raise
except ValueError as e:
    print('outer', e)
