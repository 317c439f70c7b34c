from pathlib import Path
for f in (lambda: Path('/in/lines.txt').write_text('x'), lambda: open('/in/new', 'w'), lambda: Path('/in/sub').rmdir(),
          lambda: Path('/in/d').mkdir(), lambda: Path('/in/lines.txt').unlink()):
    try:
        f()
    except PermissionError as e:
        print(e)
Path('/in/lines.txt').rename('/in/other.txt')
