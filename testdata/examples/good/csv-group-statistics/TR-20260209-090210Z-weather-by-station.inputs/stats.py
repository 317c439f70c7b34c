import collections
import csv
import json
import statistics
import sys

by_station = collections.defaultdict(list)
rain = collections.Counter()
readings, gaps = [], 0
with open("weather.csv", newline="") as f:
    for row in csv.DictReader(f):
        rain[row["station"]] += float(row["rain_mm"])
        if not row["temp_c"]:
            gaps += 1
            continue
        t = float(row["temp_c"])
        by_station[row["station"]].append(t)
        readings.append((t, row["station"], row["day"]))

with open("/out/by-station.csv", "w", newline="") as f:
    out = csv.writer(f, lineterminator="\n")
    out.writerow(["station", "readings", "mean_c", "q1_c", "q3_c", "rain_mm"])
    for station, temps in sorted(by_station.items()):
        q1, _, q3 = statistics.quantiles(temps, n=4)
        out.writerow([station, len(temps), f"{statistics.mean(temps):.2f}", f"{q1:.2f}", f"{q3:.2f}", f"{rain[station]:.1f}"])

place = lambda r: {"temp_c": r[0], "station": r[1], "day": r[2]}
with open("/out/extremes.json", "w") as f:
    json.dump({"coldest": place(min(readings)), "warmest": place(max(readings))}, f, indent=2)

if gaps:
    print(f"left out {gaps} rows without a temperature", file=sys.stderr)
print(f"{len(by_station)} stations, {len(readings)} readings")
