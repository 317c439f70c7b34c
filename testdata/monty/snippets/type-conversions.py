print(int('42'), float('2.5'), str(None), bool(''), bool('0'), list('abc'), tuple([1]), sorted(set([2, 1])), dict([('a', 1)]))
