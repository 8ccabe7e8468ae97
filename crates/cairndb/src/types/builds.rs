//! How far builds of indexes are, for whoever asks while they run.
//!
//! A build writes down its rows in words that it alone writes, row by row; who asks reads them as they are at that moment.

use crate::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Those of a database that run.
#[derive(Debug, Default)]
pub(crate) struct Builds(Mutex<Vec<Arc<Build>>>);

/// What is built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Built {
    pub(crate) command: &'static str,
    /// The table's number in `pg_class`.
    pub(crate) table: i64,
    /// The index's; of one that is new there is none yet.
    pub(crate) index: i64,
    /// How many rows the table has, about.
    pub(crate) rows: u64,
}

#[derive(Debug)]
struct Build {
    built: Built,
    /// Rows that were read.
    read: AtomicU64,
    /// All were read.
    is_read: AtomicBool,
    /// What they made.
    entries: AtomicU64,
    /// What is in the index.
    written: AtomicU64,
}

/// A build that was come upon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedBuild {
    pub(crate) built: Built,
    pub(crate) phase: &'static str,
    /// Rows while the table is read, then entries: all, and those that are done.
    pub(crate) total: u64,
    pub(crate) done: u64,
}

/// A build while it is listed.
#[derive(Debug)]
pub(crate) struct RunningBuild {
    among: Arc<Builds>,
    build: Arc<Build>,
}

impl Builds {
    /// Lists a build until what this gives is dropped.
    pub(crate) fn begin(self: &Arc<Builds>, built: Built) -> RunningBuild {
        let [read, entries, written] = [const { AtomicU64::new(0) }; 3];
        let build = Arc::new(Build { built, read, is_read: AtomicBool::new(false), entries, written });
        self.change(|builds| builds.push(build.clone()));
        RunningBuild { among: self.clone(), build }
    }

    pub(crate) fn listed(&self) -> Vec<ListedBuild> {
        self.change(|builds| builds.iter().map(|build| build.listed()).collect())
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Arc<Build>>) -> T) -> T {
        change(&mut self.0.lock())
    }
}

impl Build {
    fn listed(&self) -> ListedBuild {
        let (phase, total, done) = match self.is_read.load(Relaxed) {
            false => ("building index: scanning table", self.built.rows, &self.read),
            true => ("building index: loading tuples in tree", self.entries.load(Relaxed), &self.written),
        };
        ListedBuild { built: self.built, phase, total, done: done.load(Relaxed) }
    }
}

impl RunningBuild {
    /// The table is read, from its beginning.
    pub(crate) fn begin(&self) {
        self.build.is_read.store(false, Relaxed);
    }

    /// So many rows were read.
    pub(crate) fn read(&self, rows: u64) {
        self.build.read.store(rows, Relaxed);
    }

    /// All were read, and made so many entries.
    pub(crate) fn read_all(&self, entries: u64) {
        self.build.entries.store(entries, Relaxed);
        self.build.is_read.store(true, Relaxed);
    }

    /// So many entries are in the index.
    pub(crate) fn wrote(&self, entries: u64) {
        self.build.written.store(entries, Relaxed);
    }
}

impl Drop for RunningBuild {
    fn drop(&mut self) {
        self.among.change(|builds| builds.retain(|build| !Arc::ptr_eq(build, &self.build)));
    }
}
