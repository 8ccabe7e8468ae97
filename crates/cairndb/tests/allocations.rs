//! Point statements in steady state do not allocate: not one heap allocation between the parameters and the tree.
//!
//! Counted on the thread that runs the statement, by an allocator that keeps the backtrace of the first allocation it
//! meets, so that a failure names its place. Background work (checkpoints, log space) is on threads of its own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;

use cairndb::{Connection, Database, Statement};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static ARMED: Cell<bool> = const { Cell::new(false) };
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static FIRST: RefCell<Option<Backtrace>> = const { RefCell::new(None) };
}

/// Notes an allocation of this thread, if it is being watched.
fn note() {
    // A thread that is ending has no such variables any more, and is not watched.
    if !ARMED.try_with(Cell::get).unwrap_or(false) {
        return;
    }
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
    // The backtrace allocates too.
    ARMED.set(false);
    FIRST.with_borrow_mut(|first| first.get_or_insert_with(Backtrace::force_capture).status());
    ARMED.set(true);
}

// SAFETY: every method passes its arguments on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's promises are the ones that are asked for here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// The allocations of this thread while `run` runs, and the backtrace of the first.
fn allocations_of(run: impl FnOnce()) -> (u64, Option<Backtrace>) {
    ALLOCATIONS.set(0);
    FIRST.set(None);
    ARMED.set(true);
    run();
    ARMED.set(false);
    (ALLOCATIONS.get(), FIRST.take())
}

/// Runs `step` until it is warm, then asserts that it does not allocate.
fn assert_no_allocation(what: &str, mut step: impl FnMut(i64)) {
    (0..WARM_UP).for_each(&mut step);
    let (count, first) = allocations_of(|| (WARM_UP..WARM_UP + STEPS).for_each(&mut step));
    let place = first.map(|trace| trace.to_string()).unwrap_or_default();
    assert_eq!(count, 0, "{what}: {count} allocations in {STEPS} runs; the first:\n{place}");
}

/// As [`assert_no_allocation`] for a statement that makes the trees grow: a step that splits a page may allocate a
/// little, and so may one in a hundred others, where a list of pages grows.
fn assert_allocations_only_with_growth(what: &str, fixture: &Fixture, mut step: impl FnMut(i64)) {
    (0..WARM_UP).for_each(&mut step);
    let (mut splits, mut with_split, mut without, mut place) = (0, 0, 0, None);
    for at in WARM_UP..WARM_UP + STEPS {
        let before = fixture.db.stats().tree_splits;
        let (count, first) = allocations_of(|| step(at));
        match fixture.db.stats().tree_splits - before {
            0 => {
                without += count;
                place = place.or(first);
            }
            more => {
                splits += more;
                with_split += count;
            }
        }
    }
    let place = place.map(|trace| trace.to_string()).unwrap_or_default();
    assert!(without <= STEPS as u64 / 100, "{what}: {without} allocations without a split; the first:\n{place}");
    assert!(splits > 0, "{what}: nothing grew");
    assert!(with_split <= 8 * splits, "{what}: {with_split} allocations in {splits} splits");
}

const WARM_UP: i64 = 1000;
const STEPS: i64 = 500;
const ROWS: i64 = 5_000;

/// A database file of `ROWS` rows, removed at the end.
struct Fixture {
    conn: Connection,
    db: Database,
    dir: PathBuf,
}

impl Fixture {
    fn new(name: &str) -> Fixture {
        let dir = std::env::temp_dir().join(format!("cairndb-allocations-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let db = Database::open(dir.join("test.cairn")).unwrap();
        let conn = db.connect().unwrap();
        conn.execute_script(
            "CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL, s text NOT NULL);\
             CREATE TABLE u (id bigint PRIMARY KEY, code bigint NOT NULL UNIQUE, s text NOT NULL);",
        )
        .unwrap();
        let text = "x".repeat(80);
        for table in ["t", "u"] {
            conn.transaction(|tx| {
                let sql = format!("INSERT INTO {table} SELECT i, i, $1 FROM generate_series(0, {}) AS g (i)", ROWS - 1);
                tx.execute(&sql, (text.as_str(),))
            })
            .unwrap();
        }
        Fixture { conn, db, dir }
    }

    /// A statement that must take the path of point statements.
    fn prepare(&self, sql: &str) -> Statement<'_> {
        let statement = self.conn.prepare(sql).unwrap();
        assert!(statement.is_point(), "{sql}");
        statement
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // On Unix, files can go while they are open; elsewhere the system cleans its temporary folder.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Visits all rows in an order that looks random.
fn scattered(step: i64) -> i64 {
    (step * 7919) % ROWS
}

#[test]
fn a_point_select_by_primary_key_allocates_nothing() {
    let fixture = Fixture::new("select");
    let mut select = fixture.prepare("SELECT n, s FROM t WHERE id = $1");
    assert_no_allocation("select by primary key", |step| {
        let id = scattered(step);
        let read = select.query_point((id,), |row| (row.get_i64(0), row.get_str(1).map(str::len)));
        assert_eq!(read.unwrap(), Some((Some(id), Some(80))));
    });
}

#[test]
fn a_point_select_by_unique_index_allocates_nothing() {
    let fixture = Fixture::new("unique");
    let mut select = fixture.prepare("SELECT id FROM u WHERE code = $1");
    assert_no_allocation("select by unique index", |step| {
        let code = scattered(step);
        assert_eq!(select.query_point((code,), |row| row.get_i64(0)).unwrap(), Some(Some(code)));
    });
}

#[test]
fn a_point_select_that_finds_nothing_allocates_nothing() {
    let fixture = Fixture::new("absent");
    let mut select = fixture.prepare("SELECT n FROM t WHERE id = $1");
    assert_no_allocation("select of an absent row", |step| {
        assert_eq!(select.query_point((ROWS + step,), |row| row.get_i64(0)).unwrap(), None);
    });
}

#[test]
fn enums_are_written_and_read_by_key_without_an_allocation() {
    let fixture = Fixture::new("enums");
    let made = "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); CREATE TABLE e (id bigint PRIMARY KEY, m mood NOT NULL);
         ALTER TYPE mood ADD VALUE 'fine' BEFORE 'happy'; INSERT INTO e SELECT i, 'sad' FROM generate_series(0, 4999) i";
    fixture.conn.execute_script(made).unwrap();
    let labels = ["sad", "ok", "fine", "happy"];
    let mut update = fixture.prepare("UPDATE e SET m = $1 WHERE id = $2");
    let mut select = fixture.prepare("SELECT m FROM e WHERE id = $1");
    assert_no_allocation("update and select of an enum", |step| {
        let (id, label) = (scattered(step), labels[step as usize % 4]);
        assert_eq!(update.execute((label, id)).unwrap(), 1);
        let is_it = select.query_point((id,), |row| row.get_str(0) == Some(label));
        assert_eq!(is_it.unwrap(), Some(true));
    });
    let mut insert = fixture.prepare("INSERT INTO e VALUES ($1, $2)");
    assert_allocations_only_with_growth("insert of an enum", &fixture, |step| {
        assert_eq!(insert.execute((ROWS + step, labels[step as usize % 4])).unwrap(), 1);
    });
}

#[test]
fn a_point_update_allocates_nothing() {
    let fixture = Fixture::new("update");
    let mut update = fixture.prepare("UPDATE t SET n = $1 WHERE id = $2");
    assert_no_allocation("update of a number", |step| {
        assert_eq!(update.execute((step, scattered(step))).unwrap(), 1);
    });
}

#[test]
fn statements_that_take_turns_allocate_nothing() {
    let fixture = Fixture::new("turns");
    fixture.conn.execute("ALTER TABLE u ADD COLUMN of bigint REFERENCES t", ()).unwrap();
    // Rows that have no such column yet grow when they get one, and pages split.
    fixture.conn.execute("UPDATE u SET of = (SELECT max(id) FROM t)", ()).unwrap();
    let mut read = fixture.prepare("SELECT s FROM t WHERE id = $1");
    let mut wide = fixture.prepare("UPDATE u SET code = -code, of = $2 WHERE id = $1");
    let mut narrow = fixture.prepare("UPDATE t SET n = $2 WHERE id = $1");
    let mut upsert =
        fixture.prepare("INSERT INTO t VALUES ($1, $2, 'y') ON CONFLICT (id) DO UPDATE SET n = excluded.n");
    assert_no_allocation("a read, a change of a row with index and reference, and two without", |step| {
        let id = scattered(step);
        assert!(read.query_point((id,), |row| row.get_str(0).is_some()).unwrap().is_some());
        for change in [&mut wide, &mut narrow, &mut upsert] {
            assert_eq!(change.execute((id, scattered(step + 1))).unwrap(), 1);
        }
    });
}

#[test]
fn a_point_update_that_adds_allocates_nothing() {
    let fixture = Fixture::new("add");
    let mut update = fixture.prepare("UPDATE t SET n = n + $1 WHERE id = $2");
    assert_no_allocation("update that adds", |step| {
        assert_eq!(update.execute((1i64, scattered(step))).unwrap(), 1);
    });
}

#[test]
fn a_point_update_that_rewrites_the_row_allocates_nothing() {
    let fixture = Fixture::new("rewrite");
    let mut update = fixture.prepare("UPDATE t SET s = $1 WHERE id = $2");
    let texts = ["y".repeat(70), "z".repeat(80)];
    assert_no_allocation("update of a text's length", |step| {
        let text = texts[usize::from(step % 2 == 0)].as_str();
        assert_eq!(update.execute((text, scattered(step))).unwrap(), 1);
    });
}

#[test]
fn a_point_delete_allocates_nothing() {
    let fixture = Fixture::new("delete");
    let mut delete = fixture.prepare("DELETE FROM t WHERE id = $1");
    assert_no_allocation("delete", |step| {
        assert_eq!(delete.execute((scattered(step),)).unwrap(), 1);
    });
}

/// New rows need new pages, so the lists that the pages are kept in may grow now and then.
#[test]
fn a_point_insert_allocates_only_as_the_database_grows() {
    let fixture = Fixture::new("insert");
    let mut insert = fixture.prepare("INSERT INTO t VALUES ($1, $2, $3)");
    let text = "x".repeat(80);
    assert_allocations_only_with_growth("insert", &fixture, |step| {
        assert_eq!(insert.execute((ROWS + step, step, text.as_str())).unwrap(), 1);
    });
}

#[test]
fn a_point_insert_into_a_unique_index_allocates_only_as_the_database_grows() {
    let fixture = Fixture::new("insert-unique");
    let mut insert = fixture.prepare("INSERT INTO u VALUES ($1, $2, $3)");
    let text = "x".repeat(80);
    assert_allocations_only_with_growth("insert with a unique index", &fixture, |step| {
        assert_eq!(insert.execute((ROWS + step, ROWS + scattered(step), text.as_str())).unwrap(), 1);
    });
}

/// Rows that refer to rows of `t`, with an index, for statements that have to look after more than the row.
fn fixture_with_orders(name: &str) -> Fixture {
    let fixture = Fixture::new(name);
    let schema = "CREATE TABLE o (id bigint PRIMARY KEY, t_id bigint REFERENCES t, n bigint CHECK (n >= 0), s text,\
                      at timestamptz DEFAULT now(), price numeric(8,2), CHECK (s <> ''));\
                  CREATE INDEX o_n ON o (n)";
    fixture.conn.execute_script(schema).unwrap();
    let sql = format!("INSERT INTO o SELECT i, i, i, 'x', NULL, 1 FROM generate_series(0, {}) AS g (i)", ROWS - 1);
    fixture.conn.transaction(|tx| tx.execute(&sql, ())).unwrap();
    fixture
}

#[test]
fn a_point_upsert_that_updates_allocates_nothing() {
    let fixture = Fixture::new("upsert");
    let mut upsert =
        fixture.prepare("INSERT INTO t VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET n = t.n + 1, s = excluded.s");
    let text = "y".repeat(80);
    assert_no_allocation("upsert by primary key", |step| {
        assert_eq!(upsert.execute((scattered(step), step, text.as_str())).unwrap(), 1);
    });
    let mut upsert =
        fixture.prepare("INSERT INTO u VALUES ($1, $2, $3) ON CONFLICT (code) DO UPDATE SET s = excluded.s");
    assert_no_allocation("upsert by unique index", |step| {
        assert_eq!(upsert.execute((step, scattered(step), text.as_str())).unwrap(), 1);
    });
    let mut nothing = fixture.prepare("INSERT INTO t VALUES ($1, $2, '') ON CONFLICT DO NOTHING");
    assert_no_allocation("insert that finds a conflict", |step| {
        assert_eq!(nothing.execute((scattered(step), step)).unwrap(), 0);
    });
}

#[test]
fn a_point_update_with_index_check_and_foreign_key_allocates_only_as_the_index_changes() {
    let fixture = fixture_with_orders("constraints");
    let mut update = fixture.prepare("UPDATE o SET t_id = $2, s = $3 WHERE id = $1 AND n >= 0");
    assert_no_allocation("update under CHECK and FOREIGN KEY", |step| {
        assert_eq!(update.execute((scattered(step), scattered(step + 1), "abc")).unwrap(), 1);
    });
    let mut update = fixture.prepare("UPDATE o SET n = $2 WHERE id = $1");
    assert_allocations_only_with_growth("update of an indexed column", &fixture, |step| {
        assert_eq!(update.execute((scattered(step), ROWS + step)).unwrap(), 1);
    });
}

#[test]
fn a_point_insert_with_index_check_foreign_key_and_defaults_allocates_only_as_the_database_grows() {
    let fixture = fixture_with_orders("insert-orders");
    let mut insert = fixture.prepare("INSERT INTO o (id, t_id, n, s, price) VALUES ($1, $2, $3, $4, $5)");
    assert_allocations_only_with_growth("insert under constraints", &fixture, |step| {
        let (id, text) = (ROWS + step, "some text that makes rows long enough to fill pages soon: 0123456789");
        assert_eq!(insert.execute((id, scattered(step), scattered(step), text, "12.50")).unwrap(), 1);
    });
}

#[test]
fn a_point_delete_with_returning_by_unique_index_allocates_nothing() {
    let fixture = Fixture::new("delete-unique");
    let mut delete = fixture.prepare("DELETE FROM u WHERE code = $1 RETURNING id, code + 1");
    assert_no_allocation("delete by unique index", |step| {
        let code = scattered(step);
        assert_eq!(delete.query_point((code,), |row| row.get_i64(1)).unwrap(), Some(Some(code + 1)));
    });
}

#[test]
fn a_point_join_allocates_nothing() {
    let fixture = fixture_with_orders("join");
    let mut join = fixture.prepare(
        "SELECT o.id, t.s, u.id FROM o JOIN t ON t.id = o.t_id LEFT JOIN u ON u.code = t.n WHERE o.id = $1 AND o.n >= 0",
    );
    assert_no_allocation("join by keys", |step| {
        let id = scattered(step);
        let read = join.query_point((id,), |row| (row.get_i64(0), row.get_str(1).map(str::len), row.get_i64(2)));
        assert_eq!(read.unwrap(), Some((Some(id), Some(80), Some(id))));
    });
    let mut computed = fixture.prepare("SELECT n + 1, coalesce(n, 0) FROM t WHERE id = $1");
    assert_no_allocation("computed columns", |step| {
        let id = scattered(step);
        assert_eq!(computed.query_point((id,), |row| row.get_i64(0)).unwrap(), Some(Some(id + 1)));
    });
}
