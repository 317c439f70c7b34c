with open('/out/log.txt', 'w') as f:
    print(f.write('first\n'))
with open('/out/log.txt', 'a') as f:
    f.write('zweite äöü\n')
with open('/out/log.txt') as f:
    print(f.readlines())
with open('/out/log.txt', 'rb') as f:
    print(f.read())
