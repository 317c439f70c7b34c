graph = {'a': ['b', 'c'], 'b': ['d'], 'c': ['d', 'e'], 'd': ['f'], 'e': ['f'], 'f': []}
queue, seen = [('a', ['a'])], {'a'}
while queue:
    node, path = queue.pop(0)
    if node == 'f':
        print(path)
        break
    for n in graph[node]:
        if n not in seen:
            seen.add(n)
            queue.append((n, path + [n]))
