#!/usr/bin/env python3
"""What CORE sees: notes each result on the share, with its digest, when it first sees it."""
import hashlib, os, time

folder, seen = "/var/lib/threegate/core-inbound", set()
while True:
    for n in sorted(os.listdir(folder)):
        if n.startswith("TS-") and n.endswith(".md") and n not in seen:
            with open(f"{folder}/{n}", "rb") as f:
                digest = hashlib.sha256(f.read()).hexdigest()
            with open("/mnt/share/ledger/seen", "a") as f:
                f.write(f"{n} {digest}\n")
            seen.add(n)
    time.sleep(0.1)
