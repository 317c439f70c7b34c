import os
os.makedirs('/out/x/y')
print(sorted(os.listdir('/in')), os.listdir('/out/x'))
with open('/out/x/one', 'w') as f:
    f.write('1')
os.rename('/out/x/one', '/out/x/two')
print(os.listdir('/out/x'), os.stat('/out/x/two').st_size)
os.remove('/out/x/two')
os.rmdir('/out/x/y')
print(os.listdir('/out/x'))
