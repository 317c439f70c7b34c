#!/usr/bin/env python3
"""examples.py FOLDER...: promotes the examples in the folders, waits for their results, and compares
them with what must come of each (want.json). Prints a line "ok" or "WRONG" for each."""
import glob, json, os, subprocess, sys

node, failed = "/var/lib/threegate", False


def tell(*args):
    r = subprocess.run(["threegate", *args, "--node", node], capture_output=True, text=True)
    return r.returncode, r.stdout, r.stderr


for d in sys.argv[1:]:
    for file in glob.glob(f"{d}/TR-*.md"):
        code, out, err = tell("promote", file)
        if code:
            print(f"WRONG {d}: promote: {err}")
            failed = True
for d in sys.argv[1:]:
    with open(f"{d}/want.json") as f:
        want = json.load(f)
    for file in glob.glob(f"{d}/TR-*.md"):
        code, out, err = tell("wait", os.path.basename(file)[:-3], "--json")
        try:
            got = json.loads(out)
        except ValueError:
            got = {"state": err}
        is_ = [got.get("state"), got.get("exit_code"), got.get("cause") or "none"]
        must = ["delivered", want["exit_code"], want.get("cause", is_[2])]
        ok = is_ == must
        failed |= not ok
        print("ok   " if ok else "WRONG", f"{os.path.basename(d):24} {is_[0]}, exit {is_[1]}, cause {is_[2]}",
              "" if ok else f"(must be {must})")
sys.exit(failed)
