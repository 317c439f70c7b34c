print({k: v for k, v in zip('abc', range(3))}, {n: n * n for n in range(6) if n % 2})
