//! The tables, the queries over them, and what is drawn to change them.

pub(super) const SCHEMA: &str = "CREATE TYPE mood AS ENUM ('low', 'high');
    CREATE TABLE a (id int PRIMARY KEY, n int, t text); CREATE INDEX a_n ON a (n);
    CREATE TABLE b (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int, v int); CREATE INDEX b_a ON b (a);
    CREATE TABLE c (id int PRIMARY KEY, w int NOT NULL, m mood); INSERT INTO c SELECT g, g * 10, 'low' FROM generate_series(0, 7) g;
    INSERT INTO a SELECT g, nullif(g % 50, 6), 't' || g % 3 FROM generate_series(1, 250) g;
    INSERT INTO b (a, v) SELECT nullif(g % 120, 11), g % 5 FROM generate_series(1, 250) g; INSERT INTO b (a, v) VALUES (3, 100);
    CREATE FUNCTION half(x int) RETURNS int IMMUTABLE LANGUAGE sql RETURN x / 2;
    CREATE VIEW shown AS SELECT v, count(*) AS total FROM b GROUP BY v;
    CREATE VIEW halves AS SELECT half(n) AS h, count(*) AS c FROM a GROUP BY half(n);
    CREATE VIEW totals AS SELECT a.n, half(sum(b.v)::int) AS total FROM a JOIN b ON b.a = half(a.id) GROUP BY a.n;
    CREATE MATERIALIZED VIEW kept WITH (maintained = commit) AS SELECT n, count(*) AS c, sum(id) AS s, avg(id) AS mean FROM a GROUP BY n;
    CREATE MATERIALIZED VIEW kept_all WITH (maintained = commit) AS SELECT count(a) FILTER (WHERE v > 3) AS few, sum(v) AS all FROM b";

/// Whose threads are others: with them a seed is not quite the same history each time.
pub(super) const AFTER: &str =
    "CREATE MATERIALIZED VIEW followed WITH (maintained = after) AS SELECT v, max(a) AS most FROM b GROUP BY v;
    CREATE MATERIALIZED VIEW sums WITH (maintained = after) AS SELECT c, sum(s) AS s FROM kept GROUP BY c";

/// Of every kind.
pub(super) const QUERIES: [&str; 45] = [
    "SELECT * FROM a",
    "SELECT id, t FROM a WHERE n BETWEEN 2 AND 4",
    "SELECT n FROM a WHERE id = 3",
    "SELECT count(*), sum(n), min(t), max(n) FROM a",
    "SELECT count(*), sum(n), count(t) FILTER (WHERE n > 2) FROM a",
    "SELECT count(*) FROM a WHERE id >= 5",
    "SELECT n, count(*), sum(id) FROM a GROUP BY n",
    "SELECT n, max(t) FROM a GROUP BY n HAVING count(*) > 1",
    "SELECT n, t, max(id) FROM a GROUP BY n, t",
    "SELECT a.id, b.v FROM a JOIN b ON b.a = a.id",
    "SELECT a.id, b.v FROM a JOIN b ON b.a = a.n WHERE b.v < 3",
    "SELECT a.id, b.v FROM a LEFT JOIN b ON b.a = a.id AND b.v > 1",
    "SELECT a.id, b.v FROM a FULL JOIN b ON b.a = a.id AND b.v > 2",
    "SELECT x.id, y.id FROM a x JOIN a y ON y.n = x.n AND y.id < x.id",
    "SELECT a.n, count(*), sum(b.v) FROM a JOIN b ON b.a = a.id GROUP BY a.n",
    "SELECT x.n, max(b.v), min(b.id) FROM a x LEFT JOIN b ON b.a = x.n GROUP BY x.n",
    "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.a = a.id)",
    "SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.a = a.id AND b.v > 2)",
    "SELECT id FROM a WHERE n > (SELECT avg(v) FROM b)",
    "SELECT DISTINCT n FROM a",
    "SELECT DISTINCT a.n, b.v FROM a JOIN b ON b.a = a.id",
    "SELECT count(*) FROM (SELECT DISTINCT n FROM a) d",
    "SELECT id, n FROM a ORDER BY n DESC, id LIMIT 3",
    "SELECT n, count(*) FROM a GROUP BY n ORDER BY count(*) DESC, n LIMIT 2",
    "SELECT n FROM a UNION SELECT v FROM b",
    "SELECT n FROM a EXCEPT ALL SELECT v FROM b",
    "SELECT n FROM a INTERSECT SELECT v FROM b",
    "SELECT id, rank() OVER (PARTITION BY n ORDER BY id) FROM a",
    "SELECT id, row_number() OVER (PARTITION BY a, v ORDER BY id) FROM b",
    "SELECT v, total FROM shown",
    "SELECT * FROM halves",
    "SELECT * FROM totals",
    "SELECT half(n), id FROM a WHERE half(n) > 1",
    "SELECT * FROM kept",
    "SELECT n, mean FROM kept WHERE s > 60",
    "SELECT few FROM kept_all",
    "SELECT kept.n, b.v FROM kept JOIN b ON b.v = kept.c",
    "SELECT m, count(*), max(w) FROM c GROUP BY m",
    "SELECT b.v, count(*) FROM a JOIN b ON b.a = a.id WHERE a.n = 4 GROUP BY b.v",
    "SELECT count(*), sum(b.v) FROM a JOIN b ON b.a = a.id WHERE a.n BETWEEN 1 AND 2",
    "SELECT count(*) FROM (SELECT DISTINCT b.v FROM a JOIN b ON b.a = a.id WHERE a.n = 4) d",
    "SELECT DISTINCT b.v FROM a JOIN b ON b.a = a.id WHERE a.n = 4",
    "SELECT a.n, sum(b.v), count(*) FROM a JOIN b ON b.a = a.id WHERE a.n IN (1, 4, 5) GROUP BY a.n",
    "SELECT count(*) FROM a x JOIN a y ON y.id = x.n WHERE x.n < 5",
    "SELECT b.id FROM a JOIN b ON b.a = a.id WHERE a.n = 4 ORDER BY b.v DESC, b.id LIMIT 3",
];

/// Over those views, whose rows change by other threads' commits: looked at in the end only.
pub(super) const QUERIES_AFTER: [&str; 2] = ["SELECT * FROM followed", "SELECT sum(s) FROM sums"];

/// So many of them, the last ones, have much kept that is of ranges of their tables.
pub(super) const HARDEST: usize = 7;

pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

pub(super) fn change(random: &mut Random) -> String {
    let (id, n) = (random.below(14), random.below(7));
    match random.below(16) {
        0..3 => format!("INSERT INTO a VALUES ({id}, {n}, 't{n}') ON CONFLICT (id) DO UPDATE SET n = excluded.n"),
        3 => format!("INSERT INTO a VALUES ({id}, NULL, NULL) ON CONFLICT (id) DO UPDATE SET n = NULL"),
        4 => format!("UPDATE a SET t = 'u{n}' WHERE n = {n}"),
        5 => format!("UPDATE a SET n = n + 1 WHERE id <= {n}"),
        6 => format!("DELETE FROM a WHERE id = {id}"),
        7..9 => format!("INSERT INTO b (a, v) VALUES ({id}, {n}), (NULL, {n})"),
        9 => format!("UPDATE b SET a = {n} WHERE a = {id}"),
        10 => format!("UPDATE b SET v = NULL WHERE id = {id}"),
        11 => format!("DELETE FROM b WHERE v = {n} AND id % 3 = 0"),
        12 => format!("UPDATE c SET w = w + 1, m = 'high' WHERE id = {n}"),
        13 => format!(
            "INSERT INTO a SELECT g, g % 5, 'm' FROM generate_series(60, {}) g ON CONFLICT DO NOTHING",
            60 + 3 * id
        ),
        14 => "DELETE FROM a WHERE id > 299".to_owned(),
        _ => {
            format!("INSERT INTO a SELECT g, NULL, 'm' FROM generate_series(290, {}) g ON CONFLICT DO NOTHING", 290 + n)
        }
    }
}

/// In one transaction, a row that comes to a range or leaves it, and what it is joined with, which is undone by others soon.
pub(super) fn joined(random: &mut Random) -> String {
    let (id, n, v) = (random.below(4), 4 + 36 * random.below(2), 100 + random.below(2));
    let other = match random.below(2) {
        0 => format!("INSERT INTO b (a, v) VALUES ({id}, {v})"),
        _ => format!("DELETE FROM b WHERE a = {id} AND v >= 100"),
    };
    match random.below(4) {
        0 => format!("UPDATE a SET n = {n} WHERE id = {id}"),
        1 => other,
        _ => format!("BEGIN; UPDATE a SET n = {n} WHERE id = {id}; {other}; COMMIT"),
    }
}

pub(super) fn alteration(random: &mut Random) -> String {
    match random.below(10) {
        0 => format!("ALTER TYPE mood ADD VALUE IF NOT EXISTS 'm{}' BEFORE 'high'", random.below(4)),
        1 => "CREATE INDEX IF NOT EXISTS extra ON a (t, n); ANALYZE a".to_owned(),
        2 => "DROP INDEX IF EXISTS extra".to_owned(),
        3 => "BEGIN; ALTER TABLE a ADD COLUMN later int DEFAULT 4; ALTER TABLE a DROP COLUMN later; COMMIT".to_owned(),
        4 => format!(
            "CREATE OR REPLACE FUNCTION half(x int) RETURNS int IMMUTABLE LANGUAGE sql RETURN x / {}",
            1 + random.below(3)
        ),
        5 => {
            let over = random.below(4);
            format!("CREATE OR REPLACE VIEW shown AS SELECT v, count(*) AS total FROM b WHERE a > {over} GROUP BY v")
        }
        6 => "TRUNCATE b".to_owned(),
        7 => "REFRESH MATERIALIZED VIEW kept".to_owned(),
        8 => "DROP INDEX IF EXISTS a_n; CREATE INDEX a_n ON a (n)".to_owned(),
        _ => "ALTER TABLE c ALTER w TYPE bigint; ALTER TABLE c ALTER w TYPE int".to_owned(),
    }
}
