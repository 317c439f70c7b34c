print('a,b,,c'.split(','), ' a  b '.split(), 'a-b-c'.split('-', 1), 'a-b-c'.rsplit('-', 1))
print('|'.join(['x', 'y', 'z']), 'l1\nl2\r\nl3'.splitlines(), 'k=v=w'.partition('='))
