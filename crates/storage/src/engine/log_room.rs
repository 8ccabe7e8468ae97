//! Space for the log, and what happens while there is little: commits are slowed, then wait for a checkpoint.

use std::time::Duration;

use super::shared::Engine;
use super::signals::Signal;
use super::stage::Act;
use super::turns::GivesUp;
use super::writer::OpenParts;
use crate::broken::{self, Broken};
use crate::log::{InLine, KeptSegments, OpenBatch, Segments, Waited};
use crate::options::LOG_SEGMENTS_MIN;
use crate::sync::Ordering;
use crate::{Error, Result, Wait};

/// Microseconds of delay at a full log.
const PRESSURE_US_MAX: f64 = 4000.0;
/// The part of the log that may fill before commits are slowed.
const PRESSURE_FROM: f64 = 0.5;
/// What commits look by for who keeps log room, where there is no other pressure.
const LOOK_US: u64 = 1;

const LOG_IS_FULL: &str = "extend the log (the disk is full, or log_limit_bytes reached)";
/// How often who waits for room, or for a checkpoint, looks whether its caller has given up.
const LOOK: Duration = Duration::from_millis(10);
/// How long others wait for a transaction that holds the log, and does nothing, before it is ended.
const IDLE: Duration = Duration::from_millis(100);

/// What room is kept for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs {
    /// Bytes of operations.
    pub(crate) operations: u64,
    /// The caller's transaction, if it has parts in the log, which stay.
    pub(crate) own: Option<u64>,
}

impl Engine {
    /// Whether a commit is to be slowed, or to wait for others' large ones.
    #[inline]
    pub(super) fn is_slowed(&self) -> bool {
        self.pressure_us.load(Ordering::Relaxed) > 0
    }

    /// Slows a commit by as much as the log is full. While what is left of it is promised to others, it waits for a segment of its
    /// own: it would take the ends of segments that they entered.
    #[cold]
    pub(super) fn slow_down(&self, gives_up: GivesUp<'_>) -> Result<Option<KeptSegments<'_>>> {
        if self.segments.as_ref().is_some_and(Segments::must_wait) {
            return self.keep_segment(gives_up).map(Some);
        }
        let pressure = self.pressure_us.load(Ordering::Relaxed);
        if pressure == LOOK_US {
            // They are gone, most likely.
            self.set_pressure();
        } else {
            self.counters.backpressure_us.add(pressure);
            Wait::Checkpoint.during(|| self.env.host.sleep(Duration::from_micros(pressure)));
        }
        Ok(None)
    }

    /// Sets how much commits are slowed by how full the log is.
    pub(crate) fn set_pressure(&self) {
        let Some(segments) = &self.segments else { return };
        let over = (segments.fullness() - PRESSURE_FROM) / (1.0 - PRESSURE_FROM);
        let pressure = (over.clamp(0.0, 1.0).powi(2) * PRESSURE_US_MAX) as u64;
        // So that they look.
        let pressure = if segments.must_wait() { pressure.max(LOOK_US) } else { pressure };
        self.pressure_us.store(pressure, Ordering::Relaxed);
    }

    /// Adds a place to the log; false at the limit.
    ///
    /// An error that it hears may be about a batch's bytes: it counts for everybody.
    pub(crate) fn grow_log(&self) -> Result<bool> {
        let segments = self.segments()?;
        segments.grow(|| self.checkpoint_room()).inspect_err(|error| {
            if segments.failed() && !broken::is(Broken::GrowUnheard) {
                self.publisher.life.fail(error);
            }
        })
    }

    /// Fails if so many bytes of operations have no room in the log, be there nothing else, and however well they fill it: what
    /// might fit is tried.
    pub(crate) fn check_log_takes(&self, operations: u64) -> Result<()> {
        let segments = self.segments()?;
        let needed = OpenBatch::least_segments_for(operations, segments.size());
        match needed <= segments.limit() as u64 {
            true => Ok(()),
            false => Err(Error::LogTooSmall {
                needed: needed * segments.size(),
                limit: segments.limit() as u64 * segments.size(),
            }),
        }
    }

    /// Lets the log have room for a transaction of so many bytes, whatever its limit: what one database has its copy may have, made with
    /// another limit or not.
    pub(crate) fn allow_in_log(&self, bytes: usize) -> Result<()> {
        let needed = if broken::is(Broken::CopiesLimited) { 0 } else { self.segments_for(bytes as u64)? };
        self.segments()?.allow((needed + needed / 8 + LOG_SEGMENTS_MIN) as usize);
        Ok(())
    }

    fn segments_for(&self, operations: u64) -> Result<u64> {
        Ok(OpenBatch::segments_for(operations, self.segments()?.size(), self.options.separate_blocks))
    }

    /// Keeps room in the log for what the caller is about to send in parts, and for their commit record: others wait for it
    /// where they would need another segment, rather than fill the log with it half sent. An eighth more, as who came before
    /// they had to wait goes on to use what is left of segments that were entered.
    pub(crate) fn keep_log_room(&self, needs: Needs, gives_up: GivesUp<'_>) -> Result<KeptSegments<'_>> {
        let segments = self.segments()?;
        // Beside the one that is written to, and one for the rest of this.
        let most = segments.limit().saturating_sub(2).max(2);
        let wanted = self.wanted_for(needs.operations)?.min(most);
        let least = OpenBatch::least_segments_for(needs.operations, segments.size()) as usize;
        let line = segments.stand_in_line(wanted, needs.own.is_some());
        self.wait_in_line(&line, (wanted, least), needs.own, gives_up)
    }

    /// How many segments are kept for so many bytes of operations.
    pub(crate) fn wanted_for(&self, operations: u64) -> Result<usize> {
        let needed = self.segments_for(operations)? as usize;
        Ok(needed + needed / 8 + 1)
    }

    /// Keeps one segment, for a record that has no room elsewhere.
    pub(super) fn keep_segment(&self, gives_up: GivesUp<'_>) -> Result<KeptSegments<'_>> {
        let line = self.segments()?.stand_in_line(1, false);
        self.wait_in_line(&line, (1, 1), None, gives_up)
    }

    /// Waits until so many segments are to be had. When no more can be made free, it goes on with what there is, and others wait
    /// meanwhile: where the caller's `own` parts are in the way, or it may suffice, with `least` of them.
    fn wait_in_line<'e>(
        &'e self,
        line: &InLine<'e>,
        (wanted, least): (usize, usize),
        own: Option<u64>,
        gives_up: GivesUp<'_>,
    ) -> Result<KeptSegments<'e>> {
        let (mut waited, since) = (0, self.env.host.now());
        loop {
            self.publisher.life.check(Act::Change)?;
            match line.look(wanted) {
                Waited::Kept(kept) => {
                    self.set_pressure();
                    return Ok(kept);
                }
                _ if gives_up.is_some_and(|gives_up| gives_up()) && !broken::is(Broken::RoomForEver) => {
                    return Err(Error::GivenUp);
                }
                Waited::ForOthers => {
                    self.set_pressure();
                    Wait::Checkpoint.during(|| line.wait(LOOK));
                }
                Waited::First { .. } if own.is_some() && self.oldest_parts()?.map(|parts| parts.transaction) == own => {
                    return Ok(line.keep(wanted));
                }
                Waited::First { .. }
                    if waited > 1
                        && let Some(oldest) = self.oldest_parts()? =>
                {
                    // Once they are gone, another checkpoint frees what they held.
                    waited = 2;
                    if !oldest.is_copied && self.env.host.now() < since + IDLE {
                        Wait::Checkpoint.during(|| line.wait(LOOK));
                    } else {
                        self.end_oldest_parts()?;
                        self.wait_for_checkpoint(2, gives_up)?;
                    }
                }
                // (Beside those there is the one that is written to, and the one behind.)
                Waited::First { left } if waited > 2 && left + 2 >= least => return Ok(line.keep(wanted)),
                Waited::First { .. } if waited > 2 => return Err(Error::DiskFull { what: LOG_IS_FULL, needed: 0 }),
                Waited::First { .. } => {
                    waited += 1;
                    // So that others stand in line behind it.
                    self.set_pressure();
                    self.wait_for_checkpoint(waited, gives_up)?;
                }
            }
        }
    }

    /// Has a checkpoint free what it can of the log: one that begins from now on, for what runs already may have begun too early.
    ///
    /// Who may give up leaves it to the background: a checkpoint takes as long as the disk does.
    pub(crate) fn wait_for_checkpoint(&self, times: u32, gives_up: GivesUp<'_>) -> Result<()> {
        let (Some(gives_up), Some(number)) = (gives_up, self.rounds.next()) else {
            return Wait::Checkpoint.during(|| self.run_checkpoint_for_room(times > 1));
        };
        self.signals.raise(Signal::Checkpoint);
        loop {
            if let Some(outcome) = Wait::Checkpoint.during(|| self.rounds.outcome(number, LOOK)) {
                return outcome;
            }
            if gives_up() && !broken::is(Broken::RoomForEver) {
                return Err(Error::GivenUp);
            }
            self.publisher.life.check(Act::Change)?;
        }
    }

    fn run_checkpoint_for_room(&self, is_again: bool) -> Result<()> {
        if is_again {
            // A version that needs less of the log may not be published yet.
            self.wait_for_all()?;
        }
        self.run_checkpoint()
    }

    /// In the background, for whoever waits.
    pub(crate) fn run_checkpoint_for_others(&self) -> Result<()> {
        self.run_checkpoint_for_room(self.segments.as_ref().is_some_and(Segments::is_waited_for))
    }

    /// No segment is ready for who was promised some: makes one, or waits for a checkpoint to free some. `waited` counts the
    /// checkpoints.
    #[cold]
    pub(super) fn make_log_room(&self, waited: &mut u32, gives_up: GivesUp<'_>) -> Result<()> {
        // On a full disk the checkpoint comes first.
        let is_first = *waited == 0 && self.segments()?.is_short();
        match if is_first { Ok(false) } else { self.grow_log() } {
            Ok(true) => return Ok(()),
            // At the limit, or the disk is full: a checkpoint may give segments back.
            Ok(false) | Err(Error::DiskFull { .. }) => {}
            Err(error) => return Err(error),
        }
        *waited += 1;
        match *waited {
            ..4 => self.wait_for_checkpoint(*waited, gives_up),
            _ => self.grow_log_at_last(),
        }
    }

    /// Checkpoints do not free any of the log: adds a place in the room that the file does not need.
    fn grow_log_at_last(&self) -> Result<()> {
        if self.segments()?.can_grow() {
            self.pages.give_back_free()?;
        }
        match self.grow_log()? {
            true => Ok(()),
            false => Err(Error::DiskFull { what: LOG_IS_FULL, needed: 0 }),
        }
    }

    /// The parts of a transaction that failed need no log any more. A version published meanwhile says otherwise, and
    /// the log might be full of them: so another one follows.
    pub(crate) fn forget_parts(&self, transaction: u64) {
        let mut writer = self.lock_writer();
        writer.end_parts(self, transaction);
        writer.changed = true;
        drop(writer);
        // If this fails, so will everything else.
        let _ = self.wait_for_all();
        if self.segments.as_ref().is_some_and(Segments::is_short) {
            self.signals.raise(Signal::Checkpoint);
        }
    }

    /// As `forget_parts`, of parts that hold little of the log if they are copied: the next version says so then.
    pub(crate) fn leave_parts(&self, transaction: u64) {
        let mut writer = self.lock_writer();
        match writer.open_parts.iter().position(|open| open.transaction == transaction) {
            Some(at) if writer.open_parts[at].is_copied => {
                writer.open_parts.swap_remove(at);
                writer.changed = true;
            }
            Some(_) => {
                drop(writer);
                self.forget_parts(transaction);
            }
            None => {}
        }
    }

    /// The transaction that has had parts in the log for longest, if the log cannot be reused because of it.
    pub(crate) fn oldest_parts(&self) -> Result<Option<OpenParts>> {
        let writer = self.lock_writer();
        let oldest = writer.open_parts.iter().min_by_key(|parts| parts.first).copied();
        drop(writer);
        let segments = self.segments()?;
        let holds = |first: u64| segments.oldest_live().is_some_and(|number| first / segments.size() <= number);
        Ok(oldest.filter(|parts| holds(parts.first)))
    }

    /// Ends it, unless one of them is about to be committed.
    fn end_oldest_parts(&self) -> Result<()> {
        match self.oldest_parts()? {
            Some(parts) if !self.segments()?.has_keeper() => {
                let mut writer = self.lock_writer();
                writer.end_parts(self, parts.transaction);
                // The version that says so is published before the next checkpoint.
                writer.changed = true;
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use crate::broken::{self, Broken};
    use crate::sync::Ordering;
    use crate::txn::Patience;
    use crate::{Environment, Options, Store, TreeId};

    fn needs(operations: u64) -> super::Needs {
        super::Needs { operations, own: None }
    }

    fn put(store: &Store, bytes: usize) {
        let transaction = store.begin().unwrap();
        transaction.put(TreeId::CATALOG, b"key", &vec![7; bytes]).unwrap();
        transaction.commit(None).unwrap();
    }

    /// Whoever came after it to store something large panicked, too.
    #[test]
    fn a_panic_of_who_keeps_log_room_is_no_matter_of_the_next_one() {
        let store = Store::open_in_memory(Options::default()).unwrap();
        let panicked = std::thread::scope(|scope| {
            let keeps = || {
                let _room = store.engine().keep_log_room(needs(1 << 20), None);
                panic!("by a caller's closure, say");
            };
            scope.spawn(keeps).join()
        });
        assert!(panicked.is_err());
        put(&store, 20 << 20);
    }

    /// Each commit slept, until a segment was entered or a checkpoint made.
    #[test]
    fn nobody_is_slowed_by_who_has_kept_log_room() {
        let store = Store::open_in_memory(Options::default()).unwrap();
        drop(store.engine().keep_log_room(needs(1 << 30), None).unwrap());
        assert!(store.engine().pressure_us.load(Ordering::Relaxed) > 0, "nobody would have waited for it");
        (0..10).for_each(|_| put(&store, 10));
        assert_eq!(store.stats().backpressure_us, 0);
    }

    /// It waited for as long as others needed the log.
    #[test]
    fn who_waits_for_log_room_can_give_up() {
        let mut options = Options::default();
        options.log_limit_bytes = 8 * options.log_segment_bytes as u64;
        let store = Store::open_in_memory(options).unwrap();
        put(&store, 10);
        let kept = store.engine().keep_log_room(needs(1 << 40), None).unwrap();
        let transaction = store.begin().unwrap();
        transaction.put(TreeId::CATALOG, b"other", b"value").unwrap();
        let (mut lost, asked) = (crate::Losses::default(), std::cell::Cell::new(0));
        let gives_up = || asked.replace(asked.get() + 1) > 2;
        let result = transaction.commit_or_note(None, &mut lost, &gives_up);
        assert!(matches!(result, Err(crate::Error::GivenUp)), "{result:?}");
        drop(kept);
        put(&store, 10);
        assert_eq!(store.snapshot().unwrap().reader().get(TreeId::CATALOG, b"other").unwrap(), None);
    }

    /// How long it may take until who gave up is back.
    const BACK: Duration = Duration::from_secs(5);

    /// Runs `work` while a checkpoint takes longer than anybody waits: whether it came back by itself, so soon.
    fn comes_back(store: &Store, longest: Duration, work: impl FnOnce() + Send) -> bool {
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let slow = store.engine().checkpoint.lock();
            scope.spawn(move || {
                work();
                done.send(()).unwrap();
            });
            let came = is_done.recv_timeout(longest).is_ok();
            drop(slow);
            came
        })
    }

    fn small_log() -> Store {
        let mut options = Options::default();
        options.log_segment_bytes = 16 << 10;
        options.log_limit_bytes = 4 * options.log_segment_bytes as u64;
        options.checkpoint_log_bytes = options.log_limit_bytes;
        Store::open_with("room", options, Environment::in_memory()).unwrap()
    }

    #[derive(Debug)]
    struct Until(Instant);

    impl Until {
        fn soon() -> Until {
            Until(Instant::now() + Duration::from_millis(200))
        }
    }

    impl Patience for Until {
        fn is_over(&self) -> bool {
            Instant::now() > self.0
        }
    }

    /// It came back when two checkpoints were made, be it minutes.
    #[test]
    fn who_waits_for_a_checkpoint_to_free_the_log_can_give_up() {
        let store = small_log();
        let commits = || {
            let (until, mut lost) = (Until::soon(), crate::Losses::default());
            let mut commit = || {
                let transaction = store.begin().unwrap();
                transaction.put(TreeId::CATALOG, b"key", &[7; 1500]).unwrap();
                transaction.commit_or_note(None, &mut lost, &|| until.is_over())
            };
            let told = (0..100).find_map(|_| commit().err());
            assert!(matches!(told, Some(crate::Error::GivenUp)), "{told:?}");
        };
        assert!(comes_back(&store, BACK, commits));
        put(&store, 1500);
    }

    /// What it stores goes to the log before the commit, which alone asked.
    #[test]
    fn who_waits_for_room_before_the_commit_can_give_up() {
        let store = small_log();
        assert!(comes_back(&store, BACK, || puts_much(&store)));
        put(&store, 1500);
    }

    fn puts_much(store: &Store) {
        // Those of others, which only a checkpoint frees.
        (0..30).for_each(|_| put(store, 1500));
        let transaction = store.begin_patiently(&Default::default(), Arc::new(Until::soon()), &|| false).unwrap();
        let told = (0..100).find_map(|_| transaction.put(TreeId::CATALOG, b"key", &[7; 8000]).err());
        assert!(matches!(told, Some(crate::Error::GivenUp)), "{told:?}");
    }

    #[test]
    fn who_does_not_ask_whether_he_may_wait_is_noticed() {
        let store = small_log();
        let caught = || broken::must_be_caught(Broken::PatienceUnasked, || puts_much(&store));
        assert!(!comes_back(&store, Duration::from_secs(1), caught));
    }

    /// As many pages as there may be, and a transaction that needs more.
    fn full_of_pages() -> Store {
        let options = Options { max_pages: 64, ..Options::default() };
        let store = Store::open_with("pages", options, Environment::in_memory()).unwrap();
        let put = |key: u32| {
            let transaction = store.begin()?;
            transaction.put(TreeId::CATALOG, &key.to_be_bytes(), &[7; 1500])?;
            transaction.commit(None)
        };
        assert!((0..1000).any(|key| put(key).is_err_and(|error| error.is_of_pages())));
        store
    }

    fn puts_more(store: &Store) {
        let transaction = store.begin_patiently(&Default::default(), Arc::new(Until::soon()), &|| false).unwrap();
        let put = |key: u32| transaction.put(TreeId::CATALOG, &key.to_be_bytes(), &[7; 1500]).err();
        let told = (1000..2000).find_map(put);
        assert!(matches!(told, Some(crate::Error::GivenUp)), "{told:?}");
    }

    /// It came back when the checkpoint that ran already, and its own, were made.
    #[test]
    fn who_waits_for_a_checkpoint_to_free_pages_can_give_up() {
        let store = full_of_pages();
        assert!(comes_back(&store, BACK, || puts_more(&store)));
    }

    #[test]
    fn who_needs_pages_and_does_not_ask_whether_he_may_wait_is_noticed() {
        let store = full_of_pages();
        let caught = || broken::must_be_caught(Broken::PatienceUnasked, || puts_more(&store));
        assert!(!comes_back(&store, Duration::from_secs(1), caught));
    }

    /// Who stored the next large one was there first, again and again.
    #[test]
    fn who_needs_little_and_waited_for_a_large_one_goes_before_the_next() {
        use crate::log::Waited;
        let mut options = Options::default();
        options.log_limit_bytes = 8 * options.log_segment_bytes as u64;
        let store = Store::open_in_memory(options).unwrap();
        let segments = store.engine().segments().unwrap();
        let is_kept = |waited: Waited<'_>| matches!(waited, Waited::Kept(_));
        let kept = store.engine().keep_log_room(needs(1 << 40), None).unwrap();
        let next = segments.stand_in_line(6, false);
        let (little, next_but_one) = (segments.stand_in_line(1, false), segments.stand_in_line(6, false));
        assert!(!is_kept(little.look(1)) && !is_kept(next.look(6)), "beyond what there is");
        drop(kept);
        let late = segments.stand_in_line(1, false);
        assert!(!is_kept(next.look(6)) && !is_kept(late.look(1)), "passed who waited longer");
        assert!(is_kept(little.look(1)));
        drop(little);
        assert!(!is_kept(late.look(1)), "large ones would wait for small ones without end");
        assert!(is_kept(next.look(6)));
        drop(next);
        assert!(!is_kept(next_but_one.look(6)));
        assert!(is_kept(late.look(1)));
    }
}
