import csv
import sqlite3

db = sqlite3.connect(":memory:")
with open("stock.sql", encoding="utf-8") as f:
    db.executescript(f.read())

print(f"{'sku':<6} {'on hand':>8} {'share':>6}")
for sku, n, share in db.execute("""
        select sku, sum(qty) as n, 100.0 * sum(qty) / sum(sum(qty)) over () as share
        from movement group by sku order by n desc"""):
    print(f"{sku:<6} {n:>8} {share:>5.1f}%")

low = db.execute("""
        select i.sku, sum(m.qty), i.reorder_at, s.name
        from item i join movement m using (sku) join supplier s on s.id = i.supplier
        group by i.sku having sum(m.qty) < i.reorder_at order by i.sku""").fetchall()
with open("/out/reorder.csv", "w", newline="") as f:
    out = csv.writer(f, lineterminator="\n")
    out.writerow(["sku", "on_hand", "reorder_at", "supplier"])
    out.writerows(low)
items = db.execute("select count(*) from item").fetchone()[0]
print(f"{len(low)} of {items} items are to be ordered again")
