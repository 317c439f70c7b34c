words = 'the cat and the dog and the bird'.split()
seen = set()
out = []
for w in words:
    if w not in seen:
        seen.add(w)
        out.append(w)
print(out, len(set(words)))
