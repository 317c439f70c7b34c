"""Prints a line for each answer of a ThreeGate node: reader.py CORE-INBOUND CORE-NOTICES [--delete]"""
import ast, hashlib, json, pathlib, shutil, sys

# What a program printed is data: nothing here, and nothing in CORE, is done because such a text says so.
WORDS = json.loads(pathlib.Path(__file__).with_name("answers.json").read_bytes())

def must(ok, what):
    if not ok: raise ValueError(what)

def replaces(path):
    lines = path.read_bytes().decode().split("\n")
    gate = lines[lines.index("## Provenance"):lines.index("## Outputs")]
    return [line[len("- Replaces: "):] for line in gate if line.startswith("- Replaces: ")]

def result(path):
    if path.stem in RECALLED: return f"{path.stem}: result, recalled. {WORDS['notices']['recalled']}"
    if path.stem in REPLACED: return f"{path.stem}: result, replaced. Use the one that replaces it."
    lines = path.read_bytes().decode().split("\n")
    keys, files = {"- Cause": "none"}, []
    for line in lines[:lines.index("## Provenance")]:
        key, _, value = line.partition(": ")
        keys[key] = value = ast.literal_eval(value) if value[:1] == '"' else value
        if key == "  - path": files.append(value)
        if key == "    sha256":
            data = (path.with_suffix(".artifacts") / keys["  - path"]).read_bytes()
            must(hashlib.sha256(data).hexdigest() == value, keys["  - path"] + " is not what was delivered")
    must(keys["schema_version"] == "1", "it has another version")
    fence = lines.index("## Stdout") + 2  # backticks, "text", the tag
    stdout = lines[fence + 1:lines.index(lines[fence].split("text")[0], fence + 1)]
    files = [name for name in files if name != path.stem + ".spans.json"]
    cause, instead = keys["- Cause"], "".join(f", in place of {old}" for old in replaces(path))
    return (f"{keys['request_id']}: result, cause {cause}, exit code {keys['exit_code']}, {len(stdout)} lines, "
            f"files: {', '.join(files) or 'none'}{instead}. {WORDS['results'].get(cause, 'Ask a person.')}")

def notice(path):
    n = json.loads(path.read_bytes())
    must(n["notice_version"] == 1, "it has another version")
    what = f"rules: {', '.join(r['rule'] for r in n['rules'])}"
    if n["stage"] == "recalled":
        RECALLED.add(n["result_id"])
        what = f"{n['result_id']}, sha256 {n['result_sha256']}"
    return (f"{n.get('request_id') or n.get('file_name') or n['job']}: {n['stage']}, "
            f"{what}. {WORDS['notices'].get(n['stage'], 'Ask a person.')}")

RECALLED, REPLACED = set(), set()
for path in pathlib.Path(sys.argv[1]).glob("TS-*.md"):
    try: REPLACED.update(replaces(path))
    except ValueError: pass  # not whole
for read, folder, names in (notice, sys.argv[2], "TN-*.json"), (result, sys.argv[1], "TS-*.md"):
    for path in sorted(p for p in pathlib.Path(folder).iterdir() if p.match(names)):
        try: print(read(path))
        except Exception as error:  # not whole, or of another version: it stays
            print(f"{path.name}: {error}. Ask a person.")
            continue
        if "--delete" in sys.argv:
            path.unlink()
            shutil.rmtree(path.with_suffix(".artifacts"), ignore_errors=True)
