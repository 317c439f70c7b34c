print('{} and {}'.format(1, 'two'), '{1}{0}'.format('a', 'b'))
