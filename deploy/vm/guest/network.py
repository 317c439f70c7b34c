#!/usr/bin/env python3
"""network.py: a request with `network: allowlist` reaches the host that the node allows, and no other; its result
names both. The host is a namespace of its own, with a public address that this machine has a route to."""
import json, os, subprocess, sys, tempfile
from requests import write

node, address = "/var/lib/threegate", "11.0.0.1"


def do(line):
    subprocess.run(line, shell=True, check=True)


do(f"""set -e
ip netns add web
ip link add web0 type veth peer name web1 netns web
ip address add 12.0.0.1/32 dev web0
ip link set web0 up
ip route add {address} dev web0
ip -n web address add {address}/32 dev web1
ip -n web link set lo up
ip -n web link set web1 up
ip -n web route add 12.0.0.1 dev web1
echo '{address} one.example two.example' >>/etc/hosts
mkdir -p /root/web && echo 'hello from one.example' >/root/web/page
printf '\\nnetwork:\\n  allowed_domains: [one.example]\\n' >>{node}/threegate.yaml
systemctl restart threegate""")
server = subprocess.Popen(["ip", "netns", "exec", "web", "python3", "-m", "http.server", "80", "-d", "/root/web"])
path = write(tempfile.mkdtemp(), "network", """import urllib.error, urllib.request

def get(url):
    try:
        with urllib.request.urlopen(url) as r:
            return r.status, r.read().decode().strip()
    except urllib.error.HTTPError as e:
        return e.code, "refused"

print(*get("http://one.example/page"))
print(*get("http://two.example/page"))
""", network="allowlist")
do(f"threegate promote {path} --node {node}")
answer = subprocess.run(["threegate", "wait", os.path.basename(path)[:-3], "--json", "--node", node],
                        capture_output=True, text=True).stdout
server.kill()
with open(json.loads(answer)["result_path"]) as f:
    text = f.read()
print(text)
wanted = ["200 hello from one.example", "403 refused", "one.example:80", "two.example:80 is not listed"]
missing = [w for w in wanted if w not in text]
print("the result lacks", missing) if missing else print("reached one.example, refused two.example, both named")
sys.exit(bool(missing))
