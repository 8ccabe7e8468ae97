//! Several databases, each with workers that read, create, change and delete JSON documents of 1,024 bytes under a text
//! id, every write durable: operations per second, and what each kind of operation waits.
//!
//! 40 % reads, 30 % creations, 20 % updates, 10 % deletions. A worker works on documents of its own, so none meets
//! another's; each checks that what it finds is what it must find.

use std::time::{Duration, Instant};

use super::together::side_by_side;
use crate::Result;
use crate::engine::{Datum, Entries, EntrySession, Kind, Operations, Shape};
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::report::{Axes, Place, Report};
use crate::rows::text;
use crate::setup::{Medium, Setup};
use crate::terminal::{progress, say};

const DATABASES: usize = 3;
const WORKERS_EACH: usize = 10;
const DOCUMENT_BYTES: usize = 1024;
/// Documents of each worker at the start.
const FIRST: u64 = 100;
const SHARES: [f64; 3] = [0.5, 0.95, 0.99];
const OPERATIONS: [&str; 4] = ["read", "create", "update", "delete"];
const LADDER: &[usize] = &[1, 2, 4, 8, 10, 16, 30, 32, 64];

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let medium: &Medium = &setup.disk;
    let args = &setup.args;
    let documents = Documents {
        place: Place { workload: "documents", medium: medium.name },
        time: Duration::from_secs_f64(args.seconds.unwrap_or(args.size(3.0, 0.3))),
        seed: args.seed,
    };
    let kinds = setup.kinds(Kind::OF_MANY_WRITERS);
    for round in 0..args.rounds() {
        progress(documents.place, round, args.rounds());
        for &kind in &kinds {
            let stores = documents.open(setup, kind, report)?;
            let workers = documents.work(&stores, DATABASES * WORKERS_EACH)?;
            documents.report(kind.name(), &workers, report)?;
            stores.into_iter().try_for_each(|store| store.close())?;
        }
    }
    let ladder = if args.quick { &[1, 10, 30][..] } else { LADDER };
    for &workers in ladder {
        for &kind in &kinds {
            let stores = documents.open(setup, kind, report)?;
            let rate = documents.rate(&documents.work(&stores, workers)?);
            let axes = Axes { x: "workers", y: "ops/s" };
            report.add_point(documents.place, kind.name(), "all operations", axes, (workers as f64, rate));
            say(format!("{}, {workers} workers: {rate:.0} operations/s", kind.name()));
            stores.into_iter().try_for_each(|store| store.close())?;
        }
    }
    Ok(())
}

struct Documents {
    place: Place,
    time: Duration,
    seed: u64,
}

impl Documents {
    fn open(&self, setup: &Setup, kind: Kind, report: &mut Report) -> Result<Vec<Box<dyn Entries>>> {
        (0..DATABASES).map(|_| setup.open_entries(kind, &setup.disk, Shape::Documents, report)).collect()
    }

    /// Runs this many workers, dealt out to the databases in turn.
    fn work(&self, stores: &[Box<dyn Entries>], workers: usize) -> Result<Vec<Worker>> {
        side_by_side(workers, |number, start| {
            let mut worker = Worker::new(number, self.seed)?;
            stores[number % stores.len()].with_entries(&mut |session| {
                worker.prepare(session)?;
                start.wait();
                worker.run(session, self.time)
            })?;
            Ok(worker)
        })
    }

    fn rate(&self, workers: &[Worker]) -> f64 {
        workers.iter().map(|worker| worker.done).sum::<u64>() as f64 / self.time.as_secs_f64()
    }

    fn report(&self, name: &str, workers: &[Worker], report: &mut Report) -> Result<()> {
        report.add(self.place, name, "all operations", "ops/s", self.rate(workers));
        for (operation, what) in OPERATIONS.into_iter().enumerate() {
            let all = merged(workers.iter().map(|worker| &worker.latencies[operation]))?;
            report.add_latencies(self.place, name, what, &all, &SHARES)?;
        }
        for database in 0..DATABASES {
            let here = || workers.iter().skip(database).step_by(DATABASES);
            let rate = here().map(|worker| worker.done).sum::<u64>() as f64 / self.time.as_secs_f64();
            let all = merged(here().flat_map(|worker| &worker.latencies))?;
            let what = format!("database {}", database + 1);
            report.add(self.place, name, &what, "ops/s", rate);
            report.add_latencies(self.place, name, &what, &all, &[0.99])?;
        }
        let fewest = workers.iter().map(|worker| worker.done).min().unwrap_or(0) as f64;
        let mean = workers.iter().map(|worker| worker.done).sum::<u64>() as f64 / workers.len() as f64;
        report.add(self.place, name, "least worker to mean", "x", fewest / mean.max(1.0));
        Ok(())
    }
}

fn merged<'l>(parts: impl Iterator<Item = &'l Latencies>) -> Result<Latencies> {
    let mut all = Latencies::new()?;
    for part in parts {
        all.merge(part)?;
    }
    Ok(all)
}

/// One worker, its documents, and how long its operations took.
struct Worker {
    number: usize,
    keys: Keys,
    /// Ids of the documents that are there.
    ids: Vec<u64>,
    next: u64,
    /// By operation.
    latencies: [Latencies; 4],
    /// Before the time was over.
    done: u64,
    id: String,
    body: String,
}

impl Worker {
    fn new(number: usize, seed: u64) -> Result<Worker> {
        let latencies = [Latencies::new()?, Latencies::new()?, Latencies::new()?, Latencies::new()?];
        let keys = Keys::new(seed + number as u64);
        Ok(Worker {
            number,
            keys,
            ids: Vec::new(),
            next: 0,
            latencies,
            done: 0,
            id: String::new(),
            body: String::new(),
        })
    }

    fn prepare(&mut self, session: &mut dyn EntrySession) -> Result<()> {
        session.transaction(&mut |inside| (0..FIRST).try_for_each(|_| self.create(inside)))
    }

    fn run(&mut self, session: &mut dyn EntrySession, time: Duration) -> Result<()> {
        let start = Instant::now();
        loop {
            let operation = match self.keys.below(10) {
                _ if self.ids.is_empty() => 1,
                0..4 => 0,
                4..7 => 1,
                7..9 => 2,
                _ => 3,
            };
            // What is written is made before the clock starts.
            let at = self.choose(operation);
            let began = Instant::now();
            self.perform(operation, session)?;
            self.latencies[operation].add(began.elapsed());
            self.keep(operation, at);
            if start.elapsed() >= time {
                return Ok(());
            }
            self.done += 1;
        }
    }

    /// Sets the id, and the body where one is written.
    fn choose(&mut self, operation: usize) -> usize {
        let at = self.keys.below(self.ids.len() as i64) as usize;
        let number = if operation == 1 { self.next } else { self.ids[at] };
        self.name(number);
        if operation == 1 || operation == 2 {
            self.fill();
        }
        at
    }

    fn perform(&mut self, operation: usize, session: &mut dyn EntrySession) -> Result<()> {
        let id = Datum::Text(&self.id);
        match operation {
            0 => match session.read(id)? {
                Some(DOCUMENT_BYTES) => Ok(()),
                other => Err(format!("document {}: {other:?} bytes, not {DOCUMENT_BYTES}", self.id).into()),
            },
            1 => session.insert(id, Datum::Text(&self.body)),
            2 => session.update(id, Datum::Text(&self.body)),
            _ => session.delete(id),
        }
    }

    fn keep(&mut self, operation: usize, at: usize) {
        if operation == 1 {
            self.ids.push(self.next);
            self.next += 1;
        } else if operation == 3 {
            self.ids.swap_remove(at);
        }
    }

    fn create(&mut self, session: &mut dyn Operations) -> Result<()> {
        self.name(self.next);
        self.fill();
        session.insert(Datum::Text(&self.id), Datum::Text(&self.body))?;
        self.keep(1, 0);
        Ok(())
    }

    /// Ids look random, as those of documents do, and are different for every worker and number.
    fn name(&mut self, number: u64) {
        use std::fmt::Write;
        self.id.clear();
        let scattered = Keys::new(((self.number as u64) << 40) | number).draw();
        let _ = write!(self.id, "doc-{scattered:016x}-{:02}", self.number);
    }

    /// A JSON object of exactly 1,024 bytes.
    fn fill(&mut self) {
        use std::fmt::Write;
        self.body.clear();
        let version = self.keys.draw();
        let _ = write!(self.body, "{{\"id\":\"{}\",\"version\":{version},\"text\":\"", self.id);
        let end = "\"}";
        while self.body.len() + end.len() < DOCUMENT_BYTES {
            let piece = text(self.keys.below(1 << 20));
            let room = DOCUMENT_BYTES - end.len() - self.body.len();
            self.body.push_str(&piece[..piece.len().min(room)]);
        }
        self.body.push_str(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_json_of_their_size_under_ids_of_their_own() {
        let mut seen = std::collections::BTreeSet::new();
        for number in 0..4 {
            let mut worker = Worker::new(number, 1).unwrap();
            for id in 0..100 {
                worker.name(id);
                worker.fill();
                assert_eq!(worker.body.len(), DOCUMENT_BYTES);
                assert!(worker.body.starts_with("{\"id\":\"doc-") && worker.body.ends_with("\"}"));
                assert!(seen.insert(worker.id.clone()));
            }
        }
    }
}
