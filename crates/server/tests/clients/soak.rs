//! Clients of every kind at once, for a while: what must hold holds, and the server has in the end what it had. For 15 seconds, or as many
//! as `CAIRN_SOAK` says.

use std::io::Write;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, NoTls, error::SqlState};

use crate::{PATIENCE, Served, code, until};

const ACCOUNTS: i32 = 40;
const TOTAL: i64 = 1_000 * ACCOUNTS as i64;

/// What all clients share.
struct Soak {
    served: Served,
    until: Instant,
    /// Rows that were acknowledged, of single statements, transactions and COPY together.
    added: AtomicI64,
    /// Notifications that were acknowledged, and that were heard by who heard all.
    told: AtomicI64,
    heard: AtomicI64,
}

impl Soak {
    /// Does something over and over, with a new session now and then.
    fn work(&self, seed: u64, mut step: impl FnMut(&Soak, &mut Client, &mut Random)) {
        let mut random = Random(seed);
        while Instant::now() < self.until {
            let mut client = self.served.connect();
            for _ in 0..1 + random.below(60) {
                if Instant::now() < self.until {
                    step(self, &mut client, &mut random);
                }
            }
        }
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Moves an amount from one to another, again from the beginning where another was quicker.
fn transfer(_: &Soak, client: &mut Client, random: &mut Random) {
    let [from, to] = [0; 2].map(|_| random.below(ACCOUNTS as u64) as i32);
    let amount = random.below(50) as i64;
    loop {
        match try_transfer(client, from, to, amount) {
            Err(error) if code(&error) == "40001" => {}
            done => return done.unwrap(),
        }
    }
}

fn try_transfer(client: &mut Client, from: i32, to: i32, amount: i64) -> Result<(), postgres::Error> {
    let mut transaction = client.transaction()?;
    let has: i64 = transaction.query_one("SELECT n FROM account WHERE id = $1", &[&from])?.get(0);
    transaction.execute("UPDATE account SET n = $2 WHERE id = $1", &[&from, &(has - amount)])?;
    transaction.execute("UPDATE account SET n = n + $2 WHERE id = $1", &[&to, &amount])?;
    transaction.commit()
}

/// The sum is the same whenever somebody looks.
fn look(_: &Soak, client: &mut Client, _: &mut Random) {
    let sum = client.query_one("SELECT sum(n)::bigint, count(*) FROM account", &[]).unwrap();
    assert_eq!((sum.get::<_, i64>(0), sum.get::<_, i64>(1)), (TOTAL, i64::from(ACCOUNTS)));
}

fn add(soak: &Soak, client: &mut Client, random: &mut Random) {
    let rows = match random.below(4) {
        0 => {
            let mut transaction = client.transaction().unwrap();
            let rows =
                (0..3).map(|_| transaction.execute("INSERT INTO entry VALUES (DEFAULT, 'tx')", &[]).unwrap()).sum();
            match random.below(3) {
                0 => return transaction.rollback().unwrap(),
                _ => transaction.commit().unwrap(),
            }
            rows
        }
        1 => {
            let mut copy = client.copy_in("COPY entry (how) FROM STDIN").unwrap();
            copy.write_all("copied\n".repeat(20).as_bytes()).unwrap();
            // Who does not finish takes it back.
            if random.below(3) == 0 { 0 } else { copy.finish().unwrap() }
        }
        _ => client.execute("INSERT INTO entry VALUES (DEFAULT, 'one')", &[]).unwrap(),
    };
    soak.added.fetch_add(rows as i64, Ordering::Relaxed);
}

/// Reads much, or is stopped on the way.
fn stop(_: &Soak, client: &mut Client, random: &mut Random) {
    let token = client.cancel_token();
    let after = Duration::from_millis(random.below(30));
    let stops = std::thread::spawn(move || {
        std::thread::sleep(after);
        token.cancel_query(NoTls).unwrap();
    });
    let ran = client.batch_execute("SELECT count(*) FROM generate_series(1, 2000000) AS a WHERE a % 7 = 1");
    assert!(ran.is_ok() || ran.is_err_and(|error| error.code() == Some(&SqlState::QUERY_CANCELED)));
    stops.join().unwrap();
    // It may come behind it, and stop this one: that is how the protocol is.
    while let Err(error) = client.batch_execute("SELECT 1") {
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{error:?}");
    }
}

fn tell(soak: &Soak, client: &mut Client, _: &mut Random) {
    client.batch_execute("NOTIFY news").unwrap();
    soak.told.fetch_add(1, Ordering::Relaxed);
}

/// Hears all, from before the first to behind the last.
fn listen(soak: &Soak, mut client: Client) {
    while Instant::now() < soak.until + Duration::from_secs(1)
        || soak.heard.load(Ordering::Relaxed) < soak.told.load(Ordering::Relaxed)
    {
        let mut news = client.notifications();
        let mut next = news.timeout_iter(Duration::from_millis(100));
        while next.next().unwrap().is_some() {
            soak.heard.fetch_add(1, Ordering::Relaxed);
        }
        assert!(Instant::now() < soak.until + PATIENCE, "notifications were lost");
    }
}

/// What this process has: threads, descriptors, resident KiB; none where it can not be told.
fn has() -> Option<(usize, usize, usize)> {
    let count = |what: &str| std::fs::read_dir(format!("/proc/self/{what}")).ok().map(Iterator::count);
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some((count("task")?, count("fd")?, line.split_whitespace().nth(1)?.parse().ok()?))
}

fn run(soak: &Soak) {
    let mut listener = soak.served.connect();
    listener.batch_execute("LISTEN news").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || listen(soak, listener));
        let steps: [fn(&Soak, &mut Client, &mut Random); 9] =
            [transfer, transfer, transfer, look, look, add, add, stop, tell];
        for (step, seed) in steps.into_iter().zip(1..) {
            scope.spawn(move || soak.work(seed, step));
        }
    });
}

fn check(soak: &Soak) {
    let conn = soak.served.database.connect().unwrap();
    assert_eq!(conn.query_row_as::<i64>("SELECT sum(n)::bigint FROM account", ()).unwrap(), TOTAL);
    assert_eq!(soak.served.rows("entry"), soak.added.load(Ordering::Relaxed));
    assert_eq!(soak.heard.load(Ordering::Relaxed), soak.told.load(Ordering::Relaxed));
    until("nobody is left", || soak.served.running.sessions() == 0);
    assert_eq!(soak.served.database.stats().snapshot_age_versions, 0);
    soak.served.database.verify().unwrap();
}

/// In a process of its own, whose threads and descriptors are the server's and its clients' only.
#[test]
fn clients_of_every_kind_go_on_for_a_while_and_leave_nothing_behind() {
    const ALONE: &str = "CAIRN_TEST_SOAKS";
    if std::env::var_os(ALONE).is_none() {
        let name = "soak::clients_of_every_kind_go_on_for_a_while_and_leave_nothing_behind";
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        let done = alone.args(["--exact", name, "--nocapture"]).env(ALONE, "1").status().unwrap();
        return assert!(done.success());
    }
    let seconds = std::env::var("CAIRN_SOAK").ok().and_then(|text| text.parse().ok()).unwrap_or(15);
    let served = Served::new();
    served
        .connect()
        .batch_execute(&format!(
            "CREATE TABLE account (id int PRIMARY KEY, n bigint NOT NULL);
             INSERT INTO account SELECT a, 1000 FROM generate_series(0, {ACCOUNTS} - 1) AS a;
             CREATE TABLE entry (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, how text)"
        ))
        .unwrap();
    let of = |served, seconds| Soak {
        served,
        until: Instant::now() + Duration::from_secs(seconds),
        added: AtomicI64::new(0),
        told: AtomicI64::new(0),
        heard: AtomicI64::new(0),
    };
    // What is made once is there after a while.
    let soak = of(served, 3);
    run(&soak);
    check(&soak);
    let before = has();
    let Soak { served, added, .. } = soak;
    let soak = Soak { added, ..of(served, seconds) };
    run(&soak);
    check(&soak);
    if let (Some(before), Some(_)) = (before, has()) {
        until("threads and descriptors are what they were", || {
            has().is_some_and(|now| now.0 <= before.0 && now.1 <= before.1)
        });
        let grown = has().map_or(0, |now| now.2.saturating_sub(before.2));
        // The cache and what threads keep of their memory; not a share of every statement that ran.
        assert!(grown < 96 << 10, "{grown} KiB more than before");
    }
}
