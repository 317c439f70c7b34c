from collections import Counter, defaultdict, deque, namedtuple
c = Counter('mississippi')
print(c.most_common(2), c['s'], c['z'], dict(c))
dd = defaultdict(list)
for k, v in [('a', 1), ('b', 2), ('a', 3)]:
    dd[k].append(v)
print(dict(dd))
q = deque([1, 2, 3])
q.append(4)
print(q.popleft(), list(q))
P = namedtuple('P', 'x y')
p = P(1, y=2)
print(p, p.x, p[1], p == (1, 2))
