s = 'Grüße, 世界 🌍 ñ'
print(s, len(s), s.upper())
print([c for c in s if ord(c) > 127])
print(chr(8364), ord('€'), s.encode('utf-8')[:6])
