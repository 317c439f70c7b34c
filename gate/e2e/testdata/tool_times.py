"""Times calls of threegate-tools beside the same by plain programs, in turns, inside of the sandbox.

Prints one line of JSON: for each subject the medians in microseconds, and their ratio.
"""
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time

reads, patches, commits = (int(n) for n in sys.argv[1:4])
os.environ.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1", HOME="/tmp")
who = ["-c", "user.name=a", "-c", "user.email=a@b.invalid"]


def git(*args, cwd="/tmp/plain", text=None):
    subprocess.run(["git", *who, *args], cwd=cwd, input=text, check=True, capture_output=True, text=True)


os.makedirs("/tmp/plain/src")
for i in range(200):
    with open(f"/tmp/plain/src/f{i}.txt", "w") as f:
        f.write("".join(f"line {n} of file {i}\n" for n in range(200)))
git("init", "-q", "-b", "main")
git("add", ".")
git("commit", "-q", "-m", "feat: begin")
git("bundle", "create", "-q", "/tmp/repository.bundle", "HEAD", "main")
os.mkdir("/tmp/ours")
server = subprocess.Popen(["threegate-tools", "serve", "--jsonl", "--workspace", "/tmp/ours", "--bundle",
                           "/tmp/repository.bundle", "--max-calls", "1000000", "--timeline", "/tmp/timeline.jsonl"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)
calls = 0


def tool(name, **args):
    global calls
    calls += 1
    server.stdin.write(json.dumps({"type": "ToolRequest", "tool": name, "args": args, "request_id": f"r{calls}",
                                   "session_id": "s", "timestamp": 1}).encode() + b"\n")
    server.stdin.flush()
    while True:
        answer = json.loads(server.stdout.readline())
        if answer["type"] == "ToolResponse":
            assert answer["ok"], answer
            return answer["data"]


def beside(count, ours, plain, before=lambda i: None):
    times = [[], []]
    for i in range(count):
        before(i)
        for kept, do in zip(times, (ours, plain)):
            start = time.perf_counter()
            do(i)
            kept.append((time.perf_counter() - start) * 1e6)
    a, b = (round(statistics.median(t)) for t in times)
    return {"calls": count, "tool_us": a, "plain_us": b, "ratio": round(a / b, 2)}


def read(i):
    with open(f"/tmp/plain/src/f{i % 200}.txt", "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def diff(i):
    """A patch of one line in the middle of a file, to and fro."""
    old, new = ("50", "fifty") if i // 200 % 2 == 0 else ("fifty", "50")
    f = i % 200
    return (f"--- a/src/f{f}.txt\n+++ b/src/f{f}.txt\n@@ -50,3 +50,3 @@\n line 49 of file {f}\n"
            f"-line {old} of file {f}\n+line {new} of file {f}\n line 51 of file {f}\n")


def write_new(i):
    for folder in ("plain", "ours"):
        with open(f"/tmp/{folder}/src/new.txt", "w") as f:
            f.write(f"number {i}\n")


def commit_tool(i):
    tool("git_add", paths=["src/new.txt"])
    tool("git_commit", message=f"feat: number {i}")


def commit_plain(i):
    git("add", "--", "src/new.txt")
    git("commit", "-q", "-m", f"feat: number {i}")


out = {
    "file_read beside open and sha256 in Python": beside(
        reads, lambda i: tool("file_read", path=f"src/f{i % 200}.txt"), read),
    "file_read beside a process git hash-object": beside(
        reads, lambda i: tool("file_read", path=f"src/f{i % 200}.txt"),
        lambda i: git("hash-object", f"src/f{i % 200}.txt")),
    "file_patch beside git apply": beside(
        patches, lambda i: tool("file_patch", path=f"src/f{i % 200}.txt", unified_diff=diff(i)),
        lambda i: git("apply", text=diff(i))),
}
tool("git_add", paths=["**"])
tool("git_commit", message="feat: what was patched", allow_empty=True)
git("add", ".")
git("commit", "-q", "--allow-empty", "-m", "feat: what was patched")
out["git_add and git_commit beside git add and git commit"] = beside(commits, commit_tool, commit_plain, write_new)
server.stdin.close()
assert server.wait() == 0
print(json.dumps(out))
