r = None
print(r is None)
r.group(1)
