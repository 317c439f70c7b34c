print('the last line has no end', end='')
