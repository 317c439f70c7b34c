from pathlib import Path
print(Path('/in/nope').exists())
try:
    open('/in/nope.txt')
except FileNotFoundError as e:
    print('caught', e)
Path('/in/nope.txt').read_text()
