# Lists the tests that files of Python declare, as lines of JSON. Nothing of the files is run. The first argument says
# whether functions are tests, too, as pytest has it.
import ast
import json
import sys


def visit(body, owner):
    for node in body:
        if isinstance(node, ast.ClassDef):
            visit(node.body, node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name.startswith("test") and declares(owner):
                print(json.dumps({"name": node.name, "file": file}))
        else:
            for inner in ("body", "orelse", "finalbody", "handlers"):
                visit(getattr(node, inner, []), owner)


def declares(owner):
    if sys.argv[1] == "functions":
        return owner is None or owner.bases or owner.name.startswith("Test")
    return owner is not None


for file in sys.argv[2:]:
    try:
        with open(file, "rb") as text:
            tree = ast.parse(text.read())
    except (SyntaxError, ValueError):
        continue  # the run says so better
    visit(tree.body, None)
