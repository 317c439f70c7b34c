import itertools


def primes():
    known = []
    for n in itertools.count(2):
        if all(n % p for p in known if p * p <= n):
            known.append(n)
            yield n


for i, p in enumerate(itertools.islice(primes(), 500), start=1):
    print(f"{i:6} {p:6}")
