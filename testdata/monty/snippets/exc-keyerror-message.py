raise KeyError('the key')
