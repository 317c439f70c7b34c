s = 'Hello, World'
print(len(s), s[0], s[-1], s[2:5], s[::-1], s[::3])
print(s.upper(), s.lower(), s.swapcase(), s.title())
