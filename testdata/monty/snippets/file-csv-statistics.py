from pathlib import Path
rows = [l.split(',') for l in Path('/in/sales.csv').read_text().splitlines()]
head, rows = rows[0], rows[1:]
sums = {}
for region, amount in rows:
    sums[region] = sums.get(region, 0) + float(amount)
for k in sorted(sums):
    print(f'{k:>8} {sums[k]:8.2f}')
print(head, len(rows))
