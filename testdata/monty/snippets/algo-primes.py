sieve = [True] * 100
for i in range(2, 10):
    if sieve[i]:
        for j in range(i * i, 100, i):
            sieve[j] = False
print([i for i in range(2, 100) if sieve[i]])
