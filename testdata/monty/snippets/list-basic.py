a = [3, 1, 2]
a.append(5)
a.insert(0, 9)
a.extend([7, 7])
print(a, a.pop(), a.pop(0), a, a.index(5), a.count(7))
a.remove(1)
a.reverse()
print(a)
