open('/out/a\x00b', 'w')
