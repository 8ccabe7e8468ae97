//! Articles and votes in a SQL engine: casting votes by an open loop, and counting them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cairndb::Ticket;

use crate::Result;
use crate::engine::{Datum, SqlEngine, SqlKind, SqlStatement};
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::schedule::{Schedule, wait_until};
use crate::setup::LOAD_BATCH;
use crate::workload::together::in_connections;

/// Votes begun between two looks at the clock.
const BURST: u64 = 256;

/// How votes are cast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Each is durable before the writer's next one.
    Sync,
    /// A writer goes on before its votes are durable; at most so many are not.
    Pipelined { window: usize },
}

/// What a load came to.
pub struct Outcome {
    /// Durable votes per second, from the first to the last.
    pub rate: f64,
    /// From when a vote was due to when it was known to be durable.
    pub sojourn: Latencies,
}

/// What keeps a count for each article, which is read in place of the votes: of CairnDB a materialized view that commits keep current;
/// of SQLite, which has none, triggers.
pub fn kept_counts(kind: SqlKind) -> Option<&'static str> {
    match kind {
        SqlKind::Cairn => Some(
            "CREATE MATERIALIZED VIEW counted WITH (maintained = commit) AS
                SELECT article, count(*) AS votes FROM vote GROUP BY article",
        ),
        SqlKind::Sqlite => Some(
            "CREATE TABLE counted (article BIGINT PRIMARY KEY, votes BIGINT NOT NULL) WITHOUT ROWID;
            CREATE TRIGGER counts AFTER INSERT ON vote FOR EACH ROW BEGIN
                INSERT INTO counted VALUES (NEW.article, 1) ON CONFLICT (article) DO UPDATE SET votes = votes + 1;
            END;",
        ),
        #[cfg(any(feature = "turso", feature = "duckdb"))]
        _ => None,
    }
}

/// A database of votes.
pub struct Votes {
    pub engine: Box<dyn SqlEngine>,
    /// The articles' counts are kept.
    pub counts: bool,
    /// What each article's count must be.
    tally: Vec<AtomicU32>,
    /// The next voter; nobody votes twice.
    voters: AtomicI64,
}

impl Votes {
    /// `counts`: what keeps the articles' counts.
    pub fn create(engine: Box<dyn SqlEngine>, articles: i64, counts: Option<&str>) -> Result<Votes> {
        engine.connect(&mut |session| {
            session.script("CREATE TABLE article (id BIGINT PRIMARY KEY, title TEXT NOT NULL)")?;
            let clustered = engine.clustered();
            session.script(&format!(
                "CREATE TABLE vote (article BIGINT NOT NULL, voter BIGINT NOT NULL, PRIMARY KEY (article, voter)){clustered}"
            ))?;
            counts.map_or(Ok(()), |script| session.script(script))?;
            let mut insert = session.prepare("INSERT INTO article VALUES ($1, $2)")?;
            for from in (0..articles).step_by(LOAD_BATCH as usize) {
                session.script("BEGIN")?;
                for id in from..articles.min(from + LOAD_BATCH) {
                    insert.execute(&[Datum::Int(id), Datum::Text(&format!("article {id}"))])?;
                }
                session.script("COMMIT")?;
            }
            Ok(())
        })?;
        let tally = (0..articles).map(|_| AtomicU32::new(0)).collect();
        Ok(Votes { engine, counts: counts.is_some(), tally, voters: AtomicI64::new(0) })
    }

    /// Casts votes at `rate` a second over all writers for `time`.
    pub fn cast(&self, mode: Mode, writers: usize, rate: f64, time: Duration, seed: u64) -> Result<Outcome> {
        let outcomes = in_connections(&*self.engine, writers, |number, session, start| {
            let mut writer = Writer {
                votes: self,
                insert: session.prepare("INSERT INTO vote VALUES ($1, $2)")?,
                keys: Keys::new(seed + number as u64),
                sojourn: Latencies::new()?,
                alone: writers == 1,
            };
            start.wait();
            let schedule = Schedule::new(rate / writers as f64, time);
            match mode {
                Mode::Sync => writer.sync(schedule, time)?,
                Mode::Pipelined { window } => writer.pipelined(schedule, window, time)?,
            }
            let rate = writer.sojourn.count() as f64 / schedule.elapsed().as_secs_f64();
            Ok(Outcome { rate, sojourn: writer.sojourn })
        })?;
        let mut all = Outcome { rate: 0.0, sojourn: Latencies::new()? };
        for outcome in outcomes {
            all.rate += outcome.rate;
            all.sojourn.merge(&outcome.sojourn)?;
        }
        Ok(all)
    }

    /// Reads back the counts of this many random articles; each must be what was cast.
    pub fn count(&self, times: u64, seed: u64) -> Result<Latencies> {
        let mut latencies = Latencies::new()?;
        self.engine.connect(&mut |session| {
            let mut count = session.prepare(match self.counts {
                true => "SELECT votes FROM counted WHERE article = $1",
                false => "SELECT count(*) FROM vote WHERE article = $1",
            })?;
            let mut keys = Keys::new(seed);
            for _ in 0..times {
                let article = keys.below(self.tally.len() as i64);
                let found = latencies.time(|| count.first(&[Datum::Int(article)]))?;
                let cast = self.tally[article as usize].load(Ordering::Relaxed);
                if found.sum != f64::from(cast) {
                    return Err(format!("article {article} has {} votes; {cast} were cast", found.sum).into());
                }
            }
            Ok(())
        })?;
        Ok(latencies)
    }

    /// How many votes were cast, and how many the database has.
    pub fn totals(&self) -> Result<(u64, u64)> {
        let mut found = 0;
        self.engine.connect(&mut |session| {
            found = session.prepare("SELECT count(*) FROM vote")?.first(&[])?.sum as u64;
            let kept = match self.counts {
                true => session.prepare("SELECT sum(votes) FROM counted")?.first(&[])?.sum as u64,
                false => found,
            };
            if kept != found {
                return Err(format!("{found} votes are there, {kept} are counted").into());
            }
            Ok(())
        })?;
        Ok((self.tally.iter().map(|count| u64::from(count.load(Ordering::Relaxed))).sum(), found))
    }
}

struct Writer<'v> {
    votes: &'v Votes,
    insert: Box<dyn SqlStatement + 'v>,
    keys: Keys,
    sojourn: Latencies,
    alone: bool,
}

impl Writer<'_> {
    /// An article, and a voter who has not voted.
    fn vote(&mut self) -> (usize, [Datum<'static>; 2]) {
        let article = self.keys.below(self.votes.tally.len() as i64);
        let voter = self.votes.voters.fetch_add(1, Ordering::Relaxed);
        (article as usize, [Datum::Int(article), Datum::Int(voter)])
    }

    fn cast(&self, article: usize) {
        self.votes.tally[article].fetch_add(1, Ordering::Relaxed);
    }

    /// Stops when the schedule is done, or is hopelessly late: the rate is then more than the engine can do.
    fn sync(&mut self, schedule: Schedule, time: Duration) -> Result<()> {
        for request in 0..schedule.requests {
            let due = schedule.due(request);
            wait_until(due, self.alone);
            let (article, params) = self.vote();
            self.insert.execute(&params)?;
            self.cast(article);
            self.sojourn.add(due.elapsed());
            if schedule.elapsed() > 2 * time {
                break;
            }
        }
        Ok(())
    }

    fn pipelined(&mut self, schedule: Schedule, window: usize, time: Duration) -> Result<()> {
        let mut waiting: VecDeque<(Instant, Ticket)> = VecDeque::with_capacity(window + 1);
        let mut request = 0;
        while request < schedule.requests && schedule.elapsed() <= 2 * time {
            // A few at a time, so that the clock is looked at even when far more is due than can be done.
            let until = schedule.due_by(Instant::now()).min(request + BURST);
            for request in request..until {
                let (article, params) = self.vote();
                match self.insert.execute_later(&params)? {
                    Some(ticket) => waiting.push_back((schedule.due(request), ticket)),
                    None => self.sojourn.add(schedule.due(request).elapsed()),
                }
                self.cast(article);
                if waiting.len() > window {
                    self.take(&mut waiting, true)?;
                }
            }
            request = request.max(until);
            let idle = request < schedule.requests && schedule.due(request) > Instant::now();
            self.take(&mut waiting, idle)?;
            if idle && waiting.is_empty() {
                wait_until(schedule.due(request), self.alone);
            }
        }
        while !waiting.is_empty() {
            self.take(&mut waiting, true)?;
        }
        Ok(())
    }

    /// Takes off what is durable, having waited for the oldest if asked to.
    fn take(&mut self, waiting: &mut VecDeque<(Instant, Ticket)>, wait: bool) -> Result<()> {
        if wait && let Some((due, oldest)) = waiting.pop_front() {
            oldest.wait()?;
            self.sojourn.add(due.elapsed());
        }
        let now = Instant::now();
        while waiting.front().is_some_and(|(_, ticket)| ticket.is_durable()) {
            if let Some((due, ticket)) = waiting.pop_front() {
                ticket.wait()?;
                self.sojourn.add(now.saturating_duration_since(due));
            }
        }
        Ok(())
    }
}
