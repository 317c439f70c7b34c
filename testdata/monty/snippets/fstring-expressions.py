d = {'k': [1, 2, 3]}
print(f"{d['k'][1]} {len(d)} {sum(d['k'])} {'yes' if d else 'no'}")
print(f'{"multi"} ' f'{"part"}')
