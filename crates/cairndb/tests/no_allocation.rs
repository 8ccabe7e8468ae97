//! Point statements in steady state allocate nothing on the thread that runs them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use cairndb::{Database, Result};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting per thread.
struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of the current thread during `work`.
fn allocations(mut work: impl FnMut() -> Result<()>) -> Result<u64> {
    let before = ALLOCATIONS.with(Cell::get);
    work()?;
    Ok(ALLOCATIONS.with(Cell::get) - before)
}

#[test]
fn point_statements_do_not_allocate() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute("CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, s text, d double precision)", ())?;
    let mut insert = conn.prepare("INSERT INTO t VALUES ($1, $2, $3, $4)")?;
    let mut select = conn.prepare("SELECT n, s, d FROM t WHERE id = $1")?;
    let mut add = conn.prepare("UPDATE t SET n = n + 1 WHERE id = $1")?;
    let mut set = conn.prepare("UPDATE t SET s = $2 WHERE id = $1")?;
    for id in 0..2000i64 {
        insert.execute((id, 0, "twenty bytes of text....", 0.5))?;
    }
    let mut round = |text: &str| -> Result<[u64; 3]> {
        let selects = allocations(|| {
            for id in 0..500i64 {
                let found =
                    select.query_point((id * 3 % 2000,), |row| row.get_i64(0).is_some() && row.get_str(1).is_some())?;
                assert_eq!(found, Some(true));
            }
            Ok(())
        })?;
        let adds = allocations(|| (0..500i64).try_for_each(|id| add.execute((id * 3 % 2000,)).map(drop)))?;
        let sets = allocations(|| (0..500i64).try_for_each(|id| set.execute((id * 3 % 2000, text)).map(drop)))?;
        Ok([selects, adds, sets])
    };
    for text in ["warm the buffers up.....", "and once more again.....", "and a third time now...."] {
        round(text)?;
    }
    let [selects, adds, sets] = round("this round is counted...")?;
    assert_eq!(selects, 0, "SELECT by key");
    // Texts keep their length: rows that grow split pages, for which the engine takes memory now and then.
    assert!(adds <= 5, "UPDATE of a number by key: {adds} allocations in 500");
    assert!(sets <= 5, "UPDATE of a text by key: {sets} allocations in 500");
    Ok(())
}
