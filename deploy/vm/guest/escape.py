#!/usr/bin/env python3
"""escape.py ESCAPE TABLE: sends the hostile programs of testdata/escape through the node. Each attempt must
come to what is meant by it; each bomb must end as TABLE, gate/e2e/escape_bombs_test.go, says."""
import glob, json, os, re, subprocess, sys, tempfile
from requests import write

folder, table = sys.argv[1:3]
node, work, failed, sent = "/var/lib/threegate", tempfile.mkdtemp(), False, []


def tell(*args):
    return subprocess.run(["threegate", *args, "--node", node], capture_output=True, text=True)


def send(slug, file, want, **more):
    with open(f"{folder}/{file}") as f:
        text = f.read()
    if file.endswith(".js"):
        more |= {"file": "script.js", "command": "node script.js", "language": "javascript", "memory": 256}
    if file.endswith(".monty.py"):
        more |= {"file": "control", "command": "", "code": text}
        text = "input"
    path = write(work, slug, text, **more)
    if (r := tell("promote", path)).returncode:
        sys.exit(f"promote {file}: {r.stderr}")
    sent.append((file, os.path.basename(path)[:-3], want))


def attempts(job):
    """The lines "name | what came of it | what is meant", and how many are not as meant."""
    with open(glob.glob(f"{node}/archive/*/*/{job}/stdout")[0]) as f:
        lines = [l.strip().split(" | ") for l in f]
    tried = [l for l in lines if l[0] != "tried"]
    wrong = [l for l in tried if len(l) != 3 or l[1] not in l[2].split("|")]
    return len(tried), wrong, [l for l in lines if l[0] == "tried" and l[1] == str(len(tried))]


for i, file in enumerate(["attempts.py", "attempts.js", "attempts.monty.py"]):
    send(f"attempt{i}", file, None)
with open(table) as f:
    bombs = f.read().split("var bombs = ")[1].split("\n}\n")[0].split("{file: ")[1:]
for i, bomb in enumerate(bombs):
    file, code, cause = re.match(r'"([^"]+)", code: (anyCode|-?\d+), cause: "(\w+)"', bomb).groups()
    seconds, outputs = re.search(r"seconds: (\d+)", bomb), re.search(r"outputs: *\[\]string{([^}]*)}", bomb)
    # A limit that the bomb is not meant to reach leaves an emulated processor its time.
    send(f"bomb{i}", f"bombs/{file}", (code, cause), seconds=int(seconds[1]) if seconds else 300, cpu="0.5",
         outputs=re.findall(r'"([^"]+)"', outputs[1]) if outputs else ())
for file, request, want in sent:
    got = json.loads(tell("wait", request, "--json").stdout or "{}")
    what = f"{got.get('state')}, exit {got.get('exit_code')}, cause {got.get('cause')}"
    if want is None:
        n, wrong, ended = attempts(got["job"])
        what, ok = f"{n} attempts, {len(wrong)} not as meant", not wrong and ended and got["exit_code"] == 0
        what += "".join(f"\n      {l}" for l in wrong)
    else:
        # Where one process is killed for memory on control groups of version 1, all of the sandbox are on 2.
        codes = (want[0], "137") if want[1] == "memory" else (want[0],)
        ok = got.get("state") == "delivered" and got.get("cause") == want[1] and (
            want[0] == "anyCode" or str(got["exit_code"]) in codes)
    failed |= not ok
    print("ok   " if ok else "WRONG", f"{file:24} {what}", "" if ok or not want else f"(must be exit {want[0]}, cause {want[1]})")
print(len(bombs), "bombs")
sys.exit(failed or len(bombs) < 30)
