print(sum(n * n for n in range(10)), max(len(w) for w in ['a', 'bbb']), any(n > 3 for n in range(3)), all(n < 3 for n in range(3)))
