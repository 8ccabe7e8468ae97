-- What users looked at and found slow. As queries.sql; "-- before" is done before each time that a query is run, and not timed.

-- data texts
CREATE TABLE texts (id int PRIMARY KEY, at timestamp NOT NULL, word text NOT NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
INSERT INTO texts SELECT i, timestamp '2020-01-01' + i * interval '1 minute', 'word ' || (cast(i AS bigint) * 7919 % 1000003) FROM n;
ANALYZE;
-- sqlite
CREATE TABLE texts (id INTEGER PRIMARY KEY, at text NOT NULL, word text NOT NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
INSERT INTO texts SELECT i, datetime('2020-01-01', '+' || i || ' minutes'), 'word ' || (i * 7919 % 1000003) FROM n;
ANALYZE;

-- query to_char over 1M rows
SELECT to_char(at, 'YYYY-MM') AS m, count(*) FROM texts GROUP BY 1 ORDER BY 1;
-- sqlite
SELECT strftime('%Y-%m', at) AS m, count(*) FROM texts GROUP BY 1 ORDER BY 1;
-- query to_char over 1M rows, longest
SELECT max(to_char(at, 'YYYY-MM')) FROM texts;
-- sqlite
SELECT max(strftime('%Y-%m', at)) FROM texts;
-- query WITH RECURSIVE to 1M
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT count(*) FROM n;
-- query ILIKE
SELECT count(*) FROM texts WHERE word ILIKE '%99%';
-- sqlite
SELECT count(*) FROM texts WHERE word LIKE '%99%';
-- query LIKE
SELECT count(*) FROM texts WHERE word LIKE '%x%';
-- query matches a regular expression
SELECT count(*) FROM texts WHERE word ~ '99';
-- sqlite: none
-- query matches a regular expression with classes
SELECT count(*) FROM texts WHERE word ~ 'd [0-9]+7$';
-- sqlite: none
-- query jsonb_build_object over 100,000 rows
SELECT sum(length(jsonb_build_object('id', id, 'word', word)::text)) FROM texts WHERE id <= 100000;
-- sqlite
SELECT sum(length(json_object('id', id, 'word', word))) FROM texts WHERE id <= 100000;
-- query jsonb_build_object and ->> over 100,000 rows
SELECT count(jsonb_build_object('id', id, 'word', word) ->> 'word') FROM texts WHERE id <= 100000;
-- sqlite
SELECT count(json_object('id', id, 'word', word) ->> 'word') FROM texts WHERE id <= 100000;

-- data four
CREATE TABLE four (id int PRIMARY KEY, a int NOT NULL, b int NOT NULL, n numeric(12,2) NOT NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000)
INSERT INTO four SELECT i, cast(i AS bigint) * 15485863 % 4000037, i % 1000, (cast(i AS bigint) * 32452843 % 100000007) / 100.0 FROM n;
ANALYZE;
-- sqlite
CREATE TABLE four (id INTEGER PRIMARY KEY, a int NOT NULL, b int NOT NULL, n numeric NOT NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000)
INSERT INTO four SELECT i, i * 15485863 % 4000037, i % 1000, (i * 32452843 % 100000007) / 100.0 FROM n;
ANALYZE;

-- query percentile_cont over 4M numeric
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY n) FROM four;
-- sqlite: none
-- query DELETE of half of 4M rows, two indexes
DELETE FROM gone WHERE id % 2 = 0;
-- before
DROP TABLE IF EXISTS gone;
CREATE TABLE gone (id int PRIMARY KEY, a int NOT NULL, b int NOT NULL);
INSERT INTO gone SELECT id, a, b FROM four;
CREATE INDEX gone_a ON gone (a);
CREATE INDEX gone_b ON gone (b);
-- query DELETE of all of 4M rows, two indexes
DELETE FROM gone;
-- before
DROP TABLE IF EXISTS gone;
CREATE TABLE gone (id int PRIMARY KEY, a int NOT NULL, b int NOT NULL);
INSERT INTO gone SELECT id, a, b FROM four;
CREATE INDEX gone_a ON gone (a);
CREATE INDEX gone_b ON gone (b);
-- query CREATE INDEX on 4M int
CREATE INDEX four_a ON four (a);
-- before
DROP INDEX IF EXISTS four_a;
