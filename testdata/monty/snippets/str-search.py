s = 'banana'
print(s.find('na'), s.rfind('na'), s.count('a'), s.find('x'), 'nan' in s, s.index('n'))
print(s.startswith('ba'), s.endswith(('x', 'na')), s.replace('a', 'o', 2))
