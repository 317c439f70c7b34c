try:
    raise ValueError('one')
except ValueError as e:
    print(e.args, str(e), repr(e), isinstance(e, Exception))
