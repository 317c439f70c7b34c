for bad in ('int("x")', 'list', 'dict'):
    try:
        if bad.startswith('int'):
            int('x')
        elif bad == 'list':
            [][0]
        else:
            {}['k']
    except ValueError as e:
        print('value', e)
    except (IndexError, KeyError) as e:
        print('lookup', type(e).__name__, e)
    else:
        print('none')
