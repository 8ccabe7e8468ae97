//! Random histories in which time runs out, somebody lets go of what is watched, commits, or looks at a newer state, after a drawn number
//! of looks at the clock: at any place of running, following, comparing, and handing over.
//!
//! One thread is all of them, on a clock that stands still where nothing is drawn, so a seed is the same history each time. What is told
//! of a query as of a position is what a transaction that began at that position reads.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use cairn_storage::Observer;

use super::service::Service;
use super::tests::{Rows, add, result};
use crate::clock::drawn::{self, Event};
use crate::plan::{Fault, with_fault};
use crate::sync;
use crate::{Connection, Database, LiveChange, LiveQuery, Next, Position, SqlState};

const SCHEMA: &str = "CREATE TYPE mood AS ENUM ('low', 'high');
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
const AFTER: &str =
    "CREATE MATERIALIZED VIEW followed WITH (maintained = after) AS SELECT v, max(a) AS most FROM b GROUP BY v;
    CREATE MATERIALIZED VIEW sums WITH (maintained = after) AS SELECT c, sum(s) AS s FROM kept GROUP BY c";

/// Of every kind.
const QUERIES: [&str; 45] = [
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
const QUERIES_AFTER: [&str; 2] = ["SELECT * FROM followed", "SELECT sum(s) FROM sums"];

/// Nothing takes longer than this where nothing is wrong.
const SOON: Duration = Duration::from_secs(60);

/// So many of them, the last ones, have much kept that is of ranges of their tables.
const HARDEST: usize = 7;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn change(random: &mut Random) -> String {
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
fn joined(random: &mut Random) -> String {
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

fn alteration(random: &mut Random) -> String {
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

struct Watched {
    sql: &'static str,
    live: LiveQuery,
    known: Rows,
    told: Option<Position>,
    /// It may take only so long.
    has_timeout: bool,
}

/// Everybody.
struct World {
    database: Database,
    service: Arc<Service>,
    observer: RefCell<Observer>,
    random: RefCell<Random>,
    /// Who writes, and who watches.
    writer: Connection,
    watcher: Connection,
    /// What was committed, with a transaction that reads it.
    states: RefCell<Vec<(Position, Connection)>>,
    watched: RefCell<Vec<Watched>>,
    has_more: Cell<bool>,
    /// There are views `after` their tables.
    has_followers: bool,
    this: Weak<World>,
}

impl World {
    fn new(seed: u64) -> Rc<World> {
        let database = Database::open_in_memory().unwrap();
        let (writer, watcher) = (database.connect().unwrap(), database.connect().unwrap());
        let (service, observer) = writer.session.shared().live.with_no_threads(writer.session.shared()).unwrap();
        writer.execute_script(SCHEMA).unwrap();
        let has_followers = seed % 8 == 7;
        if has_followers {
            writer.execute_script(AFTER).unwrap();
        }
        // As costs tell, or by changes wherever it can be; and by indexes.
        let [runs, hashes] = [seed / 2 % 2, seed % 2].map(|odd| if odd == 0 { "off" } else { "on" });
        let settings =
            format!("SET enable_live_runs = {runs}; SET enable_hashjoin = {hashes}; SET enable_mergejoin = {hashes}");
        watcher.execute_script(&settings).unwrap();
        let world = Rc::new_cyclic(|this| World {
            database,
            service,
            observer: RefCell::new(observer),
            random: RefCell::new(Random(seed)),
            writer,
            watcher,
            states: RefCell::default(),
            watched: RefCell::default(),
            has_more: Cell::new(false),
            has_followers,
            this: this.clone(),
        });
        world.note_state();
        world
    }

    fn below(&self, limit: u64) -> u64 {
        self.random.borrow_mut().below(limit)
    }

    fn note_state(&self) {
        let reader = self.database.connect().unwrap();
        reader.execute_script("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM c LIMIT 1").unwrap();
        self.states.borrow_mut().push((self.writer.position().unwrap(), reader));
    }

    fn commit(&self) {
        let script = match self.below(8) {
            0 => alteration(&mut self.random.borrow_mut()),
            1..4 => joined(&mut self.random.borrow_mut()),
            4 => {
                let changes: Vec<String> = (0..4).map(|_| change(&mut self.random.borrow_mut())).collect();
                format!("BEGIN; {}; COMMIT", changes.join("; "))
            }
            _ => change(&mut self.random.borrow_mut()),
        };
        self.run(&script);
    }

    fn run(&self, script: &str) {
        for statement in script.split("; ") {
            // What is within a transaction is committed with it.
            self.writer.execute(statement, ()).unwrap_or_else(|error| panic!("{statement}: {error}"));
            if !self.writer.in_transaction() {
                self.note_state();
            }
        }
    }

    /// Something is to happen at some of the next looks.
    fn draw(&self) {
        for _ in 0..1 + self.below(3) {
            let most = [3, 12, 60][self.below(3) as usize];
            drawn::after(self.below(most), self.event());
        }
    }

    fn event(&self) -> Event {
        let this = self.this.clone();
        let world = move || this.upgrade().expect("the world");
        match self.below(10) {
            0..4 => Event::Time(Duration::from_millis(4)),
            4 => Event::Time(Duration::from_millis(300)),
            5 => Event::Time(Duration::from_secs(5)),
            6 => Event::Act(Box::new(move || world().commit())),
            7 => Event::Act(Box::new(move || world().stop())),
            _ => Event::Act(Box::new(move || world().turn())),
        }
    }

    fn drawn_query(&self) -> &'static str {
        if self.below(3) == 0 {
            return QUERIES[QUERIES.len() - 1 - self.below(HARDEST as u64) as usize];
        }
        let after = if self.has_followers { &QUERIES_AFTER[..] } else { &[] };
        let at = self.below((QUERIES.len() + after.len()) as u64) as usize;
        QUERIES.get(at).unwrap_or_else(|| &after[at - QUERIES.len()])
    }

    /// One of those that are watched is so no more.
    fn stop(&self) {
        let Ok(watched) = self.watched.try_borrow() else { return };
        if let Some(one) = watched.get(self.below(watched.len().max(1) as u64) as usize) {
            one.live.stop_handle().stop();
        }
    }

    /// One of the threads does what it would do next, unless it is at work.
    fn turn(&self) {
        match self.below(4) {
            0 => drop(self.service.work_once(0, self.writer.session.shared())),
            1 => drop(self.service.work_once(1, self.writer.session.shared())),
            _ => self.look(),
        }
    }

    fn look(&self) {
        if let Ok(mut observer) = self.observer.try_borrow_mut() {
            let has_more = self.service.look_once(&mut observer, Some(Duration::ZERO));
            self.has_more.set(has_more.expect("somebody watches, always"));
        }
    }

    /// Watches a query, with little time or much.
    fn begin(&self, sql: &'static str) -> Option<Watched> {
        let has_timeout = self.below(3) == 0;
        let timeout = if has_timeout { 1 + self.below(400) } else { 0 };
        self.watcher.execute(&format!("SET statement_timeout = {timeout}"), ()).unwrap();
        self.draw();
        let live = self.watcher.live(sql, ());
        drawn::calm();
        match live {
            Ok(live) => Some(Watched { sql, live, known: Rows::new(), told: None, has_timeout }),
            Err(error) => {
                assert_eq!(error.sqlstate(), SqlState::QUERY_CANCELED, "{sql}: {error}");
                assert!(has_timeout, "{sql}: {error}");
                None
            }
        }
    }

    /// Takes what was told of one, which is what stood there at its position. False: it has ended.
    fn take(&self, watched: &mut Watched) -> bool {
        let sql = watched.sql;
        loop {
            match watched.live.next_change_within(Duration::ZERO) {
                Ok(Next::NotYet) => return true,
                Ok(Next::End) => return false,
                Err(error) => {
                    let is_late = watched.has_timeout && error.sqlstate() == SqlState::QUERY_CANCELED;
                    // A column had another type for a while.
                    let is_altered = sql.contains("FROM c ") && error.sqlstate() == SqlState::FEATURE_NOT_SUPPORTED;
                    assert!(is_late || is_altered, "{sql}: {error}");
                    return false;
                }
                Ok(Next::Item(change)) => self.told(watched, &change),
            }
        }
    }

    fn told(&self, watched: &mut Watched, change: &LiveChange) {
        let (sql, position) = (watched.sql, change.position());
        assert!(watched.told.is_none_or(|told| told <= position), "{sql}: told of an older state");
        watched.told = Some(position);
        add(change, &mut watched.known);
        if !QUERIES_AFTER.contains(&sql) {
            let states = self.states.borrow();
            let (at, reader) = states.iter().rfind(|(at, _)| *at <= position).expect("a state");
            assert_eq!(watched.known, result(reader, sql), "{sql} at {at}");
        }
    }

    fn take_all(&self) {
        let mut all = vec![];
        for mut watched in self.watched.take() {
            match self.take(&mut watched) {
                true => all.push(watched),
                false => {
                    let sql = watched.sql;
                    drop(watched);
                    all.extend(self.begin(sql));
                }
            }
        }
        self.watched.replace(all);
    }

    fn begin_drawn(&self) {
        let watched = self.begin(self.drawn_query());
        self.watched.borrow_mut().extend(watched);
    }

    /// Goes on until nobody has anything to do, where nothing happens any more.
    fn settle(&self) {
        let (until, mut quiet) = (sync::now() + SOON, 0);
        let position = self.writer.position().unwrap();
        while quiet < 3 {
            assert!(sync::now() < until, "it has no end");
            self.look();
            let works = [0, 1].map(|number| self.service.work_once(number, self.writer.session.shared()));
            let has_view = |view: &&str| self.writer.wait_for_view(view, position, Duration::ZERO).unwrap();
            let is_quiet = works == [false, false]
                && !self.has_more.get()
                && (!self.has_followers || ["followed", "sums"].iter().all(has_view));
            quiet = if is_quiet { quiet + 1 } else { 0 };
        }
    }
}

/// How much happened in it.
fn history(seed: u64, rounds: u64) -> u64 {
    drawn::begin();
    let world = World::new(seed);
    // Whoever watches nothing has no thread.
    let _keeper = world.database.connect().unwrap().live("SELECT 'nothing' FROM c WHERE id < 0", ()).unwrap();
    (0..8).for_each(|_| world.begin_drawn());
    for _ in 0..rounds {
        (0..world.below(4)).for_each(|_| world.commit());
        world.draw();
        (0..1 + world.below(3)).for_each(|_| world.turn());
        drawn::calm();
        world.take_all();
        if world.below(3) == 0 {
            world.begin_drawn();
        }
        if world.below(6) == 0 && world.watched.borrow().len() > 6 {
            let at = world.below(6) as usize;
            let let_go = world.watched.borrow_mut().swap_remove(at);
            drop(let_go);
        }
    }
    world.settle();
    world.take_all();
    let happened = drawn::calm();
    for Watched { sql, known, told, .. } in &*world.watched.borrow() {
        assert!(told.is_none() || *known == result(&world.writer, sql), "{sql} in the end: {known:?}");
    }
    drawn::end();
    happened
}

/// What is committed around a row that was never asked for. Each is told before the next one comes; but for the first, at some look of
/// which the time is over, and the second, which undoes it: what was read and kept on the way to it is of no state that is told.
fn given_up(id: u64) -> [String; 6] {
    [
        format!("BEGIN; UPDATE a SET n = 4 WHERE id = {id}; INSERT INTO b (a, v) VALUES ({id}, 100); COMMIT"),
        format!("BEGIN; UPDATE a SET n = 40 WHERE id = {id}; DELETE FROM b WHERE a = {id} AND v = 100; COMMIT"),
        "UPDATE a SET n = 4 WHERE id = 3".to_owned(),
        format!("UPDATE a SET n = 4 WHERE id = {id}"),
        format!("INSERT INTO b (a, v) VALUES ({id}, 101)"),
        format!("BEGIN; UPDATE a SET n = 40 WHERE id IN (3, {id}); DELETE FROM b WHERE v = 101; COMMIT"),
    ]
}

const GIVEN_UP: [&str; 3] = [
    "SELECT DISTINCT b.v FROM a JOIN b ON b.a = a.id WHERE a.n = 4",
    "SELECT b.v, count(*) FROM a JOIN b ON b.a = a.id WHERE a.n = 4 GROUP BY b.v",
    "SELECT b.id FROM a JOIN b ON b.a = a.id WHERE a.n = 4 ORDER BY b.v DESC, b.id LIMIT 3",
];

/// At how many looks the time was over.
fn given_up_at_each_look() -> u64 {
    drawn::begin();
    let world = World::new(0);
    let mut watched = GIVEN_UP.map(|sql| (sql, world.watcher.live(sql, ()).unwrap(), Rows::new()));
    for looks in 0.. {
        for (at, script) in given_up(120 + looks).iter().enumerate() {
            world.writer.execute_script(script).unwrap();
            if at == 0 {
                drawn::after(looks, Event::Time(Duration::from_millis(4)));
                world.look();
                if drawn::calm() == looks {
                    drawn::end();
                    return looks;
                }
                continue;
            }
            world.settle();
            for (sql, live, known) in &mut watched {
                while let Next::Item(change) = live.next_change_within(Duration::ZERO).unwrap() {
                    add(&change, known);
                }
                assert_eq!(*known, result(&world.writer, sql), "{sql} after {script}; time was over at look {looks}");
            }
        }
    }
    unreachable!("there is always one more");
}

#[test]
fn what_is_given_up_at_any_look_leaves_nothing_behind() {
    let looks = given_up_at_each_look();
    println!("{looks} looks");
    assert!(looks > 20, "{looks}");
}

#[test]
fn whatever_happens_at_whichever_place_what_is_told_is_what_stood_there() {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let (first, seeds) = (number("CAIRN_SEED").unwrap_or(0), number("CAIRN_LIVE_SEEDS").unwrap_or(3));
    let mut happened = 0;
    for seed in first..first + seeds {
        println!("CAIRN_SEED={seed}");
        happened += history(seed, 20);
    }
    println!("{happened} things happened");
    assert!(happened > 10 * seeds, "{happened}");
}

#[test]
fn what_is_got_wrong_half_way_is_noticed() {
    let is_noticed = |fault, run: &dyn Fn() -> u64| {
        let noticed = with_fault(Some(fault), || catch_unwind(AssertUnwindSafe(run)).is_err());
        drawn::end();
        noticed
    };
    assert!(is_noticed(Fault::KeptAhead, &given_up_at_each_look));
    assert!((0..12).any(|seed| is_noticed(Fault::PassedBy, &|| history(seed, 20))));
}
