for v in (1, 1.5, 'a', b'a', None, True, [], (), {}, set(), print, int, len):
    print(type(v), isinstance(v, (int, str)))
