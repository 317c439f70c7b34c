#!/usr/bin/env python3
"""examples.py FOLDER...: promotes the examples in the folders, waits for what comes of them, and compares it with
what must come of each (want.json). Bad ones are dropped into the inbox. Prints a line "ok" or "WRONG" for each.
One that need not run out of time gets all the time that a node gives: an emulated host under load is slow."""
import glob, json, os, re, shutil, subprocess, sys, tempfile, time

node, failed, copies, sent = "/var/lib/threegate", False, tempfile.mkdtemp(), []


def tell(*args):
    r = subprocess.run(["threegate", *args, "--node", node], capture_output=True, text=True)
    return r.returncode, r.stdout, r.stderr


def rules(folder):
    with open(f"{folder}/reasons.json") as f:
        return {x["rule"] for x in json.load(f)["findings"] if x["severity"] == "blocking"}


def refused(name):
    """The rules by which the file that was dropped under a name was refused; waits for it."""
    while True:
        for item in glob.glob(f"{node}/quarantine/requests/*/reasons.json"):
            with open(item) as f:
                if json.load(f).get("original_name") == name:
                    return rules(os.path.dirname(item))
        time.sleep(0.5)


def drop(folder, name):
    id = f"TR-20260209-120000Z-{name}"
    with open(f"{folder}/request.md", newline="") as f:
        text = f.read().replace("TR-20260209-120000Z-case", id)
    with open(f"{node}/inbox/default/.{id}.tmp", "w", newline="") as f:
        f.write(text)
    os.rename(f"{node}/inbox/default/.{id}.tmp", f"{node}/inbox/default/{id}.md")
    return id


for d in sys.argv[1:]:
    name = os.path.basename(d)
    with open(f"{d}/want.json") as f:
        want = json.load(f)
    if want["verdict"] == "REJECT":
        sent.append((name, want, drop(d, name)))
        continue
    copy = shutil.copytree(d, f"{copies}/{name}")
    for file in glob.glob(f"{copy}/TR-*.md"):
        if want["exit_code"] != 124:
            with open(file) as f:
                text = re.sub(r"(?m)^time_limit_sec: .*$", "time_limit_sec: 600", f.read())
            with open(file, "w") as f:
                f.write(text)
        code, out, err = tell("promote", file)
        if code and "before, as job" not in err:  # that one was promoted by an earlier part
            print(f"WRONG {d}: promote: {err}")
            failed = True
        else:
            sent.append((name, want, os.path.basename(file)[:-3]))
for name, want, id in sent:
    if want["verdict"] == "REJECT":
        is_, must = ["refused", *sorted(refused(f"{id}.md"))], ["refused", *sorted({x["rule"] for x in want["findings"]})]
    else:
        code, out, err = tell("wait", id, "--json")
        try:
            got = json.loads(out)
        except ValueError:
            got = {"state": err}
        is_ = [got.get("state"), f"exit {got.get('exit_code')}", f"cause {got.get('cause') or 'none'}"]
        must = ["delivered", f"exit {want['exit_code']}", f"cause {want['cause']}" if "cause" in want else is_[2]]
        if want["result"] == "REJECT":
            is_ = [is_[0], *sorted(rules(got["reasons_path"]))] if "reasons_path" in got else is_
            must = ["result-quarantined", *sorted(want["rules"])]
    failed |= is_ != must
    print("ok   " if is_ == must else "WRONG", f"{name:24}", ", ".join(map(str, is_)),
          "" if is_ == must else f"(must be {', '.join(must)})")
sys.exit(failed)
