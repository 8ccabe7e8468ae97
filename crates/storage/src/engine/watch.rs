//! What the leader of a batch leaves to whoever watches: which of the keys that somebody is interested in it changed.
//!
//! What must hold:
//! - Where nobody watches, a leader looks at one word.
//! - A leader looks at its batch after it has published its version and before it says that the batch is durable. So who says
//!   what he is interested in, and takes a snapshot then, hears of every commit that the snapshot does not have; and
//!   of a version that is durable all that changed was told.
//! - What is left grows no further than a bound: beyond it "anything may have changed" is left.
//! - Whoever watches is woken for what he is interested in. All else is left behind by the version that he compares with, which
//!   keeps pages while it stays: the leader moves it on while he sleeps. It has no commit that was not looked at. Where it can not
//!   be moved he is woken once in a while to let go of it.

use std::time::Duration;

use super::interests::Interests;
use super::ops::{AppendKey, Op, Ops};
use super::reads::KeyRange;
use super::version::{Version, VersionPtr};
use crate::TreeId;
use crate::broken::{self, Broken};
use crate::log::format::{BATCH_HEADER, read_record};
use crate::log::{RecordKind, SealedBatch};
use crate::page::{SlotId, Slots};
use crate::sync::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, Ordering};

/// Batches of more bytes are not looked through.
const LOOKED_THROUGH: usize = 64 << 10;
/// Keys left, beyond which anything may have changed; and bytes of them.
const KEYS: usize = 16 << 10;
const KEY_BYTES: usize = 1 << 20;
/// Whoever watches lets go of a version that stays after so many batches, or so many bytes of log.
const BATCHES: u64 = 2048;
const BYTES: u64 = 4 << 20;

/// No position.
const NOTHING: u64 = u64::MAX;

/// See the module.
#[derive(Debug)]
pub(crate) struct Watch {
    is_on: AtomicBool,
    /// The watcher waits for the log to be durable up to here; [`NOTHING`] otherwise.
    awaited: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch {
            is_on: AtomicBool::new(false),
            awaited: AtomicU64::new(NOTHING),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }
}

#[derive(Debug, Default)]
struct State {
    interests: Interests,
    touched: Touched,
    /// The watcher sleeps, and compares with this.
    kept: Option<Kept>,
    /// What was written since the watcher looked last, or what he compares with was moved on.
    batches: u64,
    bytes: u64,
    /// He is to look, whether or not something has changed.
    is_called: bool,
    is_closed: bool,
}

/// A version that a slot is registered with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) slot: SlotId,
    pub(crate) version: *const Version,
}

// SAFETY: an address; who uses it has the slot.
unsafe impl Send for Kept {}

/// Keys that may have changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// One behind the other; of each its tree, and where it ends.
    keys: Vec<u8>,
    points: Vec<(TreeId, usize)>,
    /// Trees that were dropped.
    trees: Vec<TreeId>,
    /// Anything may have changed.
    anything: bool,
}

impl Touched {
    pub(crate) fn is_empty(&self) -> bool {
        self.points.is_empty() && self.trees.is_empty() && !self.anything
    }

    pub(crate) fn may_be_anything(&self) -> bool {
        self.anything
    }

    pub(crate) fn dropped(&self) -> &[TreeId] {
        &self.trees
    }

    /// The keys, each once, in order.
    pub(crate) fn keys(&self) -> Vec<(TreeId, &[u8])> {
        let starts = std::iter::once(0).chain(self.points.iter().map(|&(_, end)| end));
        let mut keys: Vec<_> =
            starts.zip(&self.points).map(|(start, &(tree, end))| (tree, &self.keys[start..end])).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Adds what `other` has.
    pub(crate) fn append(&mut self, other: Touched) {
        self.anything |= other.anything;
        let before = self.keys.len();
        self.keys.extend_from_slice(&other.keys);
        self.points.extend(other.points.iter().map(|(tree, end)| (*tree, before + end)));
        self.trees.extend(other.trees);
        self.bound();
    }

    fn add(&mut self, tree: TreeId, key: &[u8]) {
        self.keys.extend_from_slice(key);
        self.points.push((tree, self.keys.len()));
        self.bound();
    }

    fn bound(&mut self) {
        if self.anything || self.points.len() > KEYS || self.keys.len() > KEY_BYTES {
            *self = Touched { anything: true, ..Touched::default() };
        }
    }
}

/// What a watcher is woken for.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) touched: Touched,
    /// The database was closed: nothing changes any more.
    pub(crate) is_closed: bool,
    /// Somebody called.
    pub(crate) is_called: bool,
}

impl Watch {
    /// Begins to watch; false if somebody does already.
    pub(crate) fn begin(&self) -> bool {
        !self.is_on.swap(true, Ordering::SeqCst)
    }

    /// Nobody watches any more.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        *state = State { is_closed: state.is_closed, ..State::default() };
        self.awaited.store(NOTHING, Ordering::SeqCst);
        self.is_on.store(false, Ordering::SeqCst);
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::SeqCst)
    }

    /// Looks at what a batch changed, that was written and published: as `newest`, which nobody follows before this returns.
    /// `None`: with more that was not written yet, or nothing was. Whether the watcher is to be told of it, once it is durable.
    #[inline]
    pub(super) fn look(&self, batch: &SealedBatch, slots: &Slots, newest: Option<VersionPtr>) -> bool {
        self.is_on() && !broken::is(Broken::WatchersForgotten) && self.look_through(batch, slots, newest)
    }

    #[cold]
    fn look_through(&self, batch: &SealedBatch, slots: &Slots, newest: Option<VersionPtr>) -> bool {
        let mut state = self.state.lock();
        let State { interests, touched, kept, .. } = &mut *state;
        if !interests.is_empty() {
            look_at_batch(batch, interests, touched);
        }
        match (kept, newest) {
            (Some(kept), Some(newest)) if touched.is_empty() || broken::is(Broken::WatcherMovedPast) => {
                kept.move_on(slots, newest);
                (state.batches, state.bytes) = (0, 0);
            }
            _ => {
                state.batches += 1;
                state.bytes += batch.length as u64;
            }
        }
        state.is_due()
    }

    /// The log is durable up to `durable`: wakes the watcher, if he is to be told of something or waits for that.
    #[inline]
    pub(super) fn wake(&self, durable: u64, is_told: bool) {
        // Changed by both sides, so one sees what the other did before: who sets it after this sees what is durable.
        if self.is_on() && (self.awaited.fetch_add(0, Ordering::SeqCst) <= durable || is_told) {
            self.wake_watcher();
        }
    }

    #[cold]
    fn wake_watcher(&self) {
        // Whoever has the lock before looks at what is told, and who had it sleeps by now.
        drop(self.state.lock());
        self.changed.notify_all();
    }

    /// Has the watcher look, whether or not something has changed.
    pub(crate) fn call(&self) {
        self.state.lock().is_called = true;
        self.changed.notify_all();
    }

    /// Nothing is written any more.
    pub(crate) fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// What `owner` is interested in from now on; `None`: in nothing more.
    pub(crate) fn set_interests(&self, owner: u64, ranges: Option<Vec<(TreeId, KeyRange)>>) {
        let interests = &mut self.state.lock().interests;
        match ranges {
            Some(ranges) => interests.set(owner, ranges),
            None => interests.forget(owner),
        }
    }

    /// Has a look at what everybody is interested in. Leaders wait meanwhile.
    pub(crate) fn with_interests<R>(&self, look: impl FnOnce(&Interests) -> R) -> R {
        look(&self.state.lock().interests)
    }

    /// Sleeps until there is something to look at, or for at most so long, and takes it. `kept` is moved on meanwhile.
    pub(crate) fn wait(&self, longest: Option<Duration>, kept: Option<&mut Kept>) -> Call {
        let mut state = self.state.lock();
        if !state.is_due() {
            state.kept = kept.as_deref().copied();
            state = self.sleep(state, longest);
            if let (Some(kept), Some(now)) = (kept, state.kept.take()) {
                *kept = now;
            }
        }
        state.take()
    }

    /// Takes what there is.
    pub(crate) fn take(&self) -> Call {
        self.state.lock().take()
    }

    /// Puts back what has to be looked at again.
    pub(crate) fn leave(&self, touched: &Touched) {
        self.state.lock().touched.append(touched.clone());
    }

    /// Sleeps until the log is durable up to `position`, or for no reason, and takes what there is then.
    pub(crate) fn wait_durable(&self, position: u64, durable: impl FnOnce() -> u64) -> Call {
        let mut state = self.state.lock();
        self.awaited.swap(position, Ordering::SeqCst);
        if durable() < position && !state.is_closed {
            state = self.sleep(state, Some(Duration::from_millis(100)));
        }
        self.awaited.swap(NOTHING, Ordering::SeqCst);
        state.take()
    }

    fn sleep<'a>(&self, state: MutexGuard<'a, State>, longest: Option<Duration>) -> MutexGuard<'a, State> {
        match longest {
            Some(longest) => self.changed.wait_for(state, longest),
            None => self.changed.wait(state),
        }
    }
}

impl State {
    fn is_due(&self) -> bool {
        !self.touched.is_empty() || self.is_called || self.is_closed || self.batches >= BATCHES || self.bytes >= BYTES
    }

    fn take(&mut self) -> Call {
        (self.batches, self.bytes) = (0, 0);
        let is_called = std::mem::take(&mut self.is_called);
        Call { touched: std::mem::take(&mut self.touched), is_closed: self.is_closed, is_called }
    }
}

impl Kept {
    fn move_on(&mut self, slots: &Slots, newest: VersionPtr) {
        // SAFETY: it is published, and so not freed.
        let number = unsafe { newest.number() };
        self.slot = slots.move_on(self.slot, number);
        self.version = newest.as_raw();
    }
}

fn look_at_batch(batch: &SealedBatch, interests: &Interests, touched: &mut Touched) {
    let begin = batch.position + BATCH_HEADER as u64;
    let whole = batch.length.checked_sub(BATCH_HEADER).filter(|length| *length <= LOOKED_THROUGH);
    let records = whole.map(|length| &batch.buffer[batch.start + BATCH_HEADER..][..length]);
    if records.is_none_or(|mut records| look_at_records(&mut records, begin, interests, touched).is_none()) {
        touched.anything = true;
        touched.bound();
    }
}

/// Adds the keys that somebody is interested in; `None`: it can not be told from the records.
fn look_at_records(records: &mut &[u8], begin: u64, interests: &Interests, touched: &mut Touched) -> Option<()> {
    let length = records.len();
    while !records.is_empty() {
        let (kind, operations) = read_record(records)?;
        let (position, mut key) = (begin + (length - records.len()) as u64, AppendKey::default());
        // Parts of a transaction that is not committed yet are looked at with the rest of it: not at all.
        match kind {
            RecordKind::Commit => {}
            RecordKind::Part { .. } => continue,
            RecordKind::CommitParts { .. } => return None,
        }
        for op in Ops::new(operations) {
            match op.ok()?.at(position, &mut key) {
                Op::Drop { tree } if interests.is_any_of(tree) => touched.trees.push(tree),
                Op::Put { tree, key, .. }
                | Op::Patch { tree, key, .. }
                | Op::Delete { tree, key }
                | Op::Add { tree, key, .. }
                    if !touched.anything && interests.is_any_in(tree, key) =>
                {
                    touched.add(tree, key);
                }
                _ => {}
            }
        }
    }
    Some(())
}
