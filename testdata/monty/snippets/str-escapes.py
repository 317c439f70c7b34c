print('tab\there', 'quote\'s', "dq\"s", 'back\\slash', r'raw\n')
print(repr('new\nline'), repr('a\x00b'), repr("it's"), repr('both \' and "'))
