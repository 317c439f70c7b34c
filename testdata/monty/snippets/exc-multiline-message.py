raise ValueError('first\nsecond')
