print('before')
print(1 / 0)
print('never')
