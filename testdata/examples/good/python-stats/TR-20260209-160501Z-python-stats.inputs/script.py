"""Write count, mean, median and standard deviation of a CSV column as JSON."""
import argparse
import csv
import json
import statistics

parser = argparse.ArgumentParser()
parser.add_argument("--in", dest="source", required=True)
parser.add_argument("--out", dest="target", required=True)
parser.add_argument("--column", default="value")
args = parser.parse_args()

with open(args.source, newline="") as f:
    values = [float(row[args.column]) for row in csv.DictReader(f)]
print(f"read {len(values)} values from {args.source}")

with open(args.target, "w") as f:
    json.dump({
        "count": len(values),
        "mean": statistics.mean(values),
        "median": statistics.median(values),
        "stdev": round(statistics.stdev(values), 6),
        "min": min(values),
        "max": max(values),
    }, f, indent=2)
    f.write("\n")
