open('/out/u', 'r+')
