#!/usr/bin/env python3
"""requests.py FOLDER PREFIX COUNT SECONDS: approved requests whose run leaves a random number in
stdout and in a file, SECONDS after its start: no two runs leave the same."""
import hashlib, os, sys, time


def utc(t):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t))


created, approved = utc(time.time() - 3600), utc(time.time() - 3000)
stamp = created.replace("-", "").replace(":", "").replace("T", "-")


def write(folder, slug, script, file="script.py", command="python -u script.py", language="python", outputs=(),
          network="none", cpu="1", memory=128, seconds=600, code=""):
    """An approved request with a program: of ERA, or of Monty without a command. Returns its path."""
    name = f"{folder}/TR-{stamp}-{slug}"
    os.makedirs(f"{name}.inputs", exist_ok=True)
    with open(f"{name}.inputs/{file}", "w") as f:
        f.write(script)
    part = f"## Command\n\n{command}" if command else f"## Code\n\n~~~~ python\n{code}~~~~"
    text = f"""---
request_type: tool_request
schema_version: "1"
request_id: "{os.path.basename(name)}"
created_utc: "{created}"
requested_by: "CORE"
approved_by: "j.okafor"
approved_utc: "{approved}"
purpose: "Try what the node does with a program"
backend: {"ERA" if command else "monty"}
language: {language}
network: {network}
cpu_limit: "{cpu}"
memory_limit_mb: {memory}
time_limit_sec: {seconds}
inputs:
  - path: "/in/{file}"
    sha256: "{hashlib.sha256(script.encode()).hexdigest()}"
---

{part}

## Input Files

- /in/{file}: the program

## Output Expectations

{chr(10).join(f"- /out/{o}: an output" for o in outputs) or "none"}

## Risk Assessment

- Risk level: low
- Justification: A short program that reads nothing but itself.
- Data sensitivity: internal
- Network rationale: {"none" if network == "none" else "fetches one page"}
"""
    with open(f"{name}.md", "w") as f:
        f.write(text)
    return f"{name}.md"


def main():
    out, prefix, count, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    for i in range(count):
        write(out, f"{prefix}{i:03d}", f"""import os, time
n = os.urandom(16).hex()
print("nonce", n[:16] + "-" + n[16:])
time.sleep({seconds})
open("/out/nonce.txt", "w").write(n[:16] + "-" + n[16:] + "\\n")
# {prefix}{i:03d}
""", outputs=["nonce.txt"])


if __name__ == "__main__":
    main()
