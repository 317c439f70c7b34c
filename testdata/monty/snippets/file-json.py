import json
from pathlib import Path
d = json.loads(Path('/in/data.json').read_text())
d['values'] = sorted(d['values'])
Path('/out/data.json').write_text(json.dumps(d))
print(Path('/out/data.json').read_text())
