//! The change feed: what it tells, applied to what was there before, is what is there after.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::common::Random;
use cairn_storage::io::{CrashStrategy, SimDisk};
use cairn_storage::{Environment, QuietHost, Store};
use cairndb::{Change, ChangeKind, Changes, Connection, Database, Durability, Options, Position, Value};

/// Rows by key, as the feed tells of them; of each its values by the column's number.
#[derive(Clone, Debug, Default)]
struct Replica(BTreeMap<u32, Copied>);

#[derive(Clone, Debug, Default)]
struct Copied {
    name: String,
    columns: Vec<u32>,
    rows: BTreeMap<Vec<u8>, Vec<Value>>,
}

impl Replica {
    fn apply(&mut self, change: &Change) {
        use ChangeKind as K;
        let (id, kind) = (change.table().id, change.kind());
        let table = self.0.entry(id).or_default();
        let columns: Vec<u32> = change.table().columns.iter().map(|column| column.number).collect();
        let row = |row: Option<cairndb::Row<'_>>| row.expect("a row").values().to_vec();
        let old_is_known = |table: &Copied| {
            let known = table.rows.get(change.old_key().unwrap()).expect("the row that changes is there");
            assert_eq!(known, &row(change.old()));
        };
        match kind {
            K::Insert => {
                let before = table.rows.insert(change.new_key().unwrap().to_vec(), row(change.new_row()));
                assert!(before.is_none(), "a row came that was there");
            }
            K::Update => {
                old_is_known(table);
                assert_eq!(change.old_key(), change.new_key());
                table.rows.insert(change.new_key().unwrap().to_vec(), row(change.new_row()));
            }
            K::Delete => {
                old_is_known(table);
                table.rows.remove(change.old_key().unwrap());
            }
            K::Truncate | K::Rewriting => table.rows.clear(),
            K::Rewrite => drop(table.rows.insert(change.new_key().unwrap().to_vec(), row(change.new_row()))),
            K::Begin => *table = Copied { columns, ..Copied::default() },
            K::Alter => {
                let values = |old: &[Value]| {
                    let value = |column: &cairndb::ChangeColumn| {
                        let at = table.columns.iter().position(|number| *number == column.number);
                        at.map_or_else(|| column.missing.clone(), |at| old[at].clone())
                    };
                    change.table().columns.iter().map(value).collect::<Vec<_>>()
                };
                table.rows = table.rows.iter().map(|(key, old)| (key.clone(), values(old))).collect();
                table.columns = columns;
            }
            K::End | K::Drop => drop(self.0.remove(&id)),
            other => panic!("{other:?}"),
        }
        if let Some(table) = self.0.get_mut(&id) {
            table.name.clone_from(&change.table().name);
        }
    }

    /// Takes all that was committed before the connection's last commit, which is durable.
    fn follow(&mut self, changes: &mut Changes, conn: &Connection) {
        let position = conn.position().unwrap();
        while changes.token() < position {
            let before = changes.token();
            match changes.next_change_within(Duration::ZERO).unwrap().item() {
                Some(change) => self.apply(&change),
                None => assert!(changes.token() >= position, "stopped at {before}, before {position}"),
            }
        }
    }

    fn check(&self, conn: &Connection) {
        for table in self.0.values() {
            let mut copied: Vec<String> = table.rows.values().map(|row| format!("{row:?}")).collect();
            let mut rows: Vec<String> = crate::common::typed_rows(conn, &format!("SELECT * FROM {}", table.name))
                .iter()
                .map(|row| format!("{row:?}"))
                .collect();
            copied.sort();
            rows.sort();
            assert_eq!(copied, rows, "{}", table.name);
        }
    }
}

const TABLES: &str = "
    CREATE TABLE a (id int PRIMARY KEY, n int, t text) WITH (change_feed = on);
    CREATE TABLE b (x int, y text) WITH (change_feed = on);
    CREATE TABLE c (id int PRIMARY KEY, a int REFERENCES a ON DELETE CASCADE ON UPDATE CASCADE, v int UNIQUE)
        WITH (change_feed = on, change_feed_age = '1 day', change_feed_bytes = '100MB');
    CREATE TABLE quiet (id int PRIMARY KEY);
    CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO b VALUES (new.id, 'by a trigger'); RETURN new; END $$;
    CREATE TRIGGER noted AFTER UPDATE OF t ON a FOR EACH ROW EXECUTE FUNCTION noted();";

fn statement(random: &mut Random) -> String {
    let (id, n) = (random.below(60u32), random.below(1000u32));
    match random.below(26u32) {
        0..4 => format!("INSERT INTO a VALUES ({id}, {n}, 'new') ON CONFLICT (id) DO UPDATE SET n = excluded.n"),
        4 => format!(
            "INSERT INTO a SELECT g, g, repeat('x', {n}) FROM generate_series({id}, {id} + 5) g ON CONFLICT DO NOTHING"
        ),
        5 => format!("INSERT INTO b (x) VALUES ({n}), ({id})"),
        6 | 7 => format!("UPDATE a SET n = n + 1 WHERE id = {id}"),
        8 => format!("UPDATE a SET t = t || '{n}' WHERE n % 7 = {}", n % 7),
        9 => "UPDATE a SET id = id + 1".to_owned(),
        10 => "UPDATE a SET id = 100 - id".to_owned(),
        11 | 12 => format!("DELETE FROM a WHERE id = {id}"),
        13 => format!("DELETE FROM b WHERE x % 5 = {}", n % 5),
        14 | 15 => format!("INSERT INTO c SELECT {id}, min(id), {n} FROM a WHERE id >= {id} ON CONFLICT DO NOTHING"),
        16 => "UPDATE c SET v = -v".to_owned(),
        17 => "TRUNCATE b".to_owned(),
        18 => "TRUNCATE a CASCADE".to_owned(),
        19 => format!("ALTER TABLE b ADD COLUMN z{n} int DEFAULT {id}"),
        20 => "ALTER TABLE b ALTER COLUMN y TYPE text USING upper(y), ALTER COLUMN x TYPE bigint".to_owned(),
        21 => format!("INSERT INTO b (x) SELECT g FROM generate_series(1, {}) g", 10 * n),
        22 => format!(
            "MERGE INTO a USING (VALUES ({id}, {n}), ({id} + 1, 0)) s (k, m) ON a.id = s.k \
             WHEN MATCHED AND m > 500 THEN DELETE WHEN MATCHED THEN UPDATE SET n = m \
             WHEN NOT MATCHED THEN INSERT VALUES (k, m, 'merged')"
        ),
        23 => "ALTER TABLE a RENAME COLUMN n TO m; ALTER TABLE a RENAME COLUMN m TO n".to_owned(),
        24 => format!("INSERT INTO quiet VALUES ({n}) ON CONFLICT DO NOTHING"),
        _ => "DROP TABLE b; CREATE TABLE b (x int, y text, k int GENERATED ALWAYS AS IDENTITY) WITH (change_feed)"
            .to_owned(),
    }
}

const MODES: [Durability; 4] = [Durability::Full, Durability::Group, Durability::Interval, Durability::Off];

/// A transaction of some statements: committed or not, with a savepoint or not.
fn step(conn: &Connection, random: &mut Random) {
    conn.set_durability(*random.pick(&MODES)).unwrap();
    // What fails leaves nothing.
    let run = |sql: &str| conn.execute_script(sql).is_ok();
    if random.one_in(2) {
        run(&statement(random));
        return;
    }
    run("BEGIN");
    for _ in 0..1 + random.below(4u32) {
        run("SAVEPOINT s");
        let is_fine = run(&statement(random));
        if !is_fine || random.one_in(3) {
            run("ROLLBACK TO s");
        }
    }
    run(if random.one_in(4) { "ROLLBACK" } else { "COMMIT" });
}

fn settled(conn: &Connection) {
    conn.set_durability(Durability::Full).unwrap();
    conn.execute("INSERT INTO quiet SELECT coalesce(max(id), 0) + 1 FROM quiet", ()).unwrap();
}

#[test]
fn changes_applied_to_what_was_there_are_what_is_there() {
    for seed in 1..7 {
        let db = Database::open_in_memory().unwrap();
        let conn = db.connect().unwrap();
        let mut changes = db.changes(None).unwrap();
        conn.execute_script(TABLES).unwrap();
        let (mut replica, mut random) = (Replica::default(), Random(seed));
        for round in 0..150 {
            step(&conn, &mut random);
            if round % 5 == 4 {
                settled(&conn);
                replica.follow(&mut changes, &conn);
                replica.check(&conn);
            }
            // Somebody else takes over.
            if round % 40 == 39 {
                let token: Position = changes.token().to_string().parse().unwrap();
                assert_eq!(token, changes.token());
                changes = db.changes(Some(token)).unwrap();
            }
        }
        assert_eq!(replica.0.len(), 3);
        db.verify().unwrap();
    }
}

fn open(disk: &SimDisk) -> Database {
    let env = Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) };
    Database::over(
        Store::open_with(Path::new("db"), cairn_storage::Options::default(), env).unwrap(),
        Options::default(),
    )
    .unwrap()
}

/// Whatever was taken before a crash, what is taken after it makes the same of it as what is there.
#[test]
fn a_feed_that_resumes_after_a_crash_has_missed_nothing() {
    for seed in 1..5 {
        let mut disk = SimDisk::new(seed);
        let mut db = open(&disk);
        let mut random = Random(seed * 77);
        let mut changes = db.changes(None).unwrap();
        db.connect().unwrap().execute_script(TABLES).unwrap();
        let mut replica = Replica::default();
        for life in 0..6 {
            let conn = db.connect().unwrap();
            for _ in 0..10 {
                step(&conn, &mut random);
                // Some of it is taken, to wherever that is.
                let limit = random.below(30u32);
                for _ in 0..limit {
                    let Some(change) = changes.next_change_within(Duration::ZERO).unwrap().item() else { break };
                    replica.apply(&change);
                }
            }
            // The rest of a commit that was begun goes with what it began.
            while let Some(change) = changes.next_change_within(Duration::ZERO).unwrap().item() {
                let is_last = change.is_last();
                replica.apply(&change);
                if is_last {
                    break;
                }
            }
            let token = changes.token();
            drop(changes);
            let image = disk.crash(CrashStrategy::KeepNone);
            drop((conn, db));
            disk = SimDisk::from_image(&image, seed + life);
            db = open(&disk);
            let conn = db.connect().unwrap();
            settled(&conn);
            changes = db.changes(Some(token)).unwrap();
            replica.follow(&mut changes, &conn);
            replica.check(&conn);
        }
    }
}

fn kinds(changes: &mut Changes) -> Vec<ChangeKind> {
    std::iter::from_fn(|| changes.next_change_within(Duration::ZERO).unwrap().item())
        .map(|change| change.kind())
        .collect()
}

#[test]
fn who_comes_too_late_or_from_elsewhere_is_told_and_begins_again() {
    let folder = std::env::temp_dir().join(format!("cairn-feed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let db = Database::open(folder.join("db")).unwrap();
    let conn = db.connect().unwrap();
    conn.execute_script(
        "CREATE TABLE young (id int PRIMARY KEY) WITH (change_feed = on, change_feed_age = '100 milliseconds');
         CREATE TABLE small (id int PRIMARY KEY, t text) WITH (change_feed = on, change_feed_bytes = '10kB')",
    )
    .unwrap();
    let too_late = |token| {
        let error = db.changes(Some(token)).map(drop).unwrap_err();
        assert_eq!(error.sqlstate().0, "55000");
        assert!(error.hint().is_some());
    };
    for sql in
        ["INSERT INTO young VALUES (1)", "INSERT INTO small SELECT g, repeat('x', 100) FROM generate_series(1, 500) g"]
    {
        let token = conn.change_token().unwrap();
        let mut slow = db.changes(Some(token)).unwrap();
        conn.execute(sql, ()).unwrap();
        let behind = conn.change_token().unwrap();
        conn.execute("INSERT INTO small VALUES (0, 'the last commit stays')", ()).ok();
        let began = std::time::Instant::now();
        while db.changes(Some(token)).is_ok() {
            assert!(began.elapsed() < Duration::from_secs(60), "nothing was forgotten");
            std::thread::sleep(Duration::from_millis(20));
        }
        too_late(token);
        assert_eq!(slow.next_change().map(drop).unwrap_err().sqlstate().0, "55000");
        assert!(db.changes(Some(behind)).is_ok());
        conn.execute("DELETE FROM small WHERE id = 0", ()).unwrap();
    }
    too_late("0123456789abcdef-10".parse().unwrap());
    assert!("nonsense".parse::<Position>().is_err());
    // A copy goes on by itself.
    let token = conn.change_token().unwrap();
    db.backup_to(folder.join("copy")).unwrap();
    let copy = Database::open(folder.join("copy")).unwrap();
    assert_eq!(copy.changes(Some(token)).map(drop).unwrap_err().sqlstate().0, "55000");
    let mut of_copy = copy.changes(None).unwrap();
    copy.connect().unwrap().execute("INSERT INTO young VALUES (2)", ()).unwrap();
    assert_eq!(kinds(&mut of_copy), [ChangeKind::Insert]);
    assert_eq!(kinds(&mut db.changes(Some(token)).unwrap()), []);
    drop((copy, of_copy));
    // Over a closing and an opening, too.
    conn.execute("INSERT INTO young VALUES (3)", ()).unwrap();
    drop(conn);
    db.close().unwrap();
    let db = Database::open(folder.join("db")).unwrap();
    assert_eq!(kinds(&mut db.changes(Some(token)).unwrap()), [ChangeKind::Insert]);
    db.close().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_feed_begins_and_ends_where_it_is_said_and_others_cost_nothing() {
    let db = Database::open_in_memory().unwrap();
    let conn = db.connect().unwrap();
    let run = |sql: &str| conn.execute_script(sql).unwrap();
    run("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)");
    let mut changes = db.changes(None).unwrap();
    run("INSERT INTO t VALUES (2); ALTER TABLE t SET (change_feed = on); INSERT INTO t VALUES (3)");
    assert_eq!(kinds(&mut changes), [ChangeKind::Begin, ChangeKind::Insert]);
    run("ALTER TABLE t SET (change_feed = off); INSERT INTO t VALUES (4)");
    run(
        "ALTER TABLE t SET (change_feed, fillfactor = 70); UPDATE t SET id = 5 WHERE id = 4; ALTER TABLE t RENAME TO u",
    );
    run("ALTER TABLE u RESET (change_feed); DROP TABLE u");
    use ChangeKind as K;
    assert_eq!(kinds(&mut changes), [K::End, K::Begin, K::Delete, K::Insert, K::Alter, K::End]);
    for (sql, state) in [
        ("CREATE TEMP TABLE x (id int) WITH (change_feed = on)", "0A000"),
        ("CREATE TABLE x WITH (change_feed = on) AS SELECT 1", "0A000"),
        ("CREATE TABLE x (id int) WITH (change_feed = maybe)", "22023"),
        ("CREATE TABLE x (id int) WITH (change_feed = on, change_feed_age = 'soon')", "22023"),
        ("CREATE TABLE x (id int) WITH (change_feed = on, change_feed_bytes = '1 elephant')", "22023"),
    ] {
        crate::common::fails(&conn, sql, state);
    }
    run("CREATE TABLE x (id int)");
    crate::common::fails(&conn, "ALTER TABLE x SET (change_feed_age = '1 day')", "55000");
}

#[test]
fn virtual_columns_are_not_told() {
    let db = Database::open_in_memory().unwrap();
    let conn = db.connect().unwrap();
    let sql = "CREATE TABLE t (twice int GENERATED ALWAYS AS (id * 2) VIRTUAL, id int PRIMARY KEY, name text) WITH (change_feed = on)";
    conn.execute(sql, ()).unwrap();
    let mut changes = db.changes(None).unwrap();
    conn.execute("INSERT INTO t VALUES (DEFAULT, 1, 'x')", ()).unwrap();
    let change = changes.next_change().unwrap().unwrap();
    let names: Vec<&str> = change.table().columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!((names, change.table().primary_key.as_slice()), (vec!["id", "name"], [0].as_slice()));
    let row = change.new_row().unwrap();
    assert_eq!((row.get::<i64>(0).unwrap(), row.get::<String>(1).unwrap()), (1, "x".to_owned()));
    conn.execute("ALTER TABLE t ADD COLUMN more int GENERATED ALWAYS AS (id + 1) VIRTUAL", ()).unwrap();
    conn.execute("UPDATE t SET name = 'y'", ()).unwrap();
    let told: Vec<Change> = std::iter::from_fn(|| changes.next_change_within(Duration::ZERO).unwrap().item()).collect();
    assert_eq!(told.last().unwrap().new_row().unwrap().get::<String>(1).unwrap(), "y");
}

#[test]
fn a_task_is_woken_and_a_closed_database_ends_it() {
    struct Woken(std::sync::atomic::AtomicBool);
    impl std::task::Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let db = Database::open_in_memory().unwrap();
    let conn = db.connect().unwrap();
    conn.execute("CREATE TABLE t (id int PRIMARY KEY) WITH (change_feed = on)", ()).unwrap();
    let mut changes = db.changes(None).unwrap();
    let woken = Arc::new(Woken(false.into()));
    let waker = Waker::from(woken.clone());
    assert!(changes.poll_change(&mut Context::from_waker(&waker)).is_pending());
    conn.execute("INSERT INTO t VALUES (1)", ()).unwrap();
    assert!(woken.0.load(std::sync::atomic::Ordering::SeqCst));
    let Poll::Ready(change) = changes.poll_change(&mut Context::from_waker(&waker)) else { panic!("a change") };
    assert_eq!(change.unwrap().unwrap().kind(), ChangeKind::Insert);
    let waiting = std::thread::spawn(move || changes.next_change().unwrap().is_none());
    std::thread::sleep(Duration::from_millis(50));
    db.close().unwrap();
    assert!(waiting.join().unwrap());
}

#[test]
fn an_altered_table_is_told_as_it_was_and_its_columns_have_the_numbers_that_the_feed_has() {
    let database = Database::open_in_memory().unwrap();
    let conn = database.connect().unwrap();
    conn.execute_script(
        "CREATE TYPE mood AS ENUM ('sad'); CREATE TABLE t (gone int, id int PRIMARY KEY, m mood) WITH (change_feed = on); ALTER TABLE t DROP COLUMN gone",
    )
    .unwrap();
    let names =
        |table: &cairndb::ChangedTable| table.columns.iter().map(|of| (of.number, of.name.clone())).collect::<Vec<_>>();
    let before = [(2, "id".to_owned()), (3, "m".to_owned())];
    assert_eq!(names(&conn.changed_table("t").unwrap().unwrap()), before);
    let mut changes = database.changes(Some(conn.change_token().unwrap())).unwrap();
    conn.execute_script("ALTER TABLE t ADD COLUMN n int; ALTER TABLE t RENAME COLUMN n TO k").unwrap();
    let mut next = || changes.next_change().unwrap().unwrap();
    let (added, renamed) = (next(), next());
    assert_eq!((added.kind(), renamed.kind()), (ChangeKind::Alter, ChangeKind::Alter));
    assert_eq!(names(added.old_table()), before);
    assert_eq!(
        (names(added.table()), names(added.table())),
        (names(renamed.old_table()), [&before[..], &[(4, "n".into())]].concat())
    );
    assert_eq!(names(renamed.table()), names(&conn.changed_table("t").unwrap().unwrap()));
    // What its columns were is not known any more: the feed goes on.
    conn.execute_script("ALTER TABLE t DROP COLUMN m; DROP TYPE mood").unwrap();
    assert_eq!((next().kind(), conn.changed_table("nothing").is_err()), (ChangeKind::Alter, true));
    conn.execute_script("CREATE TABLE silent (id int)").unwrap();
    assert!(conn.changed_table("silent").unwrap().is_none());
}
