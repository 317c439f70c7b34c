print('%d items, %s, %.3f, %x, %5s|%-5s|' % (3, 'abc', 2.5, 255, 'r', 'l'))
