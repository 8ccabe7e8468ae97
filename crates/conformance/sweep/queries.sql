-- A hundred ordinary queries over three data sets, written before any of them was measured. `sweep` (src/bin/sweep.rs) runs each
-- here, in PostgreSQL and in SQLite.
--
-- "-- data NAME" begins what a data set is made by, "-- query NAME" a query over it; "-- sqlite" says how SQLite has
-- what is above it, or "-- sqlite: none" that it has nothing of the kind.

-- data shop
CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, email text NOT NULL, city text, country text NOT NULL, joined date NOT NULL, vip boolean NOT NULL);
CREATE TABLE products (id int PRIMARY KEY, name text NOT NULL, category text NOT NULL, price numeric(10,2) NOT NULL, weight double precision NOT NULL);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int NOT NULL, ordered timestamp NOT NULL, status text NOT NULL, total numeric(12,2) NOT NULL, note text);
CREATE TABLE items (order_id int NOT NULL, line int NOT NULL, product_id int NOT NULL, quantity int NOT NULL, price numeric(10,2) NOT NULL, PRIMARY KEY (order_id, line));
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
INSERT INTO customers SELECT i, 'Customer ' || i, 'user' || i || '@mail' || (i % 50) || '.example', 'City ' || (i * 31 % 700), 'Country ' || (i * 17 % 60), date '2015-01-01' + i * 13 % 3650, i % 20 = 0 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
INSERT INTO products SELECT i, 'Product number ' || i, 'Category ' || (i % 40), (i * 7919 % 100000) / 100.0 + 1, i * 37 % 1000 / 10.0 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500000)
INSERT INTO orders SELECT i, cast(i AS bigint) * 7919 % 50000 + 1, timestamp '2020-01-01' + i % 1461 * interval '1 day' + i % 86400 * interval '1 second',
  CASE i % 10 WHEN 0 THEN 'open' WHEN 1 THEN 'returned' WHEN 2 THEN 'cancelled' ELSE 'shipped' END, (cast(i AS bigint) * 104729 % 1000000) / 100.0, CASE WHEN i % 7 = 0 THEN 'Leave it at door ' || (i % 300) END FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1499999)
INSERT INTO items SELECT i / 3 + 1, i % 3 + 1, cast(i AS bigint) * 15485863 % 5000 + 1, i % 5 + 1, (cast(i AS bigint) * 611953 % 100000) / 100.0 FROM n;
CREATE INDEX orders_customer ON orders (customer_id);
CREATE INDEX orders_ordered ON orders (ordered);
CREATE INDEX items_product ON items (product_id);
CREATE UNIQUE INDEX customers_email ON customers (email);
ANALYZE;
-- sqlite
CREATE TABLE customers (id INTEGER PRIMARY KEY, name text NOT NULL, email text NOT NULL, city text, country text NOT NULL, joined text NOT NULL, vip boolean NOT NULL);
CREATE TABLE products (id INTEGER PRIMARY KEY, name text NOT NULL, category text NOT NULL, price numeric NOT NULL, weight double precision NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id int NOT NULL, ordered text NOT NULL, status text NOT NULL, total numeric NOT NULL, note text);
CREATE TABLE items (order_id int NOT NULL, line int NOT NULL, product_id int NOT NULL, quantity int NOT NULL, price numeric NOT NULL, PRIMARY KEY (order_id, line)) WITHOUT ROWID;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
INSERT INTO customers SELECT i, 'Customer ' || i, 'user' || i || '@mail' || (i % 50) || '.example', 'City ' || (i * 31 % 700), 'Country ' || (i * 17 % 60), date('2015-01-01', '+' || (i * 13 % 3650) || ' days'), i % 20 = 0 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
INSERT INTO products SELECT i, 'Product number ' || i, 'Category ' || (i % 40), (i * 7919 % 100000) / 100.0 + 1, i * 37 % 1000 / 10.0 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500000)
INSERT INTO orders SELECT i, i * 7919 % 50000 + 1, datetime('2020-01-01', '+' || (i % 1461) || ' days', '+' || (i % 86400) || ' seconds'),
  CASE i % 10 WHEN 0 THEN 'open' WHEN 1 THEN 'returned' WHEN 2 THEN 'cancelled' ELSE 'shipped' END, (i * 104729 % 1000000) / 100.0, CASE WHEN i % 7 = 0 THEN 'Leave it at door ' || (i % 300) END FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1499999)
INSERT INTO items SELECT i / 3 + 1, i % 3 + 1, i * 15485863 % 5000 + 1, i % 5 + 1, (i * 611953 % 100000) / 100.0 FROM n;
CREATE INDEX orders_customer ON orders (customer_id);
CREATE INDEX orders_ordered ON orders (ordered);
CREATE INDEX items_product ON items (product_id);
CREATE UNIQUE INDEX customers_email ON customers (email);
ANALYZE;

-- query count of a table
SELECT count(*) FROM items;
-- query sum of a column
SELECT sum(quantity) FROM items;
-- query sum of a product
SELECT sum(quantity * price) FROM items;
-- query average of numeric
SELECT round(avg(total), 2) FROM orders;
-- query min and max of what is indexed
SELECT min(ordered), max(ordered) FROM orders;
-- query min and max of what is not
SELECT min(total), max(total) FROM orders;
-- query rows of a customer
SELECT id, ordered, total FROM orders WHERE customer_id = 4711 ORDER BY ordered;
-- query a customer by mail
SELECT * FROM customers WHERE email = 'user4711@mail11.example';
-- query a page of orders
SELECT id, total FROM orders ORDER BY ordered DESC, id LIMIT 50;
-- query a page far down
SELECT id, total FROM orders ORDER BY id LIMIT 50 OFFSET 200000;
-- query the dearest ten
SELECT id, total FROM orders ORDER BY total DESC, id LIMIT 10;
-- query orders by status
SELECT status, count(*) FROM orders GROUP BY status ORDER BY status;
-- query revenue by status
SELECT status, sum(total), avg(total) FROM orders GROUP BY status ORDER BY status;
-- query orders of a month
SELECT count(*), sum(total) FROM orders WHERE ordered >= '2022-03-01' AND ordered < '2022-04-01';
-- query orders by year
SELECT extract(year FROM ordered) AS y, count(*) FROM orders GROUP BY 1 ORDER BY 1;
-- sqlite
SELECT cast(strftime('%Y', ordered) AS int) AS y, count(*) FROM orders GROUP BY 1 ORDER BY 1;
-- query revenue by month
SELECT date_trunc('month', ordered) AS m, sum(total) FROM orders GROUP BY 1 ORDER BY 1;
-- sqlite
SELECT strftime('%Y-%m-01', ordered) AS m, sum(total) FROM orders GROUP BY 1 ORDER BY 1;
-- query revenue by month as text
SELECT to_char(ordered, 'YYYY-MM') AS m, sum(total) FROM orders GROUP BY 1 ORDER BY 1;
-- sqlite
SELECT strftime('%Y-%m', ordered) AS m, sum(total) FROM orders GROUP BY 1 ORDER BY 1;
-- query revenue by day
SELECT ordered::date AS d, sum(total) FROM orders GROUP BY 1 ORDER BY 2 DESC LIMIT 10;
-- sqlite
SELECT date(ordered) AS d, sum(total) FROM orders GROUP BY 1 ORDER BY 2 DESC LIMIT 10;
-- query the best customers
SELECT customer_id, sum(total) AS revenue FROM orders GROUP BY customer_id ORDER BY revenue DESC, customer_id LIMIT 10;
-- query the best customers by name
SELECT c.name, sum(o.total) AS revenue FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id, c.name ORDER BY revenue DESC, c.name LIMIT 10;
-- query revenue by country
SELECT c.country, count(*), sum(o.total) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY c.country ORDER BY c.country;
-- query revenue by category
SELECT p.category, sum(i.quantity * i.price) FROM items i JOIN products p ON p.id = i.product_id GROUP BY p.category ORDER BY p.category;
-- query revenue by category and country
SELECT p.category, c.country, sum(i.quantity) FROM items i JOIN products p ON p.id = i.product_id JOIN orders o ON o.id = i.order_id JOIN customers c ON c.id = o.customer_id
WHERE c.vip GROUP BY p.category, c.country ORDER BY 3 DESC, 1, 2 LIMIT 20;
-- query an order with its items
SELECT o.id, o.ordered, i.line, p.name, i.quantity FROM orders o JOIN items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id WHERE o.id = 123456 ORDER BY i.line;
-- query orders that have a product
SELECT count(DISTINCT order_id) FROM items WHERE product_id = 42;
-- query customers without an order
SELECT count(*) FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.status = 'returned');
-- query customers who returned
SELECT count(*) FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE status = 'returned');
-- query left join that finds nothing
SELECT count(*) FROM products p LEFT JOIN items i ON i.product_id = p.id AND i.quantity > 5 WHERE i.order_id IS NULL;
-- query orders above their customer's average
SELECT count(*) FROM orders o JOIN (SELECT customer_id, avg(total) AS mean FROM orders GROUP BY customer_id) a ON a.customer_id = o.customer_id WHERE o.total > a.mean;
-- query a scalar subquery for each
SELECT c.id, (SELECT max(total) FROM orders o WHERE o.customer_id = c.id) AS best FROM customers c WHERE c.vip ORDER BY best DESC, c.id LIMIT 10;
-- query the newest order of each customer
SELECT count(*), max(total) FROM (SELECT customer_id, total, row_number() OVER (PARTITION BY customer_id ORDER BY ordered DESC, id) AS r FROM orders) x WHERE r = 1;
-- query the newest order by distinct on
SELECT count(*), max(total) FROM (SELECT DISTINCT ON (customer_id) customer_id, total FROM orders ORDER BY customer_id, ordered DESC, id) x;
-- sqlite: none
-- query three newest by lateral
SELECT sum(x.total) FROM customers c CROSS JOIN LATERAL (SELECT total FROM orders o WHERE o.customer_id = c.id ORDER BY ordered DESC, id LIMIT 3) x WHERE c.country = 'Country 7';
-- sqlite: none
-- query a running sum
SELECT max(running) FROM (SELECT sum(total) OVER (ORDER BY id) AS running FROM orders) x;
-- query rank within country
SELECT count(*) FROM (SELECT rank() OVER (PARTITION BY country ORDER BY joined) AS r FROM customers) x WHERE r <= 3;
-- query distinct cities
SELECT count(DISTINCT city) FROM customers;
-- query cities with many
SELECT city, count(*) FROM customers GROUP BY city HAVING count(*) > 75 ORDER BY 2 DESC, 1 LIMIT 10;
-- query names that begin
SELECT count(*) FROM customers WHERE name LIKE 'Customer 12%';
-- query notes that hold
SELECT count(*) FROM orders WHERE note LIKE '%door 29%';
-- query notes that are missing
SELECT count(*) FROM orders WHERE note IS NULL;
-- query texts joined
SELECT length(string_agg(name, ', ')) FROM products;
-- sqlite
SELECT length(group_concat(name, ', ')) FROM products;
-- query union of two
SELECT count(*) FROM (SELECT customer_id FROM orders WHERE status = 'open' UNION SELECT customer_id FROM orders WHERE status = 'cancelled') x;
-- query in both
SELECT count(*) FROM (SELECT customer_id FROM orders WHERE status = 'open' INTERSECT SELECT customer_id FROM orders WHERE status = 'cancelled') x;
-- query case sums
SELECT sum(CASE WHEN status = 'open' THEN total ELSE 0 END), sum(CASE WHEN status = 'returned' THEN 1 ELSE 0 END) FROM orders;
-- query filter clauses
SELECT count(*) FILTER (WHERE status = 'open'), sum(total) FILTER (WHERE status = 'shipped') FROM orders;
-- query grouping sets
SELECT status, extract(year FROM ordered) AS y, sum(total) FROM orders GROUP BY ROLLUP (status, extract(year FROM ordered)) ORDER BY 1, 2;
-- sqlite: none
-- query many by an IN list
SELECT sum(total) FROM orders WHERE id IN (17, 4711, 23, 99999, 123456, 222222, 333333, 444444, 5, 77, 1234, 4321, 400000, 450000, 499999, 250000);
-- query a wide sort
SELECT sum(id) FROM (SELECT id FROM orders ORDER BY note, total, id LIMIT 100000) x;
-- query products bought together
SELECT b.product_id, count(*) FROM items a JOIN items b ON a.order_id = b.order_id AND a.product_id <> b.product_id WHERE a.product_id = 42 GROUP BY b.product_id ORDER BY 2 DESC, 1 LIMIT 10;
-- query share of the whole
SELECT status, round(100.0 * sum(total) / (SELECT sum(total) FROM orders), 2) FROM orders GROUP BY status ORDER BY status;

-- data logs
CREATE TABLE logs (id int PRIMARY KEY, at timestamp NOT NULL, level text NOT NULL, service text NOT NULL, path text NOT NULL, status int NOT NULL, ms double precision NOT NULL, agent text NOT NULL, payload jsonb NOT NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
INSERT INTO logs SELECT i, timestamp '2024-01-01' + i * interval '1 second', CASE WHEN i % 100 = 0 THEN 'ERROR' WHEN i % 20 = 0 THEN 'WARN' ELSE 'INFO' END,
  'service-' || (cast(i AS bigint) * 7919 % 25), '/api/v1/things/' || (cast(i AS bigint) * 104729 % 20000) || CASE WHEN i % 3 = 0 THEN '/edit' ELSE '' END,
  CASE WHEN i % 100 = 0 THEN 500 WHEN i % 33 = 0 THEN 404 ELSE 200 END, cast(i AS bigint) * 15485863 % 100000 / 100.0,
  'Mozilla/5.0 (X11; Linux x86_64) Browser/' || (i % 90) || '.0', jsonb_build_object('user', i % 5000, 'ok', i % 100 <> 0, 'tags', jsonb_build_array('a' || (i % 10), 'b'), 'at', jsonb_build_object('x', i % 100)) FROM n;
CREATE INDEX logs_at ON logs (at);
CREATE INDEX logs_service ON logs (service, at);
ANALYZE;
-- sqlite
CREATE TABLE logs (id INTEGER PRIMARY KEY, at text NOT NULL, level text NOT NULL, service text NOT NULL, path text NOT NULL, status int NOT NULL, ms double precision NOT NULL, agent text NOT NULL, payload text NOT NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
INSERT INTO logs SELECT i, datetime('2024-01-01', '+' || i || ' seconds'), CASE WHEN i % 100 = 0 THEN 'ERROR' WHEN i % 20 = 0 THEN 'WARN' ELSE 'INFO' END,
  'service-' || (i * 7919 % 25), '/api/v1/things/' || (i * 104729 % 20000) || CASE WHEN i % 3 = 0 THEN '/edit' ELSE '' END,
  CASE WHEN i % 100 = 0 THEN 500 WHEN i % 33 = 0 THEN 404 ELSE 200 END, i * 15485863 % 100000 / 100.0,
  'Mozilla/5.0 (X11; Linux x86_64) Browser/' || (i % 90) || '.0', json_object('user', i % 5000, 'ok', json(CASE WHEN i % 100 <> 0 THEN 'true' ELSE 'false' END), 'tags', json_array('a' || (i % 10), 'b'), 'at', json_object('x', i % 100)) FROM n;
CREATE INDEX logs_at ON logs (at);
CREATE INDEX logs_service ON logs (service, at);
ANALYZE;

-- query count of lines
SELECT count(*) FROM logs;
-- query errors
SELECT count(*) FROM logs WHERE level = 'ERROR';
-- query by level
SELECT level, count(*) FROM logs GROUP BY level ORDER BY level;
-- query by service and status
SELECT service, status, count(*) FROM logs GROUP BY service, status ORDER BY service, status;
-- query latency by service
SELECT service, avg(ms), max(ms) FROM logs GROUP BY service ORDER BY service;
-- query median latency
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FROM logs;
-- sqlite: none
-- query quantiles by service
SELECT service, percentile_disc(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY ms) FROM logs GROUP BY service ORDER BY service;
-- sqlite: none
-- query an hour
SELECT count(*), avg(ms) FROM logs WHERE at >= '2024-01-05 10:00' AND at < '2024-01-05 11:00';
-- query the last lines of a service
SELECT id, at, path FROM logs WHERE service = 'service-7' ORDER BY at DESC LIMIT 100;
-- query errors of a service of a day
SELECT count(*) FROM logs WHERE service = 'service-7' AND at >= '2024-01-06' AND at < '2024-01-07' AND status >= 400;
-- query by hour
SELECT date_trunc('hour', at) AS h, count(*), sum(ms) FROM logs GROUP BY 1 ORDER BY 1;
-- sqlite
SELECT strftime('%Y-%m-%d %H:00', at) AS h, count(*), sum(ms) FROM logs GROUP BY 1 ORDER BY 1;
-- query by hour of the day
SELECT extract(hour FROM at) AS h, count(*) FROM logs GROUP BY 1 ORDER BY 1;
-- sqlite
SELECT cast(strftime('%H', at) AS int) AS h, count(*) FROM logs GROUP BY 1 ORDER BY 1;
-- query by day as text
SELECT to_char(at, 'YYYY-MM-DD') AS d, count(*) FROM logs GROUP BY 1 ORDER BY 1;
-- sqlite
SELECT strftime('%Y-%m-%d', at) AS d, count(*) FROM logs GROUP BY 1 ORDER BY 1;
-- query paths most asked
SELECT path, count(*) FROM logs GROUP BY path ORDER BY 2 DESC, 1 LIMIT 10;
-- query distinct paths
SELECT count(DISTINCT path) FROM logs;
-- query paths that begin
SELECT count(*) FROM logs WHERE path LIKE '/api/v1/things/12%';
-- query paths that end
SELECT count(*) FROM logs WHERE path LIKE '%/edit';
-- query paths that hold
SELECT count(*) FROM logs WHERE path LIKE '%99%';
-- query paths that hold, of any case
SELECT count(*) FROM logs WHERE path ILIKE '%THINGS/99%';
-- sqlite
SELECT count(*) FROM logs WHERE path LIKE '%THINGS/99%';
-- query paths by pattern
SELECT count(*) FROM logs WHERE path ~ 'things/[0-9]+9/edit$';
-- sqlite: none
-- query a part of a path
SELECT split_part(path, '/', 3) AS version, count(*) FROM logs GROUP BY 1;
-- sqlite
SELECT substr(path, 6, instr(substr(path, 6), '/') - 1) AS version, count(*) FROM logs GROUP BY 1;
-- query replaced texts
SELECT count(DISTINCT replace(agent, 'Browser', 'B')) FROM logs;
-- query lower and length
SELECT sum(length(lower(agent))) FROM logs;
-- query texts cut
SELECT substr(path, 1, 17) AS p, count(*) FROM logs GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;
-- query a pattern replaced
SELECT regexp_replace(path, '[0-9]+', 'N', 'g') AS p, count(*) FROM logs GROUP BY 1 ORDER BY 1;
-- sqlite: none
-- query a member of documents
SELECT sum((payload ->> 'user')::int) FROM logs;
-- sqlite
SELECT sum(payload ->> 'user') FROM logs;
-- query documents by a member
SELECT count(*) FROM logs WHERE payload ->> 'user' = '42';
-- sqlite
SELECT count(*) FROM logs WHERE payload ->> 'user' = 42;
-- query documents that hold
SELECT count(*) FROM logs WHERE payload @> '{"ok": false}';
-- sqlite
SELECT count(*) FROM logs WHERE payload ->> 'ok' = 0;
-- query a deep member
SELECT payload #>> '{at,x}' AS x, count(*) FROM logs GROUP BY 1 ORDER BY 1 LIMIT 10;
-- sqlite
SELECT payload ->> '$.at.x' AS x, count(*) FROM logs GROUP BY 1 ORDER BY 1 LIMIT 10;
-- query documents made
SELECT sum(length(jsonb_build_object('id', id, 'level', level)::text)) FROM logs WHERE id <= 100000;
-- sqlite
SELECT sum(length(json_object('id', id, 'level', level))) FROM logs WHERE id <= 100000;
-- query what was before
SELECT max(gap) FROM (SELECT at - lag(at) OVER (PARTITION BY service ORDER BY at) AS gap FROM logs) x;
-- sqlite
SELECT max(gap) FROM (SELECT unixepoch(at) - unixepoch(lag(at) OVER (PARTITION BY service ORDER BY at)) AS gap FROM logs) x;
-- query the slowest of each service
SELECT service, path, ms FROM (SELECT service, path, ms, row_number() OVER (PARTITION BY service ORDER BY ms DESC, id) AS r FROM logs) x WHERE r = 1 ORDER BY service;
-- query users by day
SELECT at::date AS d, count(DISTINCT payload ->> 'user') FROM logs WHERE id <= 300000 GROUP BY 1 ORDER BY 1;
-- sqlite
SELECT date(at) AS d, count(DISTINCT payload ->> 'user') FROM logs WHERE id <= 300000 GROUP BY 1 ORDER BY 1;
-- query status by year and month as texts
SELECT status, to_char(at, 'Mon YYYY') AS m, count(*) FROM logs GROUP BY 1, 2 ORDER BY 1, 2;
-- sqlite
SELECT status, strftime('%m %Y', at) AS m, count(*) FROM logs GROUP BY 1, 2 ORDER BY 1, 2;

-- data measures
CREATE TABLE sensors (id int PRIMARY KEY, site text NOT NULL, kind text NOT NULL);
CREATE TABLE readings (sensor_id int NOT NULL, seq int NOT NULL, value double precision NOT NULL, exact numeric(12,4) NOT NULL, quality smallint NOT NULL, PRIMARY KEY (sensor_id, seq));
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
INSERT INTO sensors SELECT i, 'site-' || (i % 30), CASE i % 4 WHEN 0 THEN 'heat' WHEN 1 THEN 'wind' WHEN 2 THEN 'rain' ELSE 'light' END FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999999)
INSERT INTO readings SELECT i / 2000 + 1, i % 2000, cast(i AS bigint) * 15485863 % 1000003 / 1000.0, cast(i AS bigint) * 32452843 % 100000007 / 10000.0, i % 5 FROM n;
ANALYZE;
-- sqlite
CREATE TABLE sensors (id INTEGER PRIMARY KEY, site text NOT NULL, kind text NOT NULL);
CREATE TABLE readings (sensor_id int NOT NULL, seq int NOT NULL, value double precision NOT NULL, exact numeric NOT NULL, quality int NOT NULL, PRIMARY KEY (sensor_id, seq)) WITHOUT ROWID;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
INSERT INTO sensors SELECT i, 'site-' || (i % 30), CASE i % 4 WHEN 0 THEN 'heat' WHEN 1 THEN 'wind' WHEN 2 THEN 'rain' ELSE 'light' END FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999999)
INSERT INTO readings SELECT i / 2000 + 1, i % 2000, i * 15485863 % 1000003 / 1000.0, i * 32452843 % 100000007 / 10000.0, i % 5 FROM n;
ANALYZE;

-- query mean of doubles
SELECT avg(value) FROM readings;
-- query sum of numerics
SELECT sum(exact) FROM readings;
-- query deviation
SELECT stddev_samp(value) FROM readings;
-- sqlite: none
-- query by sensor
SELECT sensor_id, avg(value), min(value), max(value) FROM readings GROUP BY sensor_id ORDER BY sensor_id LIMIT 20;
-- query by site
SELECT s.site, avg(r.value) FROM readings r JOIN sensors s ON s.id = r.sensor_id GROUP BY s.site ORDER BY s.site;
-- query by site and kind of good ones
SELECT s.site, s.kind, count(*) FROM readings r JOIN sensors s ON s.id = r.sensor_id WHERE r.quality >= 3 GROUP BY s.site, s.kind ORDER BY s.site, s.kind;
-- query a sensor's readings
SELECT seq, value FROM readings WHERE sensor_id = 500 ORDER BY seq;
-- query a sensor's last ten
SELECT seq, value FROM readings WHERE sensor_id = 500 ORDER BY seq DESC LIMIT 10;
-- query a moving mean
SELECT max(m) FROM (SELECT avg(value) OVER (PARTITION BY sensor_id ORDER BY seq ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS m FROM readings WHERE sensor_id <= 200) x;
-- query differences to the reading before
SELECT max(abs(d)) FROM (SELECT value - lag(value) OVER (PARTITION BY sensor_id ORDER BY seq) AS d FROM readings) x;
-- query the newest of each sensor
SELECT sum(r.value) FROM readings r JOIN (SELECT sensor_id, max(seq) AS seq FROM readings GROUP BY sensor_id) m ON m.sensor_id = r.sensor_id AND m.seq = r.seq;
-- query values within bounds
SELECT count(*) FROM readings WHERE value BETWEEN 100 AND 200;
-- query numerics within bounds
SELECT count(*) FROM readings WHERE exact > 5000 AND exact < 6000;
-- query a histogram
SELECT cast(floor(value / 100) AS int) AS bucket, count(*) FROM readings GROUP BY 1 ORDER BY 1;
-- sqlite
SELECT cast(value / 100 AS int) AS bucket, count(*) FROM readings GROUP BY 1 ORDER BY 1;
-- query the highest hundred
SELECT sensor_id, seq, value FROM readings ORDER BY value DESC, sensor_id, seq LIMIT 100;
-- query a median of numerics
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY exact) FROM readings;
-- sqlite: none
-- query sensors above the mean
SELECT count(*) FROM (SELECT sensor_id FROM readings GROUP BY sensor_id HAVING avg(value) > (SELECT avg(value) FROM readings)) x;
-- query numbers counted up
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT sum(i) FROM n;
-- query quality in percent
SELECT quality, round(100.0 * count(*) / sum(count(*)) OVER (), 1) FROM readings GROUP BY quality ORDER BY quality;
