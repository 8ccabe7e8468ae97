//! A statement that the page runs, and its result as far as it has come.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cairndb::{Error, SqlState};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::spool::Spool;
use super::told::{Head, Stage, told};
use crate::app::App;
use crate::token::{Secret, digest};

/// What is kept of a result.
const RESULT_BYTES: u64 = 256 << 20;
/// What is kept of all.
const ALL_BYTES: u64 = 1 << 30;
/// How many results there are of all: each may have a file open.
const ALL_MAX: usize = 512;
/// What is told at once.
const PAGE_ROWS: u64 = 2000;
const PAGE_BYTES: usize = 1 << 20;
const TOO_LONG: &str = "more than 256 MB of a result are not kept";
const TOO_MUCH: &str = "what is kept of all results together is too much";

/// What is kept of all results.
#[derive(Default)]
pub(crate) struct Charge {
    bytes: AtomicU64,
    results: AtomicUsize,
}

/// What one of them has of it.
struct Charged {
    app: Arc<App>,
    bytes: u64,
}

impl Charged {
    fn new(app: Arc<App>) -> Result<Charged, Error> {
        let charged = Charged { app, bytes: 0 };
        if charged.app.charge.results.fetch_add(1, Ordering::Relaxed) >= ALL_MAX {
            let message = format!("the console keeps {ALL_MAX} results already");
            return Err(Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, message)
                .with_hint("Those that nobody looks at go within ten minutes."));
        }
        Ok(charged)
    }

    /// How many more there may be, in all.
    fn room(&self) -> u64 {
        ALL_BYTES.saturating_sub(self.app.charge.bytes.load(Ordering::Relaxed))
    }

    fn set(&mut self, bytes: u64) {
        self.app.charge.bytes.fetch_add(bytes - self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        self.app.charge.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.app.charge.results.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a statement is, for others.
pub(super) struct About {
    pub(super) user: String,
    pub(super) database: String,
    /// Without its constants.
    pub(super) statement: String,
}

/// A statement and what came of it.
pub(super) struct Kept {
    pub(super) id: String,
    pub(super) about: About,
    inner: Mutex<Inner>,
    /// There is more to tell.
    news: Notify,
    looked: Mutex<Instant>,
    task: Mutex<Option<AbortHandle>>,
    /// The session that it is of has ended.
    has_ended: Arc<AtomicBool>,
}

pub(super) struct Inner {
    pub(super) head: Head,
    pub(super) stage: Stage,
    pub(super) spool: Spool,
    begun: Instant,
    took: Option<Duration>,
    charged: Charged,
}

impl Kept {
    /// A statement that begins to run.
    pub(super) fn new(app: &Arc<App>, about: About, has_ended: Arc<AtomicBool>) -> Result<Kept, Error> {
        let now = Instant::now();
        let inner = Inner {
            head: Head::default(),
            stage: Stage::Running,
            spool: Spool::new(),
            begun: now,
            took: None,
            charged: Charged::new(app.clone())?,
        };
        Ok(Kept {
            id: digest(Secret::random()?.text())[..32].to_owned(),
            about,
            inner: Mutex::new(inner),
            news: Notify::new(),
            looked: Mutex::new(now),
            task: Mutex::default(),
            has_ended,
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn looked(&self) -> Instant {
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn look(&self) {
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn begun(&self) -> Instant {
        self.lock().begun
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.lock().stage, Stage::Running)
    }

    /// What runs it. (The session may have ended before there was anything to stop.)
    pub(super) fn set_task(&self, task: AbortHandle) {
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        if self.has_ended() {
            self.stop();
        }
    }

    /// Nobody may look at it any more.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    /// Stops it, if it runs: who waits for it is told.
    pub(super) fn stop(&self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
        self.finish(Stage::Failed(Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request")));
    }

    /// The statement is over.
    pub(super) fn finish(&self, stage: Stage) {
        let mut inner = self.lock();
        if matches!(inner.stage, Stage::Running) {
            inner.end(stage);
        }
        drop(inner);
        self.tell();
    }

    /// There is more to tell to who waits.
    pub(super) fn tell(&self) {
        self.news.notify_waiters();
    }

    /// Takes a batch; whether there is room for more.
    pub(super) fn take(&self, batch: cairndb::Rows) -> Result<bool, Error> {
        let mut inner = self.lock();
        if !matches!(inner.stage, Stage::Running) {
            return Ok(false);
        }
        let (room, has) = (inner.charged.room(), inner.spool.bytes());
        let bytes_max = RESULT_BYTES.min(has.saturating_add(room));
        let taken = inner.spool.take(batch, bytes_max);
        let bytes = inner.spool.bytes();
        inner.charged.set(bytes);
        if !taken? {
            inner.end(Stage::Cut(if bytes_max == RESULT_BYTES { TOO_LONG } else { TOO_MUCH }));
            return Ok(false);
        }
        Ok(true)
    }

    fn has_news(&self, seen: Option<u64>) -> bool {
        let inner = self.lock();
        !matches!(inner.stage, Stage::Running) || inner.spool.rows() > seen.unwrap_or(0)
    }

    /// Waits until there are more than `seen` rows or it is over, for so long at most.
    pub(super) async fn news(&self, seen: Option<u64>, time: Duration) {
        let over = tokio::time::Instant::now() + time;
        loop {
            let news = self.news.notified();
            let mut news = std::pin::pin!(news);
            // (From here on: what is told between the look and the waiting counts.)
            news.as_mut().enable();
            if self.has_news(seen) || tokio::time::timeout_at(over, news).await.is_err() {
                return;
            }
        }
    }

    /// What is told, with rows from one on.
    pub(super) fn page(&self, from: u64) -> Result<String, Error> {
        let mut inner = self.lock();
        let Inner { head, stage, spool, begun, took, .. } = &mut *inner;
        let ms = took.unwrap_or_else(|| begun.elapsed()).as_millis();
        let mut text = told(&self.id, head, stage, (spool.rows(), ms));
        let Some(mut place) = spool.block_of(from) else { return Ok(text + ",\"from\":0,\"data\":[]}") };
        let mut first = None;
        while let Some((block, rows)) = spool.block(place)? {
            match first {
                None => text.push_str(&format!(",\"from\":{},\"data\":[", block.row)),
                Some(first) if block.row - first >= PAGE_ROWS || text.len() > PAGE_BYTES => break,
                Some(_) => text.push(','),
            }
            first.get_or_insert(block.row);
            text.push_str(&rows);
            place += 1;
        }
        Ok(text + "]}")
    }
}

impl Inner {
    fn end(&mut self, stage: Stage) {
        self.stage = stage;
        self.took = Some(self.begun.elapsed());
    }
}
