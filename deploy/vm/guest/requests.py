#!/usr/bin/env python3
"""requests.py FOLDER PREFIX COUNT SECONDS: approved requests whose run leaves a random number in
stdout and in a file, SECONDS after its start: no two runs leave the same."""
import hashlib, os, sys, time

out, prefix, count, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
now = time.time()


def utc(t):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t))


created, approved = utc(now - 3600), utc(now - 3000)
stamp = created.replace("-", "").replace(":", "").replace("T", "-")
for i in range(count):
    name = f"TR-{stamp}-{prefix}{i:03d}"
    script = f"""import os, time
n = os.urandom(16).hex()
print("nonce", n[:16] + "-" + n[16:])
time.sleep({seconds})
open("/out/nonce.txt", "w").write(n[:16] + "-" + n[16:] + "\\n")
# {name}
"""
    os.makedirs(f"{out}/{name}.inputs", exist_ok=True)
    with open(f"{out}/{name}.inputs/script.py", "w") as f:
        f.write(script)
    with open(f"{out}/{name}.md", "w") as f:
        f.write(f"""---
request_type: tool_request
schema_version: "1"
request_id: "{name}"
created_utc: "{created}"
requested_by: "CORE"
approved_by: "j.okafor"
approved_utc: "{approved}"
purpose: "Leave a number that no other run can leave"
backend: ERA
language: python
network: none
cpu_limit: "1"
memory_limit_mb: 128
time_limit_sec: 300
inputs:
  - path: "/in/script.py"
    sha256: "{hashlib.sha256(script.encode()).hexdigest()}"
---

## Command

python -u script.py

## Input Files

- /in/script.py: the program

## Output Expectations

- /out/nonce.txt: the number

## Risk Assessment

- Risk level: low
- Justification: A short program from the standard library writes one small file.
- Data sensitivity: internal
- Network rationale: none
""")
