from pathlib import Path
try:
    open('/in/bytes.bin').read()
except UnicodeDecodeError as e:
    print('caught', e)
Path('/in/bytes.bin').read_text()
