text = 'It was the best of times, it was the worst of times'
counts = {}
for w in text.lower().replace(',', '').split():
    counts[w] = counts.get(w, 0) + 1
for w, n in sorted(counts.items(), key=lambda kv: (-kv[1], kv[0])):
    print(n, w)
