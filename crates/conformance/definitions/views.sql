SELECT id, name FROM author
SELECT * FROM author
SELECT id AS number, name AS "Full Name" FROM author WHERE active
SELECT a.id, p.title FROM author a JOIN post p ON p.author_id = a.id
SELECT a.id, p.title FROM author a LEFT JOIN post p ON p.author_id = a.id WHERE p.id IS NULL
SELECT a.id, p.title FROM author a RIGHT OUTER JOIN post p ON p.author_id = a.id AND a.active
SELECT a.id, p.title FROM author a FULL JOIN post p ON p.author_id = a.id
SELECT a.id, b.z FROM a CROSS JOIN b
SELECT a.id, b.z FROM a, b WHERE a.id = b.id
SELECT id, y, z FROM a JOIN b USING (id)
SELECT id, x, y, z FROM a JOIN b USING (id, x)
SELECT z FROM a NATURAL JOIN b
SELECT id, a.x, w FROM a LEFT JOIN b USING (id) LEFT JOIN c USING (id)
SELECT id, y FROM a FULL JOIN b USING (id) WHERE id > 1
SELECT a.x, b.x AS bx FROM a JOIN b USING (id)
SELECT a.id FROM a JOIN (b JOIN c ON b.id = c.id) ON a.id = b.id
SELECT author.name, post.title, comment.body FROM author JOIN post ON post.author_id = author.id JOIN comment ON comment.post_id = post.id
SELECT name FROM author WHERE id IN (SELECT author_id FROM post)
SELECT name FROM author WHERE id NOT IN (SELECT author_id FROM post WHERE views > 10)
SELECT name FROM author WHERE EXISTS (SELECT 1 FROM post WHERE post.author_id = author.id)
SELECT name FROM author a WHERE NOT EXISTS (SELECT * FROM post p WHERE p.author_id = a.id AND p.score > 5)
SELECT name, (SELECT count(*) FROM post p WHERE p.author_id = a.id) AS posts FROM author a
SELECT name, (SELECT max(created) FROM post WHERE author_id = author.id) FROM author
SELECT name FROM author WHERE id = ANY (SELECT author_id FROM post)
SELECT name FROM author WHERE rating > ALL (SELECT price FROM post)
SELECT name FROM author WHERE id IN (1, 2, 3)
SELECT name FROM author WHERE name IN ('x', 'y')
SELECT name FROM author WHERE email NOT IN ('x', 'y')
SELECT title FROM post WHERE kind IN (1, 2)
SELECT title FROM post WHERE views IN (1)
SELECT title FROM post WHERE price IN (1, 2.5)
SELECT name FROM author WHERE id = ANY (ARRAY[1, 2])
SELECT name FROM author WHERE id = ANY ('{1,2}'::int[])
SELECT name FROM author WHERE 'x' = ANY (tags)
SELECT name FROM author WHERE tags @> ARRAY['x'] OR tags && '{a,b}'
SELECT id, CASE WHEN views > 100 THEN 'many' WHEN views > 10 THEN 'some' ELSE 'few' END AS popularity FROM post
SELECT id, CASE kind WHEN 1 THEN 'a' WHEN 2 THEN 'b' END FROM post
SELECT id, CASE WHEN price IS NULL THEN 0 ELSE price END AS price FROM post
SELECT CASE WHEN active THEN name ELSE email END AS who FROM author
SELECT id::text, views::numeric(10,2), title::varchar(20), created::date, price::int FROM post
SELECT CAST(id AS text) AS t, CAST('2020-01-01' AS date) AS d, '1'::integer AS one, 1::bigint AS big, 1.5::double precision AS f FROM post
SELECT '2020-01-01'::timestamp AS a, timestamp '2020-01-01 10:00' AS b, interval '1 day' AS c, date '2020-02-03' AS d, time '10:00' AS e
SELECT 'x' AS a, 1 AS b, 1.5 AS c, NULL AS d, true AS e, -1 AS f, 10000000000 AS g, 1e10 AS h
SELECT 'it''s' AS a, 'back\slash' AS b, E'new\nline' AS c
WITH recent AS (SELECT * FROM post WHERE created > now() - interval '7 days') SELECT author_id, count(*) FROM recent GROUP BY author_id
WITH a1 AS (SELECT id FROM a), b1(n) AS (SELECT id FROM b) SELECT a1.id, b1.n FROM a1 JOIN b1 ON a1.id = b1.n
WITH RECURSIVE tree AS (SELECT id, manager_id, 1 AS depth FROM person WHERE manager_id IS NULL UNION ALL SELECT p.id, p.manager_id, t.depth + 1 FROM person p JOIN tree t ON p.manager_id = t.id) SELECT * FROM tree
WITH RECURSIVE nums(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM nums WHERE n < 100) SELECT sum(n) FROM nums
WITH m AS MATERIALIZED (SELECT 1 AS x), n AS NOT MATERIALIZED (SELECT 2 AS y) SELECT x, y FROM m, n
SELECT id FROM a UNION SELECT id FROM b
SELECT id, y FROM a UNION ALL SELECT id, z FROM b ORDER BY id
SELECT id FROM a INTERSECT SELECT id FROM b EXCEPT SELECT id FROM c
(SELECT id FROM a ORDER BY id LIMIT 1) UNION ALL (SELECT id FROM b LIMIT 2)
SELECT id FROM a UNION (SELECT id FROM b UNION ALL SELECT id FROM c)
SELECT id, 'a' AS kind FROM a UNION SELECT id, 'b' FROM b ORDER BY 2, 1 DESC
SELECT id FROM a UNION SELECT w FROM c
SELECT NULL AS x UNION SELECT 'a'
SELECT id FROM a ORDER BY id LIMIT 10 OFFSET 5
SELECT id, name FROM author ORDER BY name DESC NULLS LAST, id
SELECT id, lower(name) AS l FROM author ORDER BY lower(name)
SELECT id, lower(name) AS l FROM author ORDER BY l, 1
SELECT id FROM post ORDER BY views + 1, created DESC NULLS FIRST FETCH FIRST 3 ROWS ONLY
SELECT id FROM post ORDER BY views FETCH FIRST 3 ROWS WITH TIES
SELECT department, salary, rank() OVER (PARTITION BY department ORDER BY salary DESC) FROM person
SELECT id, row_number() OVER (ORDER BY salary) AS n, sum(salary) OVER () AS total FROM person
SELECT id, sum(salary) OVER w AS s, avg(salary) OVER w FROM person WINDOW w AS (PARTITION BY department ORDER BY hired)
SELECT id, sum(salary) OVER (ORDER BY hired ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM person
SELECT id, sum(salary) OVER (ORDER BY hired RANGE UNBOUNDED PRECEDING), lag(salary, 1, 0) OVER (ORDER BY id), lead(salary) OVER (ORDER BY id) FROM person
SELECT id, first_value(first_name) OVER (PARTITION BY department ORDER BY salary GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING EXCLUDE TIES) FROM person
SELECT id, ntile(4) OVER (ORDER BY salary), percent_rank() OVER (ORDER BY salary) FROM person
SELECT count(*) FILTER (WHERE active) AS active, count(*) AS all_of_them FROM author
SELECT count(DISTINCT name), sum(rating), avg(rating), min(born), max(born) FROM author
SELECT author_id, string_agg(title, ', ' ORDER BY created DESC) AS titles, array_agg(id ORDER BY id) FROM post GROUP BY author_id
SELECT string_agg(DISTINCT name, ',') FROM author
SELECT department, percentile_cont(0.5) WITHIN GROUP (ORDER BY salary) AS median FROM person GROUP BY department
SELECT mode() WITHIN GROUP (ORDER BY department) FROM person
SELECT department, count(*) FROM person GROUP BY department HAVING count(*) > 1
SELECT department, hired, sum(salary) FROM person GROUP BY ROLLUP (department, hired)
SELECT department, hired, sum(salary) FROM person GROUP BY CUBE (department, hired)
SELECT department, hired, sum(salary), grouping(department, hired) FROM person GROUP BY GROUPING SETS ((department, hired), (department), ())
SELECT date_trunc('month', created) AS month, count(*) FROM post GROUP BY 1 ORDER BY 1
SELECT date_trunc('month', created) AS month, count(*) FROM post GROUP BY date_trunc('month', created) ORDER BY month DESC
SELECT extract(year FROM born) AS y, count(*) AS n FROM author GROUP BY y
SELECT a.name, t.title FROM author a LEFT JOIN LATERAL (SELECT title FROM post p WHERE p.author_id = a.id ORDER BY views DESC LIMIT 1) t ON true
SELECT a.name, t.title FROM author a, LATERAL (SELECT title FROM post p WHERE p.author_id = a.id) t
SELECT a.name, t.tag FROM author a CROSS JOIN LATERAL unnest(a.tags) AS t(tag)
SELECT a.name, tag FROM author a, unnest(tags) tag
SELECT a.name, t.tag, t.n FROM author a, unnest(a.tags) WITH ORDINALITY AS t(tag, n)
VALUES (1, 'one'), (2, 'two')
SELECT v.n, v.t FROM (VALUES (1, 'one'), (2, 'two')) AS v(n, t)
SELECT x.id FROM (SELECT id FROM a WHERE x > 1) x
SELECT s.id, s.n FROM (SELECT author_id AS id, count(*) AS n FROM post GROUP BY author_id) s WHERE s.n > 1
SELECT prefs ->> 'lang' AS lang, prefs -> 'a' -> 'b' AS ab, prefs #>> '{a,b}' AS path FROM author
SELECT id FROM author WHERE prefs @> '{"a": 1}' AND prefs ? 'x'
SELECT (prefs ->> 'age')::int AS age FROM author WHERE (prefs ->> 'age')::int > 18
SELECT prefs ->> 'lang' || 'x' AS l FROM author
SELECT jsonb_build_object('id', id, 'name', name) AS o FROM author
SELECT json_agg(json_build_object('id', id)) AS o FROM author
SELECT e.key, e.value FROM author, jsonb_each_text(prefs) e
SELECT r.a, r.b FROM author, jsonb_to_record(prefs) AS r(a integer, b text)
SELECT x.* FROM json_to_recordset('[]') AS x(a int, b numeric(10,2))
SELECT g FROM generate_series(1, 10) g
SELECT d::date AS day FROM generate_series('2020-01-01'::timestamp, '2020-02-01'::timestamp, '1 day'::interval) d
SELECT g.n FROM generate_series(1, 10, 2) AS g(n)
SELECT DISTINCT department FROM person
SELECT DISTINCT ON (department) department, id, salary FROM person ORDER BY department, salary DESC
SELECT id + 1 AS a, x * 2 + 1 AS b, (x + 1) * 2 AS c, -x AS d, x % 2 AS e, x / 2 AS f FROM a
SELECT x - (y2 - 1) AS a, x - y2 - 1 AS b FROM (SELECT x, id AS y2 FROM a) s
SELECT id FROM a WHERE x > 1 AND (y = 'a' OR y = 'b') AND NOT x = 3
SELECT id FROM a WHERE x > 1 AND y = 'a' OR id < 2
SELECT id FROM a WHERE NOT (x > 1 OR y = 'a')
SELECT id FROM a WHERE (x = 1) IS TRUE OR (y = 'a') IS NOT FALSE OR (x > 1) IS UNKNOWN
SELECT id FROM a WHERE x BETWEEN 1 AND 10 AND y NOT BETWEEN 'a' AND 'b'
SELECT id FROM a WHERE x BETWEEN SYMMETRIC 10 AND 1
SELECT id FROM a WHERE y LIKE 'a%' AND y NOT LIKE '%b' AND y ILIKE 'c_' AND y NOT ILIKE 'd'
SELECT id FROM a WHERE y LIKE 'a!%' ESCAPE '!'
SELECT id FROM a WHERE y SIMILAR TO '(a|b)%'
SELECT id FROM a WHERE y ~ '^a' AND y !~ 'b$' AND y ~* 'c' AND y !~* 'd'
SELECT id FROM a WHERE x IS DISTINCT FROM 1 AND y IS NOT DISTINCT FROM 'a'
SELECT id FROM a WHERE x IS NULL AND y IS NOT NULL
SELECT name FROM author WHERE name = 'x' AND name <> 'y' AND name LIKE 'z%' AND lower(name) = 'q'
SELECT name || ' ' || coalesce(email, '-') AS s FROM author
SELECT first_name || ' ' || last_name AS full_name, concat(first_name, ' ', last_name) AS c, concat_ws(', ', last_name, first_name) FROM person
SELECT extract(epoch FROM created) AS e, extract(year FROM born) AS y, date_part('month', created) AS m FROM post, author
SELECT position('a' IN title) AS p, substring(title FROM 1 FOR 3) AS s, substring(title FROM 2) AS s2, overlay(title PLACING 'x' FROM 1 FOR 2) AS o FROM post
SELECT substring(title FROM '^a.*') AS r, substr(title, 1, 3) AS u FROM post
SELECT trim(title) AS t, trim(BOTH 'x' FROM title) AS b, ltrim(title) AS l, trim(LEADING FROM title) AS lead, trim(TRAILING 'y' FROM title) AS tr, btrim(title, 'z') AS bt FROM post
SELECT created AT TIME ZONE 'UTC' AS u, updated AT TIME ZONE 'Europe/Berlin' AS z, timezone('UTC', created) AS f FROM post
SELECT name COLLATE "C" AS n FROM author ORDER BY name COLLATE "C"
SELECT upper(name) AS u, lower(name) AS l, length(name) AS len, initcap(name) AS i, md5(email) AS m, left(name, 3) AS le FROM author
SELECT round(price, 2) AS r, round(score) AS rs, floor(price) AS f, ceil(score) AS c, abs(views) AS a, sqrt(views) AS s, power(views, 2) AS p, mod(views, 3) AS m FROM post
SELECT coalesce(price, 0) AS c, nullif(title, '') AS n, greatest(views, 1, 2) AS g, least(price, 1) AS l FROM post
SELECT to_char(created, 'YYYY-MM') AS ym, to_date('2020', 'YYYY') AS d, to_number('1', '9') AS n, to_timestamp(0) AS t FROM post
SELECT now() AS n, CURRENT_TIMESTAMP AS ct, CURRENT_DATE AS cd, LOCALTIMESTAMP AS lt, CURRENT_TIME AS tm, CURRENT_USER AS cu, SESSION_USER AS su, current_schema() AS cs
SELECT age(created) AS a, created + interval '1 day' AS p, created - updated AS d, created::date - published_on AS dd, published_on + 1 AS n FROM post
SELECT ARRAY[1, 2, 3] AS a, ARRAY['a', 'b'] AS t, ARRAY[[1, 2], [3, 4]] AS m, ARRAY[]::integer[] AS e, '{1,2}'::integer[] AS l
SELECT tags[1] AS first, tags[1:2] AS some, array_length(tags, 1) AS n, array_to_string(tags, ',') AS s, cardinality(tags) AS c FROM author
SELECT ARRAY(SELECT title FROM post WHERE author_id = a.id ORDER BY id) AS titles FROM author a
SELECT "user", "order", "customer name", "Id" FROM person, sales."Order"
SELECT o."Id", o.amount * o.qty AS total FROM sales."Order" o WHERE o.state = 'paid'
SELECT "Order"."Id", item.sku FROM sales."Order" JOIN sales.item ON item.order_id = "Order"."Id"
SELECT i2 + i4 AS a, i4 + i8 AS b, i4 + f8 AS c, i4 + n AS d, n + f8 AS e, f4 + f8 AS f, i2 + 1 AS g, i8 + 1 AS h, n + 1 AS i, f8 + 1 AS j, f4 + 1.5 AS k, f8 * 1.5 AS l FROM types
SELECT i2 = 1 AS a, i8 = 1 AS b, n = 1 AS c, f8 = 1 AS d, n > 1.5 AS e, f8 < 1.5 AS f, f4 = 1.5 AS g, i4 > 1.5 AS h, i4 = '5' AS i, n = '5' AS j FROM types
SELECT t = v AS a, v = c AS b, c = 'x' AS c, t = c AS d, v = 'x' AS e, v = v AS f, v || 'x' AS g, c || t AS h, v LIKE 'a' AS i, c LIKE 'a' AS j FROM types
SELECT d = ts AS a, d < tz AS b, ts = tz AS c, d = '2020-01-01' AS e, ts > '2020-01-01' AS f, tz >= '2020-01-01 00:00:00+00' AS g, d - d AS h, ts - ts AS i, d + iv AS j, d + tm AS k FROM types
SELECT b = true AS a, b IS TRUE AS b, NOT b AS c, b AND i4 > 0 AS d, m = 'happy' AS e, m > 'sad' AS f, u = '00000000-0000-0000-0000-000000000000' AS g FROM types
SELECT e = 'x' AS a, p + 1 AS b, e || 'x' AS c, length(e) AS d, p = 1 AS f, lower(e) AS g FROM types
SELECT ia || 1 AS a, 1 || ia AS b, ia || ia AS c, 1 = ANY (ia) AS d, ia[1] AS e, ia = ARRAY[1] AS f, ta || 'x'::text AS h, 'x' = ANY (va) AS i FROM types
SELECT j -> 'a' AS a, j ->> 0 AS b, jb #> '{a}' AS c, jb - 'a' AS d, jb || '{"b": 2}' AS e, jb -> 0 AS f, jb @> '[1]'::jsonb AS g FROM types
SELECT by = '\x00' AS a, length(by) AS b, encode(by, 'hex') AS c FROM types
SELECT sum(i4) AS a, sum(i2) AS b, avg(f4) AS c, max(v) AS d, min(c) AS e, count(v) AS f, bool_and(b) AS g, every(b) AS h, sum(iv) AS i, string_agg(v, ',') AS j, max(e) AS k FROM types
SELECT length(v) AS a, upper(v) AS b, substring(v FROM 1 FOR 2) AS c, replace(v, 'a', 'b') AS d, v || i4 AS e, i4 || 'x' AS f, split_part(v, ',', 1) AS g, strpos(v, 'a') AS h, lpad(v, 3, '0') AS i, length(c) AS j FROM types
SELECT round(n) AS a, round(f8::numeric, 2) AS b, trunc(n, 1) AS c, i4::numeric / 3 AS d, i4 / 2.0 AS e, n::int AS f, f8::int AS g, b::int AS h, i4::boolean AS i, i4::text || 'x' AS j FROM types
SELECT (t)::varchar AS a, v::text AS b, c::text AS c, t::varchar(3) AS d, v::varchar(3) AS e, t::char(3) AS f, 'abc'::varchar(2) AS g, 'abc'::char(2) AS h, n::numeric(5,1) AS i, ts::timestamp(0) AS k, '1.255'::numeric(5,2) AS l FROM types
SELECT COALESCE(v, 'x') AS a, COALESCE(v, t) AS b, COALESCE(i4, i8) AS c, COALESCE(n, 0) AS d, COALESCE(d, '2020-01-01') AS e, COALESCE(m, 'sad') AS f, NULLIF(v, 'x') AS g, NULLIF(i4, 0) AS h, COALESCE(f8, 0) AS i, COALESCE(b, false) AS j FROM types
SELECT CASE WHEN b THEN 1 ELSE 2.5 END AS a, CASE v WHEN 'x' THEN 1 END AS b, CASE WHEN b THEN v ELSE 'x' END AS c, CASE WHEN b THEN i4 ELSE n END AS d, CASE WHEN b THEN NULL ELSE t END AS e FROM types
SELECT (i4, t) = (1, 'x') AS b, (i4, i8) < (1, 2) AS c FROM types
SELECT (to_address).street, (to_address).zip FROM sales.item
SELECT i FROM sales.item i
SELECT (t.a).street FROM (SELECT ROW('s', '1')::address AS a) t
SELECT p.id, c.n FROM post p JOIN (SELECT post_id, count(*) AS n FROM comment GROUP BY post_id) c ON c.post_id = p.id
SELECT p.id FROM post p WHERE p.views > (SELECT avg(p2.views) FROM post p2 WHERE p2.author_id = p.author_id)
SELECT id FROM post WHERE views > (SELECT avg(views) FROM post)
SELECT id FROM a WHERE id IN (SELECT id FROM a WHERE x > 1)
SELECT id FROM a WHERE (id, x) IN (SELECT id, x FROM b)
SELECT id FROM a WHERE (id, x) IN ((1, 2), (3, 4))
SELECT id FROM a WHERE (id, x) = (SELECT id, x FROM b LIMIT 1)
SELECT e1.first_name, e2.first_name AS boss FROM person e1 LEFT JOIN person e2 ON e1.manager_id = e2.id
SELECT 1 AS one
SELECT count(*) FROM a
SELECT max(x) - min(x) AS spread, count(*) * 2 AS twice, sum(x)::numeric / count(*) AS mean FROM a
SELECT id FROM ONLY a
SELECT a.*, b.z FROM a JOIN b ON a.id = b.id
SELECT id FROM a AS renamed(id, other, third) WHERE other > 1
SELECT t.p, t.q FROM a AS t(p, q, r)
SELECT id, generate_series(1, 3) AS n FROM a
SELECT unnest(tags) AS tag, count(*) FROM author GROUP BY 1
SELECT id FROM a WHERE x > 1::bigint AND x < 100.0
SELECT id FROM post WHERE created > CURRENT_DATE - 7 AND created < now() - '1 hour'::interval
SELECT id FROM post WHERE created >= date_trunc('day', now()) AND updated BETWEEN '2020-01-01' AND '2020-12-31 23:59:59'
SELECT id FROM post WHERE extract(dow FROM created) IN (0, 6)
SELECT count(*) AS n, status FROM (SELECT CASE WHEN score > 50 THEN 'good' ELSE 'bad' END AS status FROM post) s GROUP BY status
SELECT author_id, count(*) AS n FROM post GROUP BY author_id ORDER BY count(*) DESC, author_id LIMIT 5
SELECT author_id, count(*) AS n FROM post GROUP BY author_id ORDER BY n DESC
SELECT p.author_id, a.name, sum(p.views) AS views FROM post p JOIN author a ON a.id = p.author_id GROUP BY p.author_id, a.name HAVING sum(p.views) > 100 ORDER BY sum(p.views) DESC
SELECT a.id, a.name, count(p.*) AS posts FROM author a LEFT JOIN post p ON p.author_id = a.id GROUP BY a.id
SELECT nextval('author_id_seq') AS n, currval('author_id_seq'::regclass) AS c, 'author'::regclass AS r
SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'
SELECT c.relname, n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r'
SELECT pg_catalog.lower(name) AS l FROM public.author WHERE public.author.id > 1
SELECT id FROM a WHERE y = 'a' || 'b' AND x = - 1 AND x = +1 AND x <> -x
SELECT x::text || y AS a, x || y AS b, y || x AS c, 'a' || 'b' AS d, '1' + 1 AS e FROM a
SELECT x & 1 AS a, x | 2 AS b, x # 3 AS c, ~x AS d, x << 1 AS e, x >> 2 AS f, x ^ 2 AS g, |/ 4.0 AS h, @ x AS i FROM a
SELECT regexp_replace(y, 'a', 'b', 'g') AS a, regexp_matches(y, 'x') AS b, regexp_split_to_array(y, ',') AS c, string_to_array(y, ',') AS d FROM a
SELECT make_date(2020, 1, 1) AS a, make_interval(days => 1) AS b, justify_days(interval '35 days') AS c, interval '1' year AS d, interval '90' minute AS e
SELECT EXISTS (SELECT 1 FROM a) AS e, NOT EXISTS (SELECT 1 FROM b) AS f, (SELECT 1) AS g, ARRAY(SELECT 1) AS h
SELECT json_object_agg(y, x) AS a, jsonb_agg(x ORDER BY x DESC) AS b, bool_or(x > 1) AS c, array_agg(DISTINCT y) AS d FROM a
SELECT rank() OVER (ORDER BY count(*) DESC) AS r, y FROM a GROUP BY y
SELECT id, sum(x) FILTER (WHERE y = 'a') OVER (PARTITION BY y ORDER BY id) AS s FROM a
SELECT id FROM a WHERE x = (CASE WHEN y = 'a' THEN 1 ELSE 2 END) AND COALESCE(y, '') <> ''
SELECT t.id FROM a t WHERE t.x = 1 AND EXISTS (SELECT 1 FROM b t WHERE t.id = 2)
SELECT s.total FROM (SELECT sum(amount) AS total FROM sales."Order" WHERE placed >= '2020-01-01' AND placed < '2021-01-01') s
SELECT a.id FROM a WHERE a.id NOT IN (SELECT b.id FROM b WHERE b.id IS NOT NULL) ORDER BY a.id DESC
SELECT id, x FROM a WHERE x IN (SELECT x FROM b UNION SELECT id::int FROM c)
SELECT floor(random() * 100)::int AS r, (random() > 0.5) AS b
SELECT GREATEST(d, CURRENT_DATE) AS g, LEAST(ts, now()) AS l FROM types
SELECT (SELECT name FROM author WHERE author.id = post.author_id) AS author, title FROM post WHERE (SELECT active FROM author WHERE id = post.author_id)
SELECT 'a'::text AS t, 'sad'::mood AS m, '1 day'::interval AS i, '{}'::jsonb AS j, '{"a": [1, 2]}'::json AS k, 'f'::boolean AS b, '\x01'::bytea AS y WHERE false
SELECT id AS "select", x AS "Mixed Case", y AS "from", id AS user2, x AS "1st" FROM a
SELECT first_name, last_name, email, salary, department, hired FROM person WHERE department = 'engineering' AND salary > 50000 AND hired > '2015-01-01' AND email IS NOT NULL ORDER BY last_name, first_name
