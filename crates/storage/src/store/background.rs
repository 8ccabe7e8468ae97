//! What is done behind a database: log writes are led when nobody waits for them, snapshots ended that are too old; log space and
//! frames are kept ready, and what was dropped is freed; checkpoints are made; and pages read that long walks will come to. Each of
//! these four duties has a thread of its own while there is something to do (`duties.rs`).

use std::sync::Arc;
use std::time::Duration;

use super::duties::Duties;
use super::ending::Ending;
use super::shortage::Shortage;
use crate::broken::{self, Broken};
use crate::engine::{Act, Duty, Engine, Signal};
use crate::log::Segments;
use crate::page::Sharing;
use crate::{Error, Result};

/// Log places kept ready ahead of need.
const READY: usize = 2;
/// How long the log is idle before it is noted as durable to its end.
const IDLE: Duration = Duration::from_millis(200);
/// How long a failed job waits before it is tried again.
const RETRY: Duration = Duration::from_millis(200);

/// How long who reads ahead waits for more to read.
const FETCHING: Duration = Duration::from_millis(20);

/// For how long what was dropped is freed before the thread looks after everything else.
const FREEING: Duration = Duration::from_millis(4);

/// The background of an engine: a thread at each of its duties, while there is something to do. Whoever drops it has waited for their
/// end: none is left to touch the files once the database's lock is given back.
pub(crate) struct Background {
    engine: Arc<Engine>,
    duties: Arc<Duties>,
    /// So that there are threads. Given back last.
    _enlisted: Option<Box<dyn Send + Sync>>,
}

impl Background {
    /// From here on what is asked for is done.
    pub(crate) fn start(engine: &Arc<Engine>) -> Result<Background> {
        let host = &engine.env.host;
        let is_written = engine.segments.is_some();
        let enlisted = match host.enlist() {
            Err(error) if is_written => return Err(Error::io("start a background thread")(error)),
            // Without a thread, who reads reads for himself.
            enlisted => enlisted.ok(),
        };
        let background = Background { engine: engine.clone(), duties: Duties::of(engine), _enlisted: enlisted };
        if host.has_threads() {
            let duties = background.duties.clone();
            engine.pages.fetches.serve_by(move || duties.begin(Duty::Fetch).is_ok());
        }
        if host.has_threads() {
            background.start_house(is_written);
        }
        if host.has_threads() && is_written {
            background.start_writing().map_err(Error::io("start a background thread"))?;
        }
        Ok(background)
    }

    /// A database that is only read has a house as well, for its memory.
    fn start_house(&self, is_written: bool) {
        let (engine, duties) = (&self.engine, self.duties.clone());
        let is_done = move |duty| is_written || duty == Duty::House;
        engine.signals.serve_by(move |duty| if is_done(duty) { duties.begin(duty) } else { Ok(()) });
        let house = Arc::downgrade(engine);
        let tell = move || house.upgrade().into_iter().for_each(|engine| engine.signals.raise(Signal::House));
        engine.pages.grown.set(tell.clone());
        engine.pages.tell_when_memory_is_shared(tell);
    }

    fn start_writing(&self) -> std::io::Result<()> {
        let engine = &self.engine;
        // Who needs a checkpoint waits for it as for any, and can give up.
        engine.rounds.serve(true);
        engine.signals.raise_slowly(Signal::House)?;
        // The opening's own batch is to be noted, too.
        engine.signals.raise_slowly(Signal::Active)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // A child of the process has none of the threads.
        if self.engine.check_process().is_err() {
            return;
        }
        if broken::is(Broken::ThreadsLeft) {
            return;
        }
        self.engine.signals.stop();
        self.engine.pages.fetches.stop();
        self.duties.end();
        self.engine.rounds.serve(false);
    }
}

/// Does what there is to do, and leaves.
pub(super) fn perform(duty: Duty, engine: &Engine, duties: &Duties) {
    match duty {
        Duty::Log => keep_log(engine, &mut duties.log.lock()),
        Duty::House => keep_house_while_asked(engine, &mut duties.house.lock()),
        Duty::Checkpoint => make_checkpoints(engine),
        Duty::Fetch => engine.pages.serve_fetches(Some(FETCHING)),
    }
}

/// What the log's duty remembers.
#[derive(Debug, Default)]
pub(super) struct LogKept {
    idle_noted: u64,
    ending: Ending,
}

/// What that of the house remembers.
#[derive(Debug, Default)]
pub(super) struct HouseKept {
    shortage: Shortage,
    sharing: Sharing,
    commits: u64,
}

/// Writes batches that nobody waits for: pipelined commits at once, those of interval mode every so often, and an empty
/// one when the log has gone idle, which records that the last one is durable.
fn keep_log(engine: &Engine, LogKept { idle_noted, ending }: &mut LogKept) {
    let signals = &engine.signals;
    while !signals.stopped() {
        ending.look(engine);
        if signals.take(Signal::Log) {
            flush(engine);
        } else if signals.is_raised(Signal::Interval) {
            let _stays = wait_and_look(engine, &[Signal::Log], Some(engine.options.sync_interval), ending);
            signals.take(Signal::Interval);
            flush(engine);
        } else {
            signals.take(Signal::Active);
            let appended = engine.lock_writer().appended;
            let wait = (appended != *idle_noted).then_some(IDLE);
            if !wait_and_look(engine, &[Signal::Log, Signal::Interval, Signal::Active], wait, ending) {
                return;
            }
            if wait.is_some() && note_idle(engine, appended) {
                *idle_noted = appended;
            }
        }
    }
}

/// Waits as `Signals::wait` does, and looks for old snapshots meanwhile, as long as there are such as will be ended.
#[must_use]
fn wait_and_look(engine: &Engine, signals: &[Signal], longest: Option<Duration>, ending: &mut Ending) -> bool {
    if engine.options.max_snapshot_age.is_none() {
        return engine.signals.wait(signals, longest);
    }
    let now = || engine.env.host.now();
    let until = longest.map(|longest| now() + longest);
    loop {
        let left = until.map(|until| until.saturating_sub(now()));
        let is_over = left.is_some_and(|left| left.is_zero()) || engine.signals.stopped();
        if is_over || signals.iter().any(|&signal| engine.signals.is_raised(signal)) {
            return true;
        }
        if !engine.signals.wait(signals, ending.wait(engine, left)) {
            return false;
        }
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
fn keep_house_while_asked(engine: &Engine, HouseKept { shortage, sharing, commits }: &mut HouseKept) {
    let mut longest = None;
    while engine.signals.wait(&[Signal::House], longest) && !engine.signals.stopped() {
        engine.signals.take(Signal::House);
        longest = if engine.segments.is_some() { keep_and_free(engine, commits) } else { None };
        let next = [engine.shrink_if_short(shortage), engine.pages.share_memory(engine.env.host.now(), sharing)];
        longest = longest.into_iter().chain(next.into_iter().flatten()).min();
    }
}

/// How long until there is more of it.
fn keep_and_free(engine: &Engine, commits: &mut u64) -> Option<Duration> {
    let kept = keep_house(engine);
    let more = engine.pages.sweep_some(4096);
    match (kept, more) {
        (Err(_), _) => Some(RETRY),
        (Ok(true), _) => Some(rest(engine, commits)),
        (Ok(false), true) => Some(Duration::from_millis(1)),
        (Ok(false), false) => None,
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

fn make_checkpoints(engine: &Engine) {
    let mut longest = None;
    while engine.signals.wait(&[Signal::Checkpoint], longest) && !engine.signals.stopped() {
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
