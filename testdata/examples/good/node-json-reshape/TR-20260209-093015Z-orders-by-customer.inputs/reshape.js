'use strict';
const fs = require('fs');

const [source, target] = process.argv.slice(2);
const orders = JSON.parse(fs.readFileSync(source, 'utf8'));
const customers = new Map();
for (const { order, customer, lines } of orders) {
  const c = customers.get(customer.id) ?? { id: customer.id, name: customer.name, orders: 0, cents: 0, items: {} };
  customers.set(customer.id, c);
  c.orders += 1;
  for (const { sku, qty, cents } of lines) {
    c.cents += qty * cents;
    c.items[sku] = (c.items[sku] ?? 0) + qty;
  }
}
const out = [...customers.values()].sort((a, b) => b.cents - a.cents);
fs.writeFileSync(target, JSON.stringify(out, null, 2) + '\n');
const all = out.reduce((sum, c) => sum + c.cents, 0);
console.log(`${orders.length} orders, ${out.length} customers, ${(all / 100).toFixed(2)} in all`);
