import csv
import decimal
import sys

problems = []
with open("invoices.csv", newline="") as f:
    for line, row in enumerate(csv.DictReader(f), start=2):
        net, tax, gross = (decimal.Decimal(row[k]) for k in ("net", "tax", "gross"))
        if net + tax != gross:
            problems.append(f"line {line}: net {net} and tax {tax} do not make {gross}")
        if not row["number"].startswith("2026-"):
            problems.append(f"line {line}: number {row['number']!r} is not of 2026")
with open("/out/problems.txt", "w") as f:
    f.writelines(p + "\n" for p in problems)
print(f"{line - 1} invoices checked")
if problems:
    print(f"{len(problems)} problems", file=sys.stderr)
    sys.exit(3)
