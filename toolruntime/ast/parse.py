"""Says of each file, in a line of JSON, whether it is Python."""
import ast
import json
import sys

for name in sys.argv[1:]:
    said = {}
    try:
        with open(name, "rb") as f:
            ast.parse(f.read(), name)
    except SyntaxError as e:
        said = {"line": e.lineno or 0, "message": e.msg or "it is no Python"}
    except (ValueError, RecursionError, MemoryError) as e:
        said = {"line": 0, "message": str(e) or "it is too deep"}
    print(json.dumps(said), flush=True)
