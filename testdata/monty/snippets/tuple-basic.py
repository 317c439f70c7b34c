t = (1, 'a', 2.5)
print(t, t[1], len(t), (1,), (), t + (4,), t * 2, 'a' in t)
print((1, 2) < (1, 3), hash((1, 2)) == hash((1, 2)))
