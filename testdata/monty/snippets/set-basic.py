s = {1, 2, 3}
s.add(2)
s.add(4)
s.discard(9)
print(len(s), 2 in s, sorted(s), sorted(s & {2, 4, 6}), sorted(s | {7}), sorted(s - {1}), sorted(s ^ {1, 9}))
