for s in ('abc', 'ab1', '123', '', ' ', 'ABC'):
    print(repr(s), s.isalpha(), s.isdigit(), s.isalnum(), s.isspace(), s.isupper())
