#!/usr/bin/env python3
"""verify.py NODE LEDGER [--wait] [--threegate PROGRAM]: compares a node with what was promised outside
of it. Each request that was durably promoted must have exactly one answer, or still wait for it (not
with --wait, which waits until all have come to their end); none may have two; what CORE has seen must
still be there, the same bytes; a run that ended left the number in its file that it printed."""
import argparse, collections, hashlib, json, os, re, subprocess, sys, time

p = argparse.ArgumentParser()
p.add_argument("node"), p.add_argument("ledger"), p.add_argument("--wait", action="store_true")
p.add_argument("--threegate", default="threegate")
o = p.parse_args()
states, bad = ("claimed", "admitted", "running", "finished"), []


def lines(name):
    path = f"{o.ledger}/{name}"
    return [l.split() for l in open(path).read().split("\n")[:-1]] if os.path.exists(path) else []


def visible(folder):
    return [n for n in os.listdir(folder) if not n.startswith(".")]


def waiting():  # in the order of a job's way, so that none is missed that moves meanwhile
    files = [n for n in visible(f"{o.node}/inbox/default") if n.endswith(".md")]
    return files + [j for s in states for j in visible(f"{o.node}/spool/{s}")]


def unanswered():
    ended = {m.group(1) for n in visible(f"{o.node}/core-inbound") if (m := re.match(r"TS-\d{8}-\d{6}Z-(TR-.*)\.md$", n))}
    return {l[0] for l in lines("promoted")} - ended


def tell(*args):
    r = subprocess.run([o.threegate, *args, "--node", o.node], capture_output=True, text=True)
    return r.returncode, r.stdout + r.stderr


if o.wait:  # the host gives up, should this never end
    idle = 0  # a claim that is not finished is hidden
    while waiting() or unanswered() and idle < 2400:
        idle = 0 if waiting() else idle + 1
        time.sleep(0.5)
for what in (["fsck"], ["audit", "verify"]):
    code, text = tell(*what)
    if code:
        bad.append(f"{' '.join(what)}: exit code {code}: {text[:500]}")

folder = f"{o.node}/core-inbound"
results = collections.defaultdict(list)
for n in visible(folder):
    m = re.fullmatch(r"TS-\d{8}-\d{6}Z-(TR-.*)\.md", n)
    if m:
        results[m.group(1)].append(n)
refused = collections.Counter()
for item in visible(f"{o.node}/quarantine/requests"):
    with open(f"{o.node}/quarantine/requests/{item}/reasons.json") as f:
        refused[json.load(f).get("original_name", "")[:-3]] += 1
pending = collections.Counter()
for s in states:
    for job in visible(f"{o.node}/spool/{s}"):
        with open(f"{o.node}/spool/{s}/{job}/request.md", errors="replace") as f:
            m = re.search(r'^request_id: "?(TR-[^"\n]*)', f.read(), re.M)
        pending[m.group(1) if m else job] += 1
for n in visible(f"{o.node}/inbox/default"):
    if n.endswith(".md"):
        pending[n[:-3]] += 1

promoted, tried = ({l[0] for l in lines(n)} for n in ("promoted", "tried"))
kinds = collections.Counter()
for request in sorted(promoted | tried):
    ends = len(results[request]) + refused[request]
    if ends > 1 or refused[request]:
        bad.append(f"{request}: results {results[request]}, refused {refused[request]} times")
    # A result is visible an instant before its job leaves the spool.
    if request in promoted and ends == 0 and pending[request] == 0:
        bad.append(f"{request} was promoted and is lost")
    if o.wait and request in promoted and ends == 0:
        bad.append(f"{request} was promoted and has no answer")
    for n in results[request]:
        with open(f"{folder}/{n}") as f:
            text = f.read()
        if re.search(r"\binterrupted\b", text):
            kinds["interrupted"] += 1
            continue
        kinds["ended"] += 1
        printed = re.search(r"nonce ([0-9a-f]{16}-[0-9a-f]{16})", text)
        file = f"{folder}/{n[:-3]}.artifacts/nonce.txt"
        left = open(file).read().strip() if os.path.exists(file) else None
        if not printed or printed.group(1) != left:
            bad.append(f"{n}: printed {printed and printed.group(1)}, left {left}")
for l in lines("seen"):
    name, digest = l
    if not os.path.exists(f"{folder}/{name}"):
        bad.append(f"{name} was seen and is gone")
    elif hashlib.sha256(open(f"{folder}/{name}", "rb").read()).hexdigest() != digest:
        bad.append(f"{name} was seen with other bytes")

code, text = tell("events", "--json")
started = collections.Counter()
for l in text.splitlines():
    try:
        e = json.loads(l)
    except ValueError:
        continue
    if e.get("type") == "run.started":
        started[e.get("runId")] += 1
    if e.get("type") == "run.returned":  # for certain nothing of it ran
        started[e.get("runId")] -= 1
bad += [f"job {j} was started {n} times" for j, n in started.items() if n > 1]
if promoted and not started:
    bad.append(f"no start is on record: {text[:200]}")

print(f"promoted {len(promoted)}, {dict(kinds)}, waiting {sum(pending.values())}, "
      f"seen before {len(lines('seen'))}, starts on record {sum(started.values())}")
print("\n".join(["BAD", *bad]) if bad else "ALL RIGHT")
sys.exit(bool(bad))
