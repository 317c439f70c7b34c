import re
print(re.findall(r'\d+', 'a1 b22 c333'), re.sub(r'\s+', ' ', 'a   b \t c'), re.split(r'[,;]', 'a,b;c'))
m = re.search(r'(?P<user>\w+)@(\w+)\.com', 'mail bob@example.com now')
print(m.group(0), m.group('user'), m.groups(), m.start(), m.span())
print(re.match('x', 'abc'), bool(re.fullmatch('a.c', 'abc')))
