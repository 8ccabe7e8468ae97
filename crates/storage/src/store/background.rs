//! The threads behind a database: one leads log writes when nobody waits for them and ends snapshots that are too old, one keeps log
//! space and frames ready and frees what was dropped, one runs checkpoints, and one reads pages that long walks will come to.

use std::sync::Arc;
use std::time::Duration;

use super::ending::Ending;
use super::shortage::Shortage;
use crate::broken::{self, Broken};
use crate::engine::{Act, Engine, Signal};
use crate::env::Join;
use crate::log::Segments;
use crate::{Error, Result};

/// Log places kept ready ahead of need.
const READY: usize = 2;
/// How long the log is idle before it is noted as durable to its end.
const IDLE: Duration = Duration::from_millis(200);
/// How long a failed job waits before it is tried again.
const RETRY: Duration = Duration::from_millis(200);

/// For how long what was dropped is freed before the thread looks after everything else.
const FREEING: Duration = Duration::from_millis(4);

type Job = (&'static str, fn(&Engine));

/// What runs beside a database that may write.
const WRITING: [Job; 3] =
    [("cairn-log", log_thread), ("cairn-house", house_thread), ("cairn-checkpoint", checkpoint_thread)];
/// What runs beside any.
const READING: Job = ("cairn-fetch", fetch_thread);

/// The background threads of an engine. Whoever drops it has stopped them and waited for their end:
/// none is left to touch the files once the database's lock is given back.
pub(crate) struct Background {
    engine: Arc<Engine>,
    joins: Vec<Join>,
}

impl Background {
    /// Starts the threads; if one of them can not be started, those that were are stopped.
    pub(crate) fn start(engine: &Arc<Engine>) -> Result<Background> {
        let mut background = Background { engine: engine.clone(), joins: Vec::new() };
        if engine.segments.is_some() {
            engine.signals.raise(Signal::House);
            let house = Arc::downgrade(engine);
            engine.pages.grown.set(move || {
                house.upgrade().into_iter().for_each(|engine| engine.signals.raise(Signal::House));
            });
            // From here on: who needs a checkpoint before its thread has begun waits for it as for any, and can give up.
            engine.rounds.serve(engine.env.host.has_threads());
            for job in WRITING {
                background.start_thread(job, true).map_err(Error::io("start a background thread"))?;
            }
        }
        // Without it, who reads reads for himself: it need not be there, nor stay.
        let _ = background.start_thread(READING, false);
        Ok(background)
    }

    fn start_thread(&mut self, (name, job): Job, is_needed: bool) -> std::io::Result<()> {
        let shared = self.engine.clone();
        let work = move || {
            let guard = is_needed.then(|| PoisonOnPanic(&shared, name));
            job(&shared);
            std::mem::forget(guard);
        };
        self.joins.push(self.engine.env.host.spawn(name, Box::new(work))?);
        Ok(())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if self.joins.len() < WRITING.len() && broken::is(Broken::ThreadsLeft) {
            return;
        }
        // A child of the process has none of them.
        if self.engine.check_process().is_err() {
            return;
        }
        self.engine.signals.stop();
        self.engine.pages.fetches.stop();
        self.joins.drain(..).for_each(|join| join());
    }
}

/// A panic in background work makes the database read-only.
struct PoisonOnPanic<'a>(&'a Engine, &'static str);

impl Drop for PoisonOnPanic<'_> {
    fn drop(&mut self) {
        self.0.publisher.life.fail(format!("the background thread {} panicked", self.1));
        self.0.tickets.wake_all();
    }
}

/// Writes batches that nobody waits for: pipelined commits at once, those of interval mode every so often, and an empty
/// one when the log has gone idle, which records that the last one is durable.
fn log_thread(engine: &Engine) {
    let signals = &engine.signals;
    let (mut idle_noted, mut ending) = (0, Ending::default());
    while !signals.stopped() {
        ending.look(engine);
        if signals.take(Signal::Log) {
            flush(engine);
        } else if signals.is_raised(Signal::Interval) {
            wait_and_look(engine, &[Signal::Log], Some(engine.options.sync_interval), &mut ending);
            signals.take(Signal::Interval);
            flush(engine);
        } else {
            signals.take(Signal::Active);
            let appended = engine.lock_writer().appended;
            let wait = (appended != idle_noted).then_some(IDLE);
            wait_and_look(engine, &[Signal::Log, Signal::Interval, Signal::Active], wait, &mut ending);
            if wait.is_some() && note_idle(engine, appended) {
                idle_noted = appended;
            }
        }
    }
}

/// Waits as `Signals::wait` does, and looks for old snapshots meanwhile.
fn wait_and_look(engine: &Engine, signals: &[Signal], longest: Option<Duration>, ending: &mut Ending) {
    if engine.options.max_snapshot_age.is_none() {
        return engine.signals.wait(signals, longest);
    }
    let now = || engine.env.host.now();
    let until = longest.map(|longest| now() + longest);
    loop {
        let left = until.map(|until| until.saturating_sub(now()));
        let is_over = left.is_some_and(|left| left.is_zero()) || engine.signals.stopped();
        if is_over || signals.iter().any(|&signal| engine.signals.is_raised(signal)) {
            return;
        }
        engine.signals.wait(signals, ending.wait(engine, left));
        ending.look(engine);
    }
}

/// Writes the open batch, if it holds anything, after the one that is being written.
pub(crate) fn flush(engine: &Engine) {
    let mut writer = engine.lock_writer();
    while !writer.batch.is_empty() && engine.publisher.life.check(Act::Log).is_ok() {
        if !writer.queue.is_leading() {
            engine.lead(writer);
            return;
        }
        writer = engine.wait_for_leader(writer);
    }
    drop(writer);
    if engine.publisher.life.check(Act::Log).is_err() {
        engine.tickets.wake_all();
    }
}

/// If nothing was appended since, writes an empty batch: its header says that everything before it is durable.
fn note_idle(engine: &Engine, appended: u64) -> bool {
    let mut writer = engine.lock_writer();
    let quiet = writer.appended == appended && writer.batch.is_empty() && !writer.queue.is_leading();
    if !quiet || engine.publisher.life.check(Act::Log).is_err() || engine.signals.stopped() {
        return false;
    }
    let Some(segments) = &engine.segments else { return true };
    writer.queue.begin_idle();
    if writer.batch.reserve(0, segments, engine.database).is_ok() {
        engine.lead(writer);
    }
    true
}

/// Keeps log places ready, frees dropped pages and those of snapshots that went, keeps frames free, and gives memory back while
/// that is short.
fn house_thread(engine: &Engine) {
    let mut shortage = Shortage::default();
    let mut commits = 0;
    let mut longest = None;
    while !engine.signals.stopped() {
        engine.signals.wait(&[Signal::House], longest);
        engine.signals.take(Signal::House);
        if engine.signals.stopped() {
            return;
        }
        let kept = keep_house(engine);
        let more = engine.pages.sweep_some(4096);
        longest = match (kept, more) {
            (Err(_), _) => Some(RETRY),
            (Ok(true), _) => Some(rest(engine, &mut commits)),
            (Ok(false), true) => Some(Duration::from_millis(1)),
            (Ok(false), false) => None,
        };
        if let Some(wait) = engine.shrink_if_short(&mut shortage) {
            longest = Some(longest.map_or(wait, |longest| longest.min(wait)));
        }
    }
}

/// Between two pieces of freeing: as long as one takes, where there were commits meanwhile.
fn rest(engine: &Engine, commits: &mut u64) -> Duration {
    let now = engine.counters.commits.get();
    match std::mem::replace(commits, now) == now {
        true => Duration::from_millis(1),
        false => FREEING,
    }
}

/// Whether there is more that was dropped.
fn keep_house(engine: &Engine) -> Result<bool> {
    let segments = engine.segments()?;
    engine.set_pressure();
    engine.pages.populate_ahead();
    let grown = grow_ahead(engine, segments);
    let evicted = evict_ahead(engine);
    // On a full disk neither may work, and this gives room to both.
    let more = engine.work_off_drops_within(FREEING);
    grown.and(evicted).and(more)
}

/// Once the disk is full, what is left of it is for a checkpoint, which gives back more than it takes.
fn grow_ahead(engine: &Engine, segments: &Segments) -> Result<()> {
    while segments.ready() < READY && !segments.is_short() {
        match engine.grow_log() {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                engine.signals.raise(Signal::Checkpoint);
                return Err(error);
            }
        }
    }
    Ok(())
}

fn evict_ahead(engine: &Engine) -> Result<()> {
    if !engine.pages.are_frames_few() {
        return Ok(());
    }
    let evict = || engine.pages.evict(engine.pages.frames_ahead()).map(drop);
    match evict() {
        Err(Error::DiskFull { .. }) => engine.give_back().and_then(|()| evict()),
        evicted => evicted,
    }
}

fn fetch_thread(engine: &Engine) {
    engine.pages.serve_fetches();
}

fn checkpoint_thread(engine: &Engine) {
    make_checkpoints(engine);
    engine.rounds.serve(false);
}

fn make_checkpoints(engine: &Engine) {
    let mut longest = None;
    while !engine.signals.stopped() {
        engine.signals.wait(&[Signal::Checkpoint], longest);
        if engine.signals.stopped() {
            return;
        }
        longest = None;
        if !engine.signals.take(Signal::Checkpoint) {
            continue;
        }
        let done = engine.run_checkpoint_for_others();
        if matches!(done, Err(Error::Closed)) {
            return;
        }
        if done.is_err() {
            // No room, say: the log keeps what the file does not have yet. Commits are told when that is full too.
            longest = Some(RETRY);
            engine.signals.raise(Signal::Checkpoint);
            engine.env.host.sleep(RETRY);
        }
    }
}
