d = {'users': [{'name': 'Ann', 'tags': ['x']}, {'name': 'Bo', 'tags': []}]}
for u in d['users']:
    print(u['name'], len(u['tags']))
print([u['name'] for u in d['users'] if u['tags']])
