//! Changing statements go on where they stopped: with turns that have no time, from one thread and another, they do what they do
//! at once; and one that is interrupted, or let go in the middle, leaves nothing.

use super::changing::ChangingStatement;
use crate::exec::{NoAnswer, hesitantly, on_another_thread};
use crate::prepared::Body;

use super::execute::State;
use crate::{Connection, Database, Options, Result, SqlState, sync};

fn connect() -> Connection {
    let conn = Database::open_in_memory_with(Options::default()).unwrap().connect().unwrap();
    conn.run(SCHEMA, |_| Ok(())).unwrap();
    conn
}

/// A shop whose every change has something that hears of it, follows it, or waits for its end.
const SCHEMA: &str = "
    CREATE TABLE log (n bigserial, said text);
    CREATE TABLE parent (id int PRIMARY KEY, name text UNIQUE DEFERRABLE INITIALLY IMMEDIATE, v int DEFAULT 0);
    CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE, v int);
    CREATE TABLE grandchild (id int, child int REFERENCES child ON DELETE SET NULL, self int);
    CREATE TABLE late (id int PRIMARY KEY, parent int REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE heap (a int, b text);
    CREATE TABLE counted (k int PRIMARY KEY, n int NOT NULL DEFAULT 1 CHECK (n < 1000));
    CREATE VIEW face AS SELECT id, v FROM child;
    CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO log (said) VALUES (TG_OP || ' ' || TG_WHEN || ' ' || TG_LEVEL || ' ' || TG_TABLE_NAME);
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
    END $$;
    CREATE FUNCTION raised() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.v % 7 = 3 THEN RETURN NULL; END IF;
        NEW.v := NEW.v + (SELECT count(*) FROM child WHERE id < 3);
        RETURN NEW;
    END $$;
    CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO log (said) SELECT 'seen ' || count(*) || ' ' || coalesce(sum(v), 0) FROM fresh;
        RETURN NULL;
    END $$;
    CREATE FUNCTION through() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        UPDATE child SET v = NEW.v WHERE id = OLD.id;
        RETURN NEW;
    END $$;
    CREATE FUNCTION said_so_far() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$ BEGIN
        INSERT INTO log (said) VALUES ('asked');
        RETURN (SELECT count(*) FROM log);
    END $$;
    CREATE TRIGGER a BEFORE INSERT OR UPDATE ON child FOR EACH ROW EXECUTE FUNCTION raised();
    CREATE TRIGGER b AFTER INSERT OR UPDATE OR DELETE ON child FOR EACH ROW EXECUTE FUNCTION say();
    CREATE TRIGGER c AFTER DELETE ON parent FOR EACH STATEMENT EXECUTE FUNCTION say();
    CREATE TRIGGER d BEFORE UPDATE ON grandchild FOR EACH STATEMENT EXECUTE FUNCTION say();
    CREATE TRIGGER e AFTER UPDATE ON child REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION seen();
    CREATE TRIGGER f INSTEAD OF UPDATE ON face FOR EACH ROW EXECUTE FUNCTION through();
    CREATE CONSTRAINT TRIGGER g AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION say();
";

/// In this order, each as it finds what those before have left.
const STATEMENTS: [&str; 34] = [
    "INSERT INTO parent SELECT n, 'p' || n FROM generate_series(1, 40) g(n) RETURNING *",
    "INSERT INTO child SELECT n, n % 40 + 1, n FROM generate_series(1, 150) g(n) RETURNING id, v",
    "INSERT INTO child VALUES (1001, 1, 1), (1002, 2, 2), (1003, 3, 3), (1004, 4, 4)",
    "INSERT INTO child VALUES (1005, 1, 1), (1006, 777, 2)",
    "INSERT INTO grandchild SELECT n, n, n FROM generate_series(1, 2) g(n)",
    "INSERT INTO grandchild SELECT n, id, n FROM child, generate_series(1, 3) g(n)",
    "INSERT INTO heap SELECT n, repeat('x', n % 50) FROM generate_series(1, 3000) g(n)",
    "INSERT INTO counted SELECT n % 30 FROM generate_series(1, 30) g(n)",
    "INSERT INTO counted SELECT n FROM generate_series(20, 60) g(n) ON CONFLICT (k) DO UPDATE SET n = counted.n + 1 RETURNING *",
    "INSERT INTO counted SELECT n % 3 FROM generate_series(1, 30) g(n) ON CONFLICT (k) DO UPDATE SET n = counted.n + 1",
    "INSERT INTO counted SELECT n FROM generate_series(1, 90) g(n) ON CONFLICT DO NOTHING",
    "INSERT INTO counted SELECT said_so_far() + 5000 FROM generate_series(1, 20)",
    "UPDATE heap SET a = a + 1 WHERE a % 3 = 0",
    "UPDATE counted SET n = n + 1 RETURNING k, n",
    "UPDATE counted SET n = n + k * 30",
    "UPDATE parent SET id = id + 1 RETURNING id",
    "UPDATE parent SET name = 'p' || id % 7",
    "UPDATE parent SET name = 'q' || (100 - id)",
    "UPDATE child SET v = v + 1 WHERE parent < 20",
    "UPDATE child SET id = id + 1 WHERE id > 1000 RETURNING *",
    "UPDATE child SET id = id + 1",
    "UPDATE child c SET v = h.a FROM heap h WHERE h.a = c.v RETURNING c.id, h.a",
    "UPDATE child SET parent = 777 WHERE id % 2 = 0",
    "UPDATE face SET v = v + 100 WHERE id < 60 RETURNING *",
    "DELETE FROM parent WHERE id > 30 RETURNING id",
    "DELETE FROM grandchild USING heap WHERE heap.a = grandchild.id AND child IS NULL",
    "DELETE FROM heap WHERE a % 2 = 0",
    "MERGE INTO counted c USING (SELECT n FROM generate_series(50, 160) g(n)) s ON c.k = s.n
         WHEN MATCHED AND s.n % 5 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = c.n + 10
         WHEN NOT MATCHED THEN INSERT (k, n) VALUES (s.n, 3) RETURNING merge_action(), c.*",
    "MERGE INTO counted c USING (SELECT n % 5 n FROM generate_series(1, 16) g(n)) s ON c.k = s.n
         WHEN MATCHED THEN UPDATE SET n = c.n + 10",
    "WITH gone AS (DELETE FROM child WHERE v % 4 = 0 RETURNING id, v), more AS (UPDATE counted SET n = 1 WHERE n > 5
         RETURNING k) INSERT INTO heap SELECT id, 'gone' FROM gone UNION ALL SELECT k, 'more' FROM more RETURNING *",
    "INSERT INTO late SELECT n, n FROM generate_series(2, 25) g(n)",
    "INSERT INTO late SELECT n, n FROM generate_series(26, 90) g(n)",
    "DELETE FROM log WHERE n % 2 = 0 RETURNING *",
    "INSERT INTO child SELECT n, n, n FROM generate_series(2000, 2100) g(n)",
];

const TABLES: [&str; 7] = ["log", "parent", "child", "grandchild", "late", "heap", "counted"];

fn all_rows(conn: &Connection) -> Vec<String> {
    let rows = |table: &&str| answer(conn, &format!("SELECT * FROM {table} ORDER BY 1, 2"));
    TABLES.iter().map(rows).collect()
}

fn answer(conn: &Connection, sql: &str) -> String {
    let rows = || {
        let mut rows = conn.query(sql, ())?;
        let mut all = vec![];
        while let Some(row) = rows.next()? {
            all.push(row.values().to_vec());
        }
        Ok(all)
    };
    let rows: Result<_> = rows();
    format!("{rows:?}")
}

#[test]
fn changes_go_on_where_they_stopped() {
    for (seed, in_transaction) in [(1, false), (2, true), (3, false)] {
        let (plain, stopping) = (connect(), connect());
        for (at, sql) in STATEMENTS.iter().enumerate() {
            let run = |conn: &Connection| {
                if !in_transaction {
                    return answer(conn, sql);
                }
                conn.run("BEGIN", |_| Ok(())).unwrap();
                let answer = answer(conn, sql);
                let ended = conn.run("COMMIT", |_| Ok(())).map_err(|error| error.to_string());
                format!("{answer} {ended:?}")
            };

            let expected = run(&plain);
            let found = hesitantly(seed * 1000 + at as u64, || run(&stopping));
            assert_eq!(expected, found, "{sql}");
        }
        assert_eq!(all_rows(&plain), all_rows(&stopping));
    }
}

/// A statement in the open transaction, which has not begun.
fn begun(conn: &Connection, sql: &str) -> ChangingStatement {
    let session = &conn.session;
    let state = session.state.borrow();
    let open = state.transaction.as_ref().unwrap();
    let within = State::of_open(session, open).unwrap();
    let prepared = session.plan(&mut session.runnable(sql).unwrap(), &within).unwrap();
    let context = session.context(&prepared, &within, &()).unwrap();
    let Body::Plan(plan) = prepared.body().unwrap() else { panic!("no plan: {sql}") };
    ChangingStatement::begin(session, &open.tx, (&prepared, plan), &within, context).unwrap()
}

/// Takes so many steps, of which every third is another thread's; false: it was over before.
fn steps(changing: &mut ChangingStatement, count: usize) -> bool {
    (0..count).all(|step| {
        let end = Some(sync::now());
        let answer = match step % 3 {
            0 => on_another_thread(|| changing.step(end)),
            _ => changing.step(end),
        };
        matches!(answer, Err(NoAnswer::NotYet))
    })
}

#[test]
fn what_is_let_go_in_the_middle_leaves_nothing() {
    let conn = connect();
    STATEMENTS[..8].iter().for_each(|sql| drop(answer(&conn, sql)));
    let before = all_rows(&conn);
    let mut stopped = 0;
    for sql in STATEMENTS {
        for count in [1, 7, 40, 200] {
            conn.run("BEGIN", |_| Ok(())).unwrap();
            let mut changing = begun(&conn, sql);
            stopped += usize::from(steps(&mut changing, count));
            drop(changing);
            conn.run("ROLLBACK", |_| Ok(())).unwrap();
            assert!(before == all_rows(&conn), "{sql} after {count} steps");
        }
    }
    assert!(stopped > 60, "only {stopped} stopped in the middle");
    assert!(answer(&conn, STATEMENTS[8]).starts_with("Ok"));
}

#[test]
fn what_is_interrupted_in_the_middle_leaves_nothing() {
    let conn = connect();
    STATEMENTS[..8].iter().for_each(|sql| drop(answer(&conn, sql)));
    let before = all_rows(&conn);
    for sql in [
        "UPDATE child SET id = id + 5000",
        "DELETE FROM parent",
        "INSERT INTO child SELECT n, 1, 1 FROM generate_series(5000, 5500) g(n)",
    ] {
        conn.run("BEGIN", |_| Ok(())).unwrap();
        let mut changing = begun(&conn, sql);
        assert!(steps(&mut changing, 30), "{sql} was over");
        conn.interrupt_handle().interrupt();
        let error = changing.run().unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::QUERY_CANCELED, "{sql}");
        drop(changing);
        conn.run("ROLLBACK", |_| Ok(())).unwrap();
        assert!(before == all_rows(&conn), "{sql}");
    }
}
