s = 'never closed
