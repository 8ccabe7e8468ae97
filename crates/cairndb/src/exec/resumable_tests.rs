//! Every operator goes on where it stopped: statements whose operators say "not yet" before they say what they have to,
//! and are handed from thread to thread, answer as those that do not.

use super::hesitant::hesitantly;
use crate::{Connection, Database, Options, Value};

/// What a statement gave: column names and rows, or how many rows it changed, or its error.
type Answer = std::result::Result<(Vec<String>, Vec<Vec<Value>>), String>;

fn answer(conn: &Connection, sql: &str) -> Answer {
    let rows = || {
        let mut rows = conn.query(sql, ())?;
        let columns = rows.columns().iter().map(|column| column.name.clone()).collect();
        let mut all = vec![];
        while let Some(row) = rows.next()? {
            all.push(row.values().to_vec());
        }
        Ok((columns, all))
    };
    rows().map_err(|error: crate::Error| format!("{error:?}"))
}

fn connect(options: Options) -> Connection {
    Database::open_in_memory_with(options).unwrap().connect().unwrap()
}

/// Runs the statements in order in two databases, one of which hesitates, and compares each. `all_right`: none fails.
fn assert_same<'a>(
    name: &str,
    seed: u64,
    options: &Options,
    all_right: bool,
    statements: impl IntoIterator<Item = &'a str>,
) -> usize {
    let (plain, hesitant) = (connect(options.clone()), connect(options.clone()));
    let mut count = 0;
    for sql in statements {
        let expected = answer(&plain, sql);
        assert!(expected.is_ok() || !all_right, "{name}: {sql}\n{expected:?}");
        let found = hesitantly(seed.wrapping_mul(1000) + count as u64, || answer(&hesitant, sql));
        assert!(is_unsteady(sql) || expected == found, "{name}, seed {seed}: {sql}\n{expected:?}\n{found:?}");
        count += 1;
    }
    count
}

/// Whether it answers otherwise each time.
fn is_unsteady(sql: &str) -> bool {
    let sql = sql.to_lowercase();
    let functions = ["random()", "gen_random_uuid", "now()", "_timestamp", "current_", "localtime", "explain analyze"];
    functions.iter().any(|function| sql.contains(function))
}

/// The statements of a scenario file, as far as one connection runs them.
fn statements(script: &str) -> Vec<String> {
    let mut statements = vec![];
    for record in script.split("\n\n") {
        let mut lines = record.lines().skip_while(|line| line.starts_with('#') || line.trim().is_empty());
        let header = lines.next().unwrap_or_default();
        if !header.starts_with("query") && !header.starts_with("statement") || header.contains('@') {
            continue;
        }
        let sql: Vec<&str> = lines.take_while(|line| *line != "----").collect();
        statements.push(sql.join("\n"));
    }
    statements
}

fn scarce() -> Options {
    Options::default().work_mem(1)
}

#[test]
fn scenarios_go_on_where_they_stopped() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/slt");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "slt") {
            continue;
        }
        let script = statements(&std::fs::read_to_string(&path).unwrap());
        let script = || script.iter().map(String::as_str);
        let name = path.display().to_string();
        count += assert_same(&name, 1, &Options::default(), false, script());
        count += assert_same(&name, 2, &scarce(), false, std::iter::once("SET batch_rows = 2").chain(script()));
    }
    assert!(count > 2000, "only {count} statements");
}

/// The shop of the golden file, with rows.
const SHOP: [&str; 18] = [
    "CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL UNIQUE, city text, balance numeric(10, 2))",
    "CREATE TABLE orders (id int PRIMARY KEY, customer_id int, placed date NOT NULL, status text, total numeric(10, 2))",
    "CREATE TABLE item (order_id int, line int, product_id int NOT NULL, quantity int, price numeric(10, 2),
         PRIMARY KEY (order_id, line))",
    "CREATE TABLE product (id int PRIMARY KEY, name text NOT NULL, kind text)",
    "CREATE TABLE log (at int, message text)",
    "CREATE INDEX orders_customer ON orders (customer_id)",
    "CREATE INDEX item_product ON item (product_id)",
    "INSERT INTO customer SELECT n, 'name ' || n, nullif('city ' || n % 9, 'city 3'), (n * 37 % 1000) / 7.0
         FROM generate_series(1, 150) g(n)",
    "INSERT INTO orders SELECT n, nullif(n * 7919 % 170, 5), date '2024-01-01' + n % 400, 'status ' || n % 4, n % 97
         FROM generate_series(1, 700) g(n)",
    "INSERT INTO item SELECT n / 3, n % 3, n * 31 % 60, nullif(n % 11, 4), (n % 113) / 3.0
         FROM generate_series(1, 1500) g(n)",
    "INSERT INTO product SELECT n, 'product ' || n, 'kind ' || n % 5 FROM generate_series(0, 49) g(n)",
    "INSERT INTO log SELECT nullif(n * 13 % 200, 7), repeat('m', n % 60) || n FROM generate_series(1, 900) g(n)",
    "INSERT INTO log VALUES (NULL, NULL), (NULL, 'nothing')",
    "CREATE TABLE asked (k int, n int, v int, PRIMARY KEY (k, n))",
    "CREATE TABLE given (k int, n int, v int, PRIMARY KEY (k, n))",
    "INSERT INTO asked SELECT n / 4 * 2, n, n % 7 FROM generate_series(1, 1100) g(n)",
    "INSERT INTO given SELECT CASE WHEN n < 200 THEN 30 ELSE n / 5 END, n, n % 5 FROM generate_series(1, 1300) g(n)",
    "ANALYZE",
];

/// What keeps rows from one step to the next, each by itself and within others.
const QUERIES: [&str; 40] = [
    "SELECT * FROM orders o LEFT JOIN customer c ON c.id = o.customer_id AND c.city < o.status ORDER BY o.id",
    "SELECT * FROM orders o RIGHT JOIN log l ON l.at = o.customer_id AND o.total < 50",
    "SELECT * FROM orders o FULL JOIN log l ON l.at = o.customer_id AND o.total < 50",
    "SELECT * FROM customer c FULL JOIN log l ON l.at = c.id AND l.message > c.name",
    "SELECT * FROM customer c JOIN log l ON l.at BETWEEN c.id AND c.id + 2",
    "SELECT count(*), sum(a.at) FROM log a FULL JOIN log b ON a.at < b.at AND a.message = b.message",
    "SELECT * FROM log l WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = l.at AND o.total > l.at)",
    "SELECT * FROM log l WHERE l.at NOT IN (SELECT o.customer_id FROM orders o WHERE o.customer_id IS NOT NULL)",
    "SELECT * FROM log l WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = l.at)",
    "SELECT c.id, (SELECT sum(o.total) FROM orders o WHERE o.customer_id = c.id) FROM customer c",
    "SELECT c.id, (SELECT count(*) FROM log l WHERE l.at < c.id AND l.message > c.name) FROM customer c ORDER BY 2, 1",
    "SELECT c.id, c.id > ALL (SELECT l.at FROM log l WHERE l.at < 20), c.id = ANY (SELECT at FROM log) FROM customer c",
    "SELECT c.name, l.* FROM customer c CROSS JOIN LATERAL
         (SELECT o.id, o.total FROM orders o WHERE o.customer_id = c.id ORDER BY o.total DESC, o.id LIMIT 2) l",
    "SELECT c.name, l.n FROM customer c LEFT JOIN LATERAL
         (SELECT count(*) n FROM log WHERE at > c.id HAVING count(*) > 100) l ON l.n % 2 = 0",
    "SELECT city, count(*), sum(balance), string_agg(name, ',' ORDER BY name DESC) FROM customer GROUP BY city",
    "SELECT o.status, count(DISTINCT o.customer_id), sum(i.price * i.quantity), avg(i.price), min(i.line)
         FROM orders o JOIN item i ON i.order_id = o.id GROUP BY o.status ORDER BY 1",
    "SELECT at, message, count(*) FROM log GROUP BY at, message",
    "SELECT city, id % 3, count(*) FROM customer GROUP BY ROLLUP (city, id % 3)",
    "SELECT sum(id) FILTER (WHERE id % 2 = (SELECT min(line) FROM item)), max(name) FROM customer",
    "SELECT DISTINCT at, length(message) % 4 FROM log",
    "SELECT DISTINCT ON (at) at, message FROM log ORDER BY at, message DESC",
    "SELECT at FROM log UNION SELECT id FROM customer UNION ALL SELECT line FROM item WHERE order_id < 40",
    "SELECT at FROM log INTERSECT SELECT customer_id FROM orders",
    "SELECT at FROM log INTERSECT ALL SELECT customer_id FROM orders",
    "SELECT at, message FROM log EXCEPT SELECT customer_id, status FROM orders",
    "SELECT at FROM log EXCEPT ALL SELECT customer_id FROM orders",
    "SELECT * FROM log ORDER BY message DESC NULLS FIRST, at LIMIT 30 OFFSET 17",
    "SELECT * FROM log ORDER BY at LIMIT 700 OFFSET 100",
    "SELECT * FROM item LIMIT 20 OFFSET 600",
    "SELECT * FROM item ORDER BY price, order_id, line",
    "WITH RECURSIVE r(n, at) AS (SELECT 1, at FROM log WHERE at < 4 UNION SELECT n + 1, l.at FROM r
         JOIN log l ON l.at = r.at + 3 WHERE n < 12) SELECT * FROM r ORDER BY n, at",
    "WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 400) SELECT count(*), sum(n) FROM r",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9
         AND (SELECT count(*) FROM (VALUES (1), (2), (3)) v(x) WHERE x < r.n) < 5) SELECT * FROM r, r s",
    "WITH c AS MATERIALIZED (SELECT * FROM customer WHERE id > 20), d AS MATERIALIZED (SELECT * FROM c WHERE id < 90)
         SELECT * FROM c LEFT JOIN d USING (id) WHERE c.id IN (SELECT id FROM d) OR c.id % 7 = 0",
    "SELECT * FROM (WITH c AS MATERIALIZED (SELECT at FROM log WHERE at < 9) SELECT a.at, (SELECT count(*) FROM c
         WHERE at < a.at) FROM c a) s, generate_series(1, 3) WITH ORDINALITY",
    "WITH gone AS (DELETE FROM log WHERE at % 5 = 0 RETURNING at, message), kept AS (INSERT INTO log
         SELECT at + 1000, message FROM gone WHERE at > 50 RETURNING at), unread AS (UPDATE customer SET balance = 0
         WHERE id IN (SELECT at FROM gone)) SELECT * FROM gone LEFT JOIN kept ON kept.at = gone.at + 1000",
    "INSERT INTO log SELECT c.id, o.status FROM customer c JOIN orders o ON o.customer_id = c.id RETURNING *",
    "UPDATE orders SET total = i.total FROM (SELECT order_id, sum(price) total FROM item GROUP BY order_id) i
         WHERE i.order_id = orders.id RETURNING id, orders.total",
    "DELETE FROM item USING product p WHERE p.id = product_id AND p.kind = 'kind 2' RETURNING *",
    "SELECT l.*, c.*, (SELECT count(*) FROM item) FROM log l LEFT JOIN customer c ON c.id = l.at",
];

/// Of sides that come in the order of their keys, with several rows of each and some of more rows than a batch holds.
const MERGED: [&str; 8] = [
    "SELECT * FROM asked a JOIN given g ON g.k = a.k",
    "SELECT * FROM asked a LEFT JOIN given g ON g.k = a.k AND g.v > a.v",
    "SELECT * FROM asked a RIGHT JOIN given g ON g.k = a.k AND g.v > a.v",
    "SELECT * FROM asked a FULL JOIN given g ON g.k = a.k",
    "SELECT * FROM asked a FULL JOIN given g ON g.k = a.k AND g.v > a.v",
    "SELECT * FROM asked a WHERE EXISTS (SELECT 1 FROM given g WHERE g.k = a.k)",
    "SELECT * FROM asked a WHERE EXISTS (SELECT 1 FROM given g WHERE g.k = a.k AND g.v > a.v)",
    "SELECT * FROM asked a WHERE NOT EXISTS (SELECT 1 FROM given g WHERE g.k = a.k AND g.v > a.v)",
];

#[test]
fn the_merged_are_merged() {
    let conn = connect(Options::default());
    SHOP.iter().for_each(|sql| assert!(answer(&conn, sql).is_ok(), "{sql}"));
    for sql in MERGED {
        let plan = format!("{:?}", answer(&conn, &format!("EXPLAIN {sql}")));
        assert!(plan.contains("Merge"), "{sql}\n{plan}");
    }
}

#[test]
fn plans_of_every_kind_go_on_where_they_stopped() {
    let golden = include_str!("../plan/golden.txt").split("\n\n").filter_map(|block| block.trim().split_once("\n----"));
    let golden: Vec<&str> = golden.map(|(sql, _)| sql).collect();
    for (seed, work_mem, batch_rows) in [(1, 8 << 10, 1024), (2, 1 << 30, 1024), (3, 1 << 30, 3), (4, 64 << 10, 100)] {
        let set = format!("SET batch_rows = {batch_rows}");
        let queries = SHOP.into_iter().chain([set.as_str()]).chain(golden.iter().copied()).chain(MERGED).chain(QUERIES);
        assert_same("plans", seed, &Options::default().work_mem(work_mem), true, queries);
    }
}
