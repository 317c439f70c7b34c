import csv
import sys
from xml.sax.saxutils import escape

source, station, target = sys.argv[1:]
points = []
with open(source, newline="") as f:
    for row in csv.DictReader(f):
        if row["station"] == station and row["temp_c"]:
            points.append((int(row["day"][-2:]), float(row["temp_c"])))

W, H, PAD = 640, 240, 30
low = min(t for _, t in points)
high = max(t for _, t in points)
x = lambda day: PAD + (day - 1) * (W - 2 * PAD) / 30
y = lambda t: H - PAD - (t - low) * (H - 2 * PAD) / (high - low)
line = " ".join(f"{x(d):.1f},{y(t):.1f}" for d, t in points)
with open(target, "w", encoding="utf-8") as f:
    f.write(f"""<svg xmlns="http://www.w3.org/2000/svg" width="{W}" height="{H}" font-family="sans-serif" font-size="12">
<rect width="{W}" height="{H}" fill="white"/>
<text x="{PAD}" y="18">{escape(station)}, January 2026, {low:.1f} to {high:.1f} degrees</text>
<line x1="{PAD}" y1="{H - PAD}" x2="{W - PAD}" y2="{H - PAD}" stroke="grey"/>
<polyline points="{line}" fill="none" stroke="steelblue" stroke-width="2"/>
</svg>
""")
print(f"plotted {len(points)} days of {station}")
