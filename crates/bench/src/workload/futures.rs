//! What an asynchronous call costs beside a synchronous one, and beside a bare hand-over to another thread and back.
//!
//! Three statements, each asked both ways in turns, over the same database in memory: a row by its key, an insert, and a
//! scan of 50 rows that are no point statement. The task is run by a thread that sleeps until it is woken. The hand-over: a
//! thread sleeps until it is woken, and wakes the one who woke it, who sleeps until then.
//!
//! On a disk: single inserts for a minute, while checkpoints run, in turns with the medium's floor.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use cairndb_async::Database;

use crate::Result;
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::rows::text;
use crate::setup::{Medium, Setup};

const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
const CAIRN: &str = "CairnDB";
const HAND_OVER: &str = "hand-over";
const READ: &str = "SELECT n, v FROM t WHERE id = $1";
const INSERT: &str = "INSERT INTO t VALUES ($1, $2, $3)";
const SCAN: &str = "SELECT id, n, v FROM t WHERE id >= $1 AND id < $1 + 50 ORDER BY n";
/// Calls of one kind in a row, before the other kind has its turn.
const TURN: u64 = 200;

/// In memory, where no medium has a say.
pub fn in_memory(setup: &Setup, report: &mut Report) -> Result<()> {
    let args = &setup.args;
    let rows = args.rows.unwrap_or(args.size(100_000, 5_000));
    let place = Place { workload: "dispatch", medium: "memory" };
    let turns = args.size(200, 10);
    let database = cairndb::Database::open_in_memory()?;
    let connection = database.connect()?;
    connection.execute_script("CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL, v text NOT NULL)")?;
    connection.transaction(|tx| {
        let mut insert = tx.prepare(INSERT)?;
        (0..rows).try_for_each(|id| insert.execute((id, id, text(id))).map(drop))
    })?;
    let db = Database::over(database.clone(), &cairndb_async::Options::default())?;
    let bare = HandOver::begin()?;
    let mut next = rows;
    for round in 0..args.rounds() {
        let mut pairs = Pairs::new()?;
        let mut keys = Keys::new(args.seed + round as u64);
        let (mut read, mut insert, mut scan) =
            (connection.prepare(READ)?, connection.prepare(INSERT)?, connection.prepare(SCAN)?);
        for _ in 0..turns {
            let mut key = || keys.below(rows - 50);
            pairs.read.waiting(|| Ok(read.query_point((key(),), |row| row.get_i64(0)).map(drop)?))?;
            pairs.read.awaited(|| Ok(block_on(db.query_point(READ, (key(),), |row| row.get_i64(0))).map(drop)?))?;
            let mut row = || {
                next += 1;
                (next, next, text(next))
            };
            pairs.write.waiting(|| Ok(insert.execute(row()).map(drop)?))?;
            pairs.write.awaited(|| Ok(block_on(db.execute(INSERT, row())).map(drop)?))?;
            pairs.scan.waiting(|| {
                let mut rows = scan.query((key(),))?;
                while rows.next()?.is_some() {}
                Ok(())
            })?;
            pairs.scan.awaited(|| Ok(block_on(scan_all(&db, key()))?))?;
            (0..TURN).try_for_each(|_| pairs.bare.time(|| bare.there_and_back()))?;
        }
        pairs.report(place, report)?;
    }
    block_on(db.close())?;
    Ok(())
}

async fn scan_all(db: &Database, from: i64) -> cairndb::Result<()> {
    let mut rows = db.query(SCAN, (from,)).await?;
    while rows.next().await?.is_some() {}
    Ok(())
}

/// The latencies of a statement, asked both ways.
struct Pair {
    name: &'static str,
    waiting: Latencies,
    awaited: Latencies,
}

impl Pair {
    fn new(name: &'static str) -> Result<Pair> {
        Ok(Pair { name, waiting: Latencies::new()?, awaited: Latencies::new()? })
    }

    fn waiting(&mut self, mut step: impl FnMut() -> Result<()>) -> Result<()> {
        (0..TURN).try_for_each(|_| self.waiting.time(&mut step))
    }

    fn awaited(&mut self, mut step: impl FnMut() -> Result<()>) -> Result<()> {
        (0..TURN).try_for_each(|_| self.awaited.time(&mut step))
    }
}

struct Pairs {
    read: Pair,
    write: Pair,
    scan: Pair,
    bare: Latencies,
}

impl Pairs {
    fn new() -> Result<Pairs> {
        let (read, write) = (Pair::new("point read in memory")?, Pair::new("insert in memory")?);
        Ok(Pairs { read, write, scan: Pair::new("scan of 50 rows")?, bare: Latencies::new()? })
    }

    fn report(&self, place: Place, report: &mut Report) -> Result<()> {
        report.add_latencies(place, HAND_OVER, "there and back", &self.bare, &SHARES)?;
        for Pair { name, waiting, awaited } in [&self.read, &self.write, &self.scan] {
            report.add_latencies(place, CAIRN, &format!("{name}, synchronous"), waiting, &SHARES)?;
            report.add_latencies(place, CAIRN, &format!("{name}, asynchronous"), awaited, &SHARES)?;
            let more = awaited.quantile_us(0.5) - waiting.quantile_us(0.5);
            report.add(place, CAIRN, &format!("{name}: asynchronous over synchronous, p50"), "us", more);
            let of_bare = more / self.bare.quantile_us(0.5);
            report.add(place, CAIRN, &format!("{name}: the same in hand-overs"), "x", of_bare);
        }
        Ok(())
    }
}

/// Single inserts, each awaited, for as long as `--seconds` says.
pub fn on_disk(setup: &Setup, report: &mut Report) -> Result<()> {
    let (args, medium): (_, &Medium) = (&setup.args, &setup.disk);
    let place = Place { workload: "dispatch", medium: medium.name };
    let time = Duration::from_secs_f64(args.seconds.unwrap_or(args.size(60.0, 1.0)));
    let path = medium.folder()?.join("futures.cairn");
    // Several in a minute, whatever the disk.
    let options = cairndb::Options::default().checkpoint_log_bytes(4 << 20);
    let db = block_on(Database::open_with(path, cairndb_async::Options::default().database(options)))?;
    block_on(db.execute("CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL, v text NOT NULL)", ()))?;
    let (mut inserts, mut floors) = (Latencies::new()?, medium.floors()?);
    let mut of_floors = floors.iter().map(|_| Latencies::new()).collect::<Result<Vec<_>>>()?;
    let (start, mut id) = (Instant::now(), 0);
    while start.elapsed() < time {
        for _ in 0..TURN {
            id += 1;
            inserts.time(|| Ok(block_on(db.execute(INSERT, (id, id, text(id))))?))?;
        }
        for ((_, floor), latencies) in floors.iter_mut().zip(&mut of_floors) {
            (0..TURN / 5).try_for_each(|_| latencies.time(|| floor.write()))?;
        }
    }
    let checkpoints = block_on(db.call(|connection| Ok(connection.database().stats().checkpoints)))?;
    report.add(place, CAIRN, "single async insert: checkpoints meanwhile", "", checkpoints as f64);
    report.add_latencies(place, CAIRN, "single async insert", &inserts, &SHARES)?;
    for ((name, _), latencies) in floors.iter().zip(&of_floors) {
        report.add_latencies(place, name, "beside single async inserts", latencies, &SHARES)?;
        let allowed = 3.0 * inserts.quantile_us(0.5) + latencies.quantile_us(0.999);
        let of_allowed = inserts.quantile_us(0.999) / allowed;
        report.add(place, CAIRN, &format!("p99.9 to 3 x p50 and {name}'s p99.9"), "x", of_allowed);
    }
    block_on(db.close())?;
    Ok(())
}

/// Wakes a thread.
struct Unparks(Thread, AtomicBool);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.1.store(true, Ordering::Release);
        self.0.unpark();
    }
}

/// Runs a task on this thread, which sleeps until it is woken.
fn block_on<T>(task: impl Future<Output = T>) -> T {
    thread_local! {
        static UNPARKS: (Arc<Unparks>, Waker) = {
            let unparks = Arc::new(Unparks(std::thread::current(), AtomicBool::new(false)));
            (unparks.clone(), Waker::from(unparks))
        };
    }
    UNPARKS.with(|(unparks, waker)| {
        let (mut task, mut context) = (pin!(task), Context::from_waker(waker));
        loop {
            if let Poll::Ready(done) = task.as_mut().poll(&mut context) {
                return done;
            }
            while !unparks.1.swap(false, Ordering::Acquire) {
                std::thread::park();
            }
        }
    })
}

/// A thread to hand over to, with nothing to do.
struct HandOver {
    other: Thread,
    is_there: Arc<AtomicBool>,
    back: Arc<Unparks>,
}

impl HandOver {
    fn begin() -> Result<HandOver> {
        let back = Arc::new(Unparks(std::thread::current(), AtomicBool::new(false)));
        let is_there = Arc::new(AtomicBool::new(false));
        let (seen, wakes) = (is_there.clone(), back.clone());
        // It ends with the process.
        let other = std::thread::Builder::new().name("hand-over".into()).spawn(move || {
            loop {
                while !seen.swap(false, Ordering::Acquire) {
                    std::thread::park();
                }
                wakes.wake_by_ref();
            }
        })?;
        Ok(HandOver { other: other.thread().clone(), is_there, back })
    }

    fn there_and_back(&self) -> Result<()> {
        self.is_there.store(true, Ordering::Release);
        self.other.unpark();
        while !self.back.1.swap(false, Ordering::Acquire) {
            std::thread::park();
        }
        Ok(())
    }
}
