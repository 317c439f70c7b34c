try:
    int('zz')
except ValueError as e:
    raise RuntimeError('wrapped') from e
