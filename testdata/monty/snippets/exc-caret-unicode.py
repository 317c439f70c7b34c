ü = 'äöü'; print('größer', 1 // 0, 'end')
