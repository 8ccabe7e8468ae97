//! Watching the database: what changed from one durable state to the next, of what somebody is interested in.
//!
//! ```text
//! interest in what a reader noted -> Observer::next: older and newer state, keys that may differ -> Step::each: those that do
//! ```
//! What must hold:
//! - Only states are told that are durable, one after the other, none before an earlier one.
//! - Of every key that somebody is interested in, and whose entry differs between the two states of a step, the step tells.
//!   (Interests that were added while the step was awaited may be told of more.) Whoever begins with a state between the two
//!   compares his with the newer: what was changed before it, and back after it, is no difference of theirs.

use std::collections::HashSet;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use super::reader::{Reader, Snapshot, Source};
use crate::broken::{self, Broken};
use crate::engine::{Act, Call, Handle, KeyRange, Reads, Touched, is_behind, lower_order, upper_is_below};
use crate::sync::Mutex;
use crate::{Error, Result, TreeId};

/// Keys and ranges of keys: what a reader read, and what somebody is interested in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRanges(Vec<(TreeId, KeyRange)>);

impl KeyRanges {
    /// All keys of all the trees.
    pub fn of_trees(trees: impl Iterator<Item = TreeId>) -> KeyRanges {
        KeyRanges(trees.map(|tree| (tree, KeyRange::new((Bound::Unbounded, Bound::Unbounded)))).collect())
    }

    /// Adds a range.
    pub fn add(&mut self, tree: TreeId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) {
        self.0.push((tree, KeyRange::new((lower, upper))));
    }

    /// How many keys and ranges there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that do not lie within one of `known`, which (as what was noted) are in order and disjoint.
    pub fn beyond(&self, known: &KeyRanges) -> KeyRanges {
        let is_within = |(tree, range): &(TreeId, KeyRange)| {
            let (lower, upper) = range.bounds();
            let place = (*tree, lower_order(lower));
            let behind = known.0.partition_point(|(of, known)| (*of, lower_order(known.bounds().0)) <= place);
            behind.checked_sub(1).is_some_and(|at| {
                let (of, known) = &known.0[at];
                of == tree && !upper_is_below(known.bounds().1, upper)
            })
        };
        KeyRanges(self.0.iter().filter(|range| !is_within(range)).cloned().collect())
    }

    /// Whether the key lies in one of them, which (as what was noted) are in order and disjoint.
    pub fn hold(&self, tree: TreeId, key: &[u8]) -> bool {
        let behind = self.0.partition_point(|(of, range)| {
            (*of, lower_order(range.bounds().0)) <= (tree, lower_order(Bound::Included(key)))
        });
        behind.checked_sub(1).is_some_and(|at| {
            let (of, range) = &self.0[at];
            *of == tree && !is_behind(key, &range.bounds())
        })
    }

    /// These and `more`, in order and disjoint. Beyond a bound neighbours are joined.
    pub fn with(&self, more: &KeyRanges) -> KeyRanges {
        let mut reads = Reads::default();
        for (tree, range) in self.0.iter().chain(&more.0) {
            let (lower, upper) = range.bounds();
            match range.as_point() {
                Some(key) => reads.key(*tree, key),
                None => reads.range(*tree, lower, upper),
            }
        }
        KeyRanges(reads.to_sorted_ranges())
    }

    /// Keeps those of some trees.
    pub fn retain_trees(&mut self, keep: impl Fn(TreeId) -> bool) {
        self.0.retain(|(tree, _)| keep(*tree));
    }

    /// Whether all keys of the tree are among them.
    pub fn have_all_of(&self, tree: TreeId) -> bool {
        let unbounded = |range: &KeyRange| matches!(range.bounds(), (Bound::Unbounded, Bound::Unbounded));
        let at = self.0.partition_point(|(of, _)| *of < tree);
        self.0[at..].first().is_some_and(|(of, range)| *of == tree && unbounded(range))
    }
}

/// Notes what is read through a [`Reader`].
#[derive(Clone)]
pub struct ReadNotes(Arc<Mutex<Reads>>);

impl fmt::Debug for ReadNotes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadNotes")
    }
}

impl ReadNotes {
    /// What was read so far: at least that. Beyond a bound neighbours are joined.
    pub fn ranges(&self) -> KeyRanges {
        KeyRanges(self.0.lock().to_sorted_ranges())
    }
}

impl Snapshot {
    /// A reader of this state that notes what is read.
    pub fn noting(&self) -> (Reader, ReadNotes) {
        let notes = Arc::new(Mutex::new(Reads::default()));
        (Reader(Source::Snapshot(self.view().clone(), Some(notes.clone()))), ReadNotes(notes))
    }
}

impl Snapshot {
    /// Calls `each` with what differs in these ranges between this state and `newer`, until it returns false: of a tree that is not
    /// there any more only that, once. Ranges that overlap are told of twice.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::diff`]: [`Error::SnapshotTooOld`] where one of the two was ended.
    pub fn each_difference(
        &self,
        newer: &Snapshot,
        ranges: &KeyRanges,
        each: &mut dyn FnMut(Changed<'_>) -> bool,
    ) -> Result<()> {
        let root = |snapshot: &Snapshot, tree| snapshot.view().root(tree).ok();
        let mut goes_on = true;
        let mut dropped = None;
        for (tree, range) in &ranges.0 {
            let (was, is) = (root(self, *tree), root(newer, *tree));
            if was == is || dropped == Some(*tree) {
                continue;
            }
            if is.is_none() {
                goes_on = each(Changed::Dropped(*tree));
                dropped = Some(*tree);
            } else {
                let (lower, upper) = range.bounds();
                self.diff(newer, *tree, lower, upper, |key, was, is| {
                    goes_on = each(Changed::Entry(*tree, key, was, is));
                    goes_on
                })?;
            }
            if !goes_on {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether `newer` has the same entries in these ranges.
    pub fn is_same_in(&self, newer: &Snapshot, ranges: &KeyRanges) -> Result<bool> {
        let mut is_same = true;
        self.each_difference(newer, ranges, &mut |_| {
            is_same = false;
            false
        })?;
        Ok(is_same)
    }
}

/// Where everybody who watches says what he is interested in. Cheap to clone.
#[derive(Clone)]
pub struct Interest {
    handle: Arc<Handle>,
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interest")
    }
}

impl Interest {
    /// `owner` is interested in these from now on, and in nothing else. Of a commit that a snapshot does not have which is
    /// taken hereafter, the observer will tell.
    pub fn set(&self, owner: u64, ranges: KeyRanges) {
        if let Ok(engine) = self.handle.engine_here() {
            engine.watch.set_interests(owner, Some(ranges.0));
        }
    }

    /// As `set`, by who has read these in a state that is not the newest any more, and said before that he is interested in
    /// `before`: whether the others are the same in the newest. If not, he has to look again: he was not told.
    pub fn set_since(&self, owner: u64, ranges: KeyRanges, before: &KeyRanges, state: &Snapshot) -> Result<bool> {
        let known: HashSet<&(TreeId, KeyRange)> = before.0.iter().collect();
        let more: Vec<_> = ranges.0.iter().filter(|range| !known.contains(range)).cloned().collect();
        self.set(owner, ranges);
        let newest = Snapshot::newest(&self.handle)?;
        if newest.position() == state.position() {
            return Ok(true);
        }
        state.is_same_in(&newest, &KeyRanges(more))
    }

    /// `owner` is interested in nothing any more.
    pub fn forget(&self, owner: u64) {
        if let Ok(engine) = self.handle.engine_here() {
            engine.watch.set_interests(owner, None);
        }
    }

    /// Has [`Observer::next`] return, whether or not something has changed.
    pub fn call(&self) {
        if let Ok(engine) = self.handle.engine_here() {
            engine.watch.call();
        }
    }
}

/// Watches a database; there is one at a time.
pub struct Observer {
    handle: Arc<Handle>,
    /// The state that was told last; `None` if it was ended by force.
    last: Option<Snapshot>,
    touched: Touched,
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// From one durable state to the next.
#[derive(Debug)]
pub struct Step {
    handle: Arc<Handle>,
    older: Option<Snapshot>,
    newer: Snapshot,
    touched: Touched,
}

/// What a step tells of.
#[derive(Clone, Copy, Debug)]
pub enum Changed<'a> {
    /// An entry differs: its key, and what stood and stands there.
    Entry(TreeId, &'a [u8], Option<&'a [u8]>, Option<&'a [u8]>),
    /// A tree is not there any more.
    Dropped(TreeId),
    /// What was there before is not known any more: anything may have changed.
    Anything,
}

impl Observer {
    /// `None`: somebody observes already.
    pub(crate) fn begin(handle: &Arc<Handle>) -> Result<Option<(Observer, Interest)>> {
        if !handle.engine_here()?.watch.begin() {
            return Ok(None);
        }
        let mut observer = Observer { handle: handle.clone(), last: None, touched: Touched::default() };
        observer.last = Some(Snapshot::newest(handle)?);
        Ok(Some((observer, Interest { handle: handle.clone() })))
    }

    /// The state that the next step begins with.
    pub fn state(&self) -> Option<&Snapshot> {
        self.last.as_ref()
    }

    /// Its log position.
    pub fn position(&self) -> Option<u64> {
        self.last.as_ref().map(Snapshot::position)
    }

    /// Waits until something has changed that somebody is interested in, for at most so long; `None`: nothing did, or
    /// somebody [called](Interest::call).
    ///
    /// # Errors
    ///
    /// [`Error::Closed`] once the database was closed; why it failed, once it did.
    pub fn next(&mut self, longest: Option<Duration>) -> Result<Option<Step>> {
        self.handle.engine_here()?;
        let call = self.wait(longest);
        let engine = self.handle.engine();
        self.touched.append(call.touched);
        let newer = Snapshot::newest(&self.handle)?;
        let position = newer.position();
        // What is left from here on may be of commits that this state has, or of later ones.
        let mut later = Touched::default();
        // In a weak mode more can be seen than is durable. What is durable was looked at.
        let mut is_closed = call.is_closed;
        while engine.durable() < position && !broken::is(Broken::WatchedUndurable) {
            // Closing failed: what is not durable by now never is, nor was it looked at.
            if is_closed {
                return Err(Error::Closed);
            }
            engine.publisher.life.check(Act::Log)?;
            let call = engine.watch.wait_durable(position, || engine.durable());
            is_closed |= call.is_closed;
            later.append(call.touched);
            if call.is_called {
                engine.watch.call();
            }
        }
        let last_call = engine.watch.take();
        later.append(last_call.touched);
        if last_call.is_called {
            engine.watch.call();
        }
        if !later.is_empty() && Snapshot::newest(&self.handle)?.position() != position {
            engine.watch.leave(&later);
        }
        self.touched.append(later);
        let older = self.last.replace(newer.clone());
        if self.touched.is_empty() {
            return if is_closed { Err(Error::Closed) } else { Ok(None) };
        }
        let touched = std::mem::take(&mut self.touched);
        Ok(Some(Step { handle: self.handle.clone(), older, newer, touched }))
    }
}

impl Observer {
    /// What is nothing to anybody need not be kept of the last state. Whoever shares it has it as it is.
    fn wait(&mut self, longest: Option<Duration>) -> Call {
        let watch = &self.handle.engine().watch;
        match self.last.as_mut().and_then(Snapshot::alone) {
            Some(view) if self.touched.is_empty() => view.moved_on(|kept| watch.wait(longest, Some(kept))),
            _ => watch.wait(longest, None),
        }
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        if let Ok(engine) = self.handle.engine_here() {
            engine.watch.end();
        }
    }
}

impl Step {
    /// The state before.
    pub fn older(&self) -> Option<&Snapshot> {
        self.older.as_ref()
    }

    /// The state after.
    pub fn newer(&self) -> &Snapshot {
        &self.newer
    }

    /// Calls `each` with every change of what somebody is interested in, while `goes_on`, which is asked for each key that differs.
    /// False: there may be more.
    pub fn each(&self, goes_on: &mut dyn FnMut() -> bool, each: &mut dyn FnMut(Changed<'_>)) -> Result<bool> {
        let Some(older) = &self.older else {
            each(Changed::Anything);
            return Ok(true);
        };
        match self.each_since(older, goes_on, each) {
            Err(Error::SnapshotTooOld) => each(Changed::Anything),
            done => return done,
        }
        Ok(true)
    }

    fn each_since(
        &self,
        older: &Snapshot,
        goes_on: &mut dyn FnMut() -> bool,
        each: &mut dyn FnMut(Changed<'_>),
    ) -> Result<bool> {
        let watch = &self.handle.engine().watch;
        if self.touched.may_be_anything() {
            let trees = watch.with_interests(|interests| interests.trees().collect::<Vec<_>>());
            for tree in trees {
                if !self.each_of(older, tree, goes_on, each)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let root = |snapshot: &Snapshot, tree| snapshot.view().root(tree).ok();
        // What was left may be of a commit that this state does not have yet.
        let dropped: Vec<TreeId> =
            self.touched.dropped().iter().copied().filter(|tree| root(&self.newer, *tree).is_none()).collect();
        dropped.iter().for_each(|tree| each(Changed::Dropped(*tree)));
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let get = |snapshot: &Snapshot, tree: TreeId, key: &[u8], into: &mut Vec<u8>| {
            into.clear();
            match root(snapshot, tree) {
                Some(_) => snapshot.reader().get_with(tree, key, |value| into.extend_from_slice(value)),
                None => Ok(None),
            }
        };
        for (tree, key) in self.touched.keys() {
            if dropped.contains(&tree) {
                continue;
            }
            if !goes_on() {
                return Ok(false);
            }
            let was = get(older, tree, key, &mut before)?;
            let is = get(&self.newer, tree, key, &mut after)?;
            if was != is || before != after {
                each(Changed::Entry(tree, key, was.map(|()| &before[..]), is.map(|()| &after[..])));
            }
        }
        Ok(true)
    }

    /// All that changed in a tree, of what somebody is interested in.
    fn each_of(
        &self,
        older: &Snapshot,
        tree: TreeId,
        goes_on: &mut dyn FnMut() -> bool,
        each: &mut dyn FnMut(Changed<'_>),
    ) -> Result<bool> {
        let is_there = |snapshot: &Snapshot| snapshot.view().root(tree).is_ok();
        if is_there(older) && !is_there(&self.newer) {
            each(Changed::Dropped(tree));
            return Ok(true);
        }
        let watch = &self.handle.engine().watch;
        let mut is_all = true;
        older.diff(&self.newer, tree, Bound::Unbounded, Bound::Unbounded, |key, was, is| {
            is_all = goes_on();
            if is_all && watch.with_interests(|interests| interests.is_any_in(tree, key)) {
                each(Changed::Entry(tree, key, was, is));
            }
            is_all
        })?;
        Ok(is_all)
    }

    /// Calls `each` with everybody who is interested in the key; some more than once.
    pub fn who(&self, tree: TreeId, key: &[u8], each: &mut dyn FnMut(u64)) {
        self.handle.engine().watch.with_interests(|interests| interests.each(tree, key, each));
    }

    /// As `who`, of some key of the tree.
    pub fn who_of(&self, tree: TreeId, each: &mut dyn FnMut(u64)) {
        self.handle.engine().watch.with_interests(|interests| interests.each_of(tree, each));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Durability, Options, Store};

    const NOW: Option<Duration> = Some(Duration::ZERO);
    const SOON: Option<Duration> = Some(Duration::from_secs(20));

    fn store() -> (Store, TreeId, TreeId) {
        let store = Store::open_in_memory(Options::default()).unwrap();
        let tx = store.begin().unwrap();
        let (a, b) = (tx.create_tree().unwrap(), tx.create_tree().unwrap());
        for key in [b"a", b"b", b"c", b"d"] {
            tx.put(a, key, b"old").unwrap();
            tx.put(b, key, b"old").unwrap();
        }
        tx.commit(None).unwrap();
        (store, a, b)
    }

    fn told(step: &Step) -> Vec<String> {
        let mut told = Vec::new();
        let text = |value: Option<&[u8]>| value.map_or("-".into(), |value| String::from_utf8_lossy(value).into_owned());
        let all = step.each(&mut || true, &mut |changed| {
            told.push(match changed {
                Changed::Entry(_, key, was, is) => format!("{} {} {}", text(Some(key)), text(was), text(is)),
                Changed::Dropped(_) => "dropped".into(),
                Changed::Anything => "anything".into(),
            });
        });
        assert!(all.unwrap());
        told
    }

    fn put(store: &Store, tree: TreeId, key: &[u8], value: &[u8]) {
        let tx = store.begin().unwrap();
        tx.put(tree, key, value).unwrap();
        tx.commit(None).unwrap();
    }

    #[test]
    fn what_somebody_is_interested_in_is_told_and_nothing_else() {
        let (store, a, b) = store();
        let (mut observer, interest) = store.observe().unwrap().unwrap();
        assert!(store.observe().unwrap().is_none());
        let (reader, notes) = store.snapshot().unwrap().noting();
        reader.get(a, b"b").unwrap();
        let mut cursor = reader.cursor(b, Bound::Included(b"a"), Bound::Unbounded).unwrap();
        cursor.next().unwrap();
        cursor.next().unwrap();
        drop(cursor);
        interest.set(1, notes.ranges());
        put(&store, a, b"a", b"new");
        put(&store, b, b"c", b"new");
        assert!(observer.next(NOW).unwrap().is_none());
        put(&store, a, b"b", b"new");
        put(&store, b, b"aa", b"new");
        put(&store, b, b"b", b"old");
        let step = observer.next(SOON).unwrap().unwrap();
        assert_eq!(told(&step), ["b old new", "aa - new"]);
        let mut who = Vec::new();
        step.who(b, b"aa", &mut |owner| who.push(owner));
        assert_eq!(who, [1]);
        interest.forget(1);
        put(&store, a, b"b", b"newer");
        assert!(observer.next(NOW).unwrap().is_none());
        drop(observer);
        assert!(store.observe().unwrap().is_some());
    }

    #[test]
    fn who_was_told_of_a_commit_can_watch_it_at_once() {
        let (store, a, _) = store();
        let (mut observer, interest) = store.observe().unwrap().unwrap();
        interest.set(1, KeyRanges::of_trees([a].into_iter()));
        put(&store, a, b"b", b"new");
        assert_eq!(told(&observer.next(NOW).unwrap().unwrap()), ["b old new"]);
    }

    #[test]
    fn who_read_every_key_has_all_of_the_tree() {
        let (store, a, b) = store();
        let (reader, notes) = store.snapshot().unwrap().noting();
        let read = |tree, lower, upper| {
            let mut cursor = reader.cursor(tree, lower, upper).unwrap();
            while cursor.next().unwrap().is_some() {}
        };
        read(a, Bound::Included(&b""[..]), Bound::Unbounded);
        read(b, Bound::Included(&b"a"[..]), Bound::Unbounded);
        assert!(notes.ranges().have_all_of(a) && !notes.ranges().have_all_of(b));
        read(b, Bound::Unbounded, Bound::Unbounded);
        assert!(notes.ranges().have_all_of(b));
    }

    #[test]
    fn a_batch_that_is_not_looked_at_is_noticed() {
        crate::broken::must_be_caught(
            crate::broken::Broken::WatchersForgotten,
            who_was_told_of_a_commit_can_watch_it_at_once,
        );
    }

    #[test]
    fn large_transactions_and_dropped_trees_are_told_too() {
        let (store, a, b) = store();
        let (mut observer, interest) = store.observe().unwrap().unwrap();
        let mut ranges = KeyRanges::default();
        ranges.add(a, Bound::Included(b"b"), Bound::Excluded(b"d"));
        interest.set(1, ranges);
        interest.set(2, KeyRanges::of_trees([b].into_iter()));
        let tx = store.begin().unwrap();
        for number in 0..40_000u32 {
            tx.put(a, &[b"x".as_slice(), &number.to_be_bytes()].concat(), &[7; 100]).unwrap();
        }
        tx.delete(a, b"c").unwrap();
        tx.commit(None).unwrap();
        let step = observer.next(SOON).unwrap().unwrap();
        assert_eq!(told(&step), ["c old -"]);
        // Also where nothing of it is told.
        let mut keys = 0;
        let mut few = || {
            keys += 1;
            keys <= 10
        };
        assert!(!step.each(&mut few, &mut |changed| assert!(matches!(changed, Changed::Entry(..)))).unwrap());
        assert_eq!(keys, 11);
        let tx = store.begin().unwrap();
        tx.drop_tree(b).unwrap();
        tx.commit(None).unwrap();
        let step = observer.next(SOON).unwrap().unwrap();
        assert_eq!(told(&step), ["dropped"]);
        let mut who = Vec::new();
        step.who_of(b, &mut |owner| who.push(owner));
        assert_eq!(who, [2]);
    }

    /// It was told as soon as it could be seen.
    #[test]
    fn what_is_told_is_durable() {
        for mode in [Durability::Interval, Durability::Off] {
            let (store, a, _) = store();
            let (mut observer, interest) = store.observe().unwrap().unwrap();
            interest.set(1, KeyRanges::of_trees([a].into_iter()));
            for round in 0..20u8 {
                let tx = store.begin().unwrap();
                tx.put(a, b"b", &[b'0' + round]).unwrap();
                tx.commit(Some(mode)).unwrap();
                let step = observer.next(SOON).unwrap().unwrap();
                assert!(store.engine().durable() >= step.newer().position());
                assert_eq!(told(&step).len(), 1);
            }
        }
    }

    #[test]
    fn closing_ends_it_and_a_call_wakes_it() {
        let (store, a, _) = store();
        let (mut observer, interest) = store.observe().unwrap().unwrap();
        interest.set(1, KeyRanges::of_trees([a].into_iter()));
        let watcher = std::thread::spawn(move || {
            let called = observer.next(SOON).unwrap().is_none();
            (called, observer.next(SOON).is_ok_and(|step| step.is_some()), observer.next(SOON).is_err())
        });
        interest.call();
        std::thread::sleep(Duration::from_millis(50));
        put(&store, a, b"b", b"last");
        std::thread::sleep(Duration::from_millis(50));
        store.close().unwrap();
        assert_eq!(watcher.join().unwrap(), (true, true, true));
    }

    /// Pages were kept for the state that he fell asleep in, and each that changed copied to a new place.
    #[test]
    fn who_sleeps_is_moved_on_and_told_what_changes_from_there() {
        let (store, a, b) = store();
        let (mut observer, interest) = store.observe().unwrap().unwrap();
        interest.set(1, KeyRanges::of_trees([a].into_iter()));
        let began = observer.position().unwrap();
        let watcher = std::thread::spawn(move || {
            let step = observer.next(SOON).unwrap().unwrap();
            (step.older().unwrap().position(), told(&step))
        });
        let engine = store.engine();
        let held = || engine.pages.oldest_reader(u64::MAX);
        let until = std::time::Instant::now() + SOON.unwrap();
        // Few enough that he is not woken for them.
        let mut number = 0u32;
        while number < 100 || held() + 1 < engine.publisher.newest_number() {
            put(&store, b, b"b", &number.to_be_bytes());
            number += 1;
            if number > 1000 {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(std::time::Instant::now() < until, "{} is held", held());
        }
        let last = store.snapshot().unwrap().position();
        put(&store, a, b"b", b"new");
        assert_eq!(watcher.join().unwrap(), (last, vec!["b old new".to_string()]));
        assert!(last > began);
    }

    /// What died with a version was in the list of the one before, and came out a few pages at a time.
    #[test]
    fn large_commits_beside_a_sleeping_watcher_use_no_more_pages() {
        let in_use = |is_watched: bool| {
            let (store, a, b) = store();
            let change = |from: u32, every: u32| {
                let tx = store.begin().unwrap();
                (0..12_000u32).filter(|key| key % every == from).for_each(|key| {
                    tx.put(b, &key.to_be_bytes(), &[7; 300]).unwrap();
                });
                tx.commit(None).unwrap();
            };
            change(0, 1);
            let watcher = is_watched.then(|| {
                let (mut observer, interest) = store.observe().unwrap().unwrap();
                interest.set(1, KeyRanges::of_trees([a].into_iter()));
                std::thread::spawn(move || while observer.next(None).is_ok() {})
            });
            std::thread::sleep(Duration::from_millis(if is_watched { 50 } else { 0 }));
            // The transactions are small enough to be looked through.
            (0..60).for_each(|round| change(round % 80, 80));
            let pages = store.engine().pages.page_counts().0;
            store.close().unwrap();
            watcher.into_iter().for_each(|watcher| watcher.join().unwrap());
            pages
        };
        let (unwatched, watched) = (in_use(false), in_use(true));
        assert!(watched < unwatched + unwatched / 2, "{watched} pages, {unwatched} where nobody watches");
    }

    #[test]
    fn a_watcher_that_is_moved_past_a_change_is_noticed() {
        crate::broken::must_be_caught(
            crate::broken::Broken::WatcherMovedPast,
            who_sleeps_is_moved_on_and_told_what_changes_from_there,
        );
    }

    /// Pages of every state since were kept.
    #[test]
    fn who_shares_his_state_is_woken_to_let_go_of_it() {
        let (store, a, b) = store();
        let (mut observer, interest) = store.observe().unwrap().unwrap();
        interest.set(1, KeyRanges::of_trees([a].into_iter()));
        let began = observer.position().unwrap();
        let watcher = std::thread::spawn(move || {
            let shared = observer.state().cloned();
            let step = observer.next(None).unwrap();
            (step.is_none(), observer.position().unwrap(), shared)
        });
        let mut number = 0u32;
        while !watcher.is_finished() {
            put(&store, b, b"b", &number.to_be_bytes());
            number += 1;
        }
        let (is_none, position, _shared) = watcher.join().unwrap();
        assert!(is_none && position > began);
    }
}
