def kind(v):
    match v:
        case 0:
            return 'zero'
        case [x, y]:
            return f'pair {x} {y}'
        case _:
            return 'other'
print(kind(0), kind([1, 2]), kind('q'))
