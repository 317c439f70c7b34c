create table supplier (id integer primary key, name text not null);
insert into supplier values (1, 'Lumen Oy'), (2, 'Holz & Co');
create table item (sku text primary key, reorder_at integer, supplier integer references supplier);
insert into item values ('lamp', 20, 1), ('bulb', 40, 1), ('desk', 5, 2), ('chair', 50, 2);
create table movement (sku text references item, day text, qty integer);
insert into movement values
  ('lamp', '2026-01-03', 150), ('lamp', '2026-01-20', -32),
  ('bulb', '2026-01-03', 60), ('bulb', '2026-01-29', -48),
  ('desk', '2026-01-07', 9), ('desk', '2026-02-02', -2),
  ('chair', '2026-01-07', 40), ('chair', '2026-02-04', -6);
