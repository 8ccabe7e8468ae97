//! Reading a state: a snapshot's, or a transaction's with its own writes.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use super::cursor::Cursor;
use super::lookup::Lookup;
use super::savepoint::Frozen;
use super::state::Private;
use crate::budget::Memory;
use crate::engine::{Engine, Handle, Kept, Reads, Version};
use crate::page::{Owner, PAGES_ONLY, PageRef, SlotId};
use crate::sync::{AtomicBool, Mutex, Ordering};
use crate::tree::{Difference, Next, Value, overflow_value};
use crate::{Error, Result, TreeId};

/// A registered reader of one version, which stays whole while this lives.
pub(crate) struct View {
    pub(crate) handle: Arc<Handle>,
    /// Registered with the version. Pages are looked at through it, too: by a transaction, which works under a lock, and by one of those
    /// who look at a snapshot.
    pub(super) slot: SlotId,
    /// Of a snapshot: somebody has the slot for looking at pages.
    is_lent: AtomicBool,
    owner: Owner,
    version: *const Version,
}

// SAFETY: the version is only read, and stays as it is while the slot names it.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    /// Registers with the newest published version.
    pub(crate) fn newest(handle: &Arc<Handle>) -> Result<View> {
        View::register(handle, Owner::Held)
    }

    /// As `newest`, and never ended by force: for what the engine does, and ends by itself.
    pub(crate) fn unending(handle: &Arc<Handle>) -> Result<View> {
        View::register(handle, Owner::Engine)
    }

    fn register(handle: &Arc<Handle>, owner: Owner) -> Result<View> {
        let engine = handle.engine_here()?;
        let (slot, version) = engine.enter_newest(owner)?;
        let number = version.number.load(Ordering::SeqCst);
        if owner == Owner::Held {
            engine.pages.slots.set_may_end(slot, Some(number));
        }
        let (handle, slot, is_lent) = (handle.clone(), slot.registered(number), AtomicBool::new(false));
        Ok(View { handle, slot, is_lent, owner, version: version as *const Version })
    }

    /// Lets another register the slot with newer versions while `during` runs.
    pub(super) fn moved_on<R>(&mut self, during: impl FnOnce(&mut Kept) -> R) -> R {
        let mut kept = Kept { slot: self.slot, version: self.version };
        let result = during(&mut kept);
        (self.slot, self.version) = (kept.slot, kept.version);
        result
    }

    pub(crate) fn version(&self) -> &Version {
        // SAFETY: the slot is registered with this version until `drop`.
        unsafe { &*self.version }
    }

    pub(crate) fn root(&self, tree: TreeId) -> Result<PageRef> {
        self.version().trees.root(tree).ok_or_else(|| Error::NoSuchTree(tree))
    }

    /// A slot for looking at the version's pages beside others who do: it notices when the version is ended. The view's own, while
    /// nobody has it: a result that is kept takes one slot, and not two.
    pub(super) fn claim_slot(&self) -> Result<SlotId> {
        if !self.is_lent.swap(true, Ordering::Acquire) {
            return Ok(self.slot);
        }
        Ok(self.handle.engine().pages.slots.claim(self.owner, PAGES_ONLY)?.following(self.slot))
    }

    /// Gives back what `claim_slot` gave.
    pub(super) fn release_slot(&self, slot: SlotId) {
        match slot == self.slot {
            true => self.is_lent.store(false, Ordering::Release),
            false => self.handle.engine().pages.slots.release(slot),
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let slots = &self.handle.engine().pages.slots;
        slots.set_may_end(self.slot, None);
        slots.release(self.slot);
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View({:?})", self.version().number)
    }
}

/// A slot claimed for one operation.
pub(crate) struct Claimed<'a> {
    engine: &'a Engine,
    pub(crate) slot: SlotId,
}

impl<'a> Claimed<'a> {
    /// For a statement that looks at pages of a state that is held.
    pub(crate) fn new(engine: &'a Engine) -> Result<Claimed<'a>> {
        Claimed::by(engine, Owner::Statement)
    }

    /// For what the engine does: those who read do not keep it from going on.
    pub(crate) fn by_engine(engine: &'a Engine) -> Result<Claimed<'a>> {
        Claimed::by(engine, Owner::Engine)
    }

    fn by(engine: &'a Engine, owner: Owner) -> Result<Claimed<'a>> {
        Ok(Claimed { engine, slot: engine.pages.slots.claim(owner, PAGES_ONLY)? })
    }

    /// For a statement that reads the newest published version.
    #[inline]
    pub(super) fn newest(engine: &'a Engine) -> Result<(Claimed<'a>, &'a Version)> {
        let (slot, version) = engine.enter_newest(Owner::Statement)?;
        Ok((Claimed { engine, slot }, version))
    }
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        self.engine.pages.slots.release(self.slot);
    }
}

/// A consistent, durable state that stays as it is. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Snapshot(Reader);

impl Snapshot {
    pub(crate) fn newest(handle: &Arc<Handle>) -> Result<Snapshot> {
        Ok(Snapshot(Reader(Source::Snapshot(Arc::new(View::newest(handle)?), None))))
    }

    /// As `newest`, and never ended by force: for copies and checks, which end by themselves.
    pub(crate) fn unending(handle: &Arc<Handle>) -> Result<Snapshot> {
        Ok(Snapshot(Reader(Source::Snapshot(Arc::new(View::unending(handle)?), None))))
    }

    /// Its view, if nobody else has it, nor notes what is read.
    pub(super) fn alone(&mut self) -> Option<&mut View> {
        match &mut self.0.0 {
            Source::Snapshot(view, None) => Arc::get_mut(view),
            _ => None,
        }
    }

    /// For reading.
    pub fn reader(&self) -> &Reader {
        &self.0
    }

    /// The log position behind the last commit that this snapshot holds.
    pub fn position(&self) -> u64 {
        self.view().version().position
    }

    /// The trees there are.
    pub fn trees(&self) -> Vec<TreeId> {
        self.view().version().trees.list().ids()
    }

    pub(crate) fn view(&self) -> &Arc<View> {
        match &self.0.0 {
            Source::Snapshot(view, _) => view,
            Source::Transaction(..) => unreachable!("a snapshot reads a version"),
        }
    }

    /// Calls `each` with every key between the bounds whose entry differs between `self` and a newer (or older)
    /// snapshot of the same store, in order: the key, its value in `self`, its value in `other`. Stops when it returns
    /// false. A long value that was written again counts as another, even if its bytes are the same.
    ///
    /// Costs what changed: pages that both snapshots share are not looked at. It keeps its place in both, and needs room
    /// in the cache for two pages.
    pub fn diff(
        &self,
        other: &Snapshot,
        tree: TreeId,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        mut each: impl FnMut(&[u8], Option<&[u8]>, Option<&[u8]>) -> bool,
    ) -> Result<()> {
        let root = |snapshot: &Snapshot| snapshot.view().version().trees.root(tree).unwrap_or(PageRef::NONE);
        let engine = self.view().handle.engine();
        let claimed = Claimed::new(engine)?;
        let (mine, others) = (claimed.slot.following(self.view().slot), claimed.slot.following(other.view().slot));
        let mut difference = Difference::new(root(self), root(other), lower, upper);
        let mut told = Told::default();
        let walk = |difference: &mut Difference, told: &mut Told| {
            engine.with_pages_onward(mine, difference, Difference::entered, |difference, pages, pin| {
                if pages.slots.is_ended(others) {
                    return Err(Error::SnapshotTooOld);
                }
                Ok(told.take(difference.next(pages, pin)?))
            })
        };
        loop {
            let explain = |error| engine.pages.slots.explain(others, error);
            if !walk(&mut difference, &mut told).map_err(explain)? {
                return Ok(());
            }
            let older = told.older.bytes(&engine.pages, mine)?;
            let newer = told.newer.bytes(&engine.pages, others)?;
            if !each(&told.key, older, newer) {
                return Ok(());
            }
        }
    }
}

/// A change that was told, copied so that nothing is pinned while the caller looks at it.
#[derive(Default)]
struct Told {
    key: Vec<u8>,
    older: ToldValue,
    newer: ToldValue,
}

#[derive(Default)]
struct ToldValue {
    is_there: bool,
    /// Its length and first page, if it lies outside its leaf.
    long: Option<(u64, PageRef)>,
    bytes: Vec<u8>,
}

impl Told {
    /// False at the end.
    fn take(&mut self, next: Next<'_>) -> bool {
        let Next::Changed(changed) = next else { return false };
        self.key.clear();
        self.key.extend_from_slice(changed.key);
        self.older.take(changed.older.map(Value::from));
        self.newer.take(changed.newer.map(Value::from));
        true
    }
}

impl ToldValue {
    fn take(&mut self, value: Option<Value<'_>>) {
        self.is_there = value.is_some();
        self.long = None;
        self.bytes.clear();
        match value {
            Some(Value::Inline(bytes)) => self.bytes.extend_from_slice(bytes),
            Some(Value::Long(length, first)) => self.long = Some((length, first)),
            None => {}
        }
    }

    fn bytes(&mut self, pages: &crate::page::Pages, slot: SlotId) -> Result<Option<&[u8]>> {
        if let Some((length, first)) = self.long {
            overflow_value(pages, slot, length, first, &mut self.bytes)?;
        }
        Ok(self.is_there.then_some(&self.bytes[..]))
    }
}

/// Reads one state. Cheap to clone, `Send` and `Sync`.
#[derive(Clone, Debug)]
pub struct Reader(pub(crate) Source);

#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// With what notes its reads, if anything does.
    Snapshot(Arc<View>, Option<Arc<Mutex<Reads>>>),
    /// With the state of its own that is read, where that is not always the present one.
    Transaction(Arc<Private>, Option<Arc<Frozen>>),
}

impl Reader {
    /// The memory that the database's cache shares with others; `None`: it has its own.
    pub fn memory(&self) -> Option<Memory> {
        self.handle().engine().pages.memory()
    }

    pub(crate) fn handle(&self) -> &Arc<Handle> {
        match &self.0 {
            Source::Snapshot(view, _) => &view.handle,
            Source::Transaction(private, _) => private.handle(),
        }
    }

    /// Whether it reads the same state always, whatever its transaction changes.
    pub fn is_frozen(&self) -> bool {
        !matches!(self.0, Source::Transaction(_, None))
    }

    /// Whether the transaction has made the tree since the state that is read, in which there is nothing in it.
    pub fn is_later(&self, tree: TreeId) -> Result<bool> {
        match &self.0 {
            Source::Transaction(private, Some(frozen)) => private.lock()?.is_later_than(frozen, tree),
            _ => Ok(false),
        }
    }

    /// The log position of the state that is read: for a transaction, of the one that it rests on.
    pub fn position(&self) -> Result<u64> {
        match &self.0 {
            Source::Snapshot(view, _) => Ok(view.version().position),
            Source::Transaction(private, _) => Ok(private.lock()?.base()?.version().position),
        }
    }

    /// How many pages of the store were looked at, and how many of these were read from the file for it, when they were asked for or
    /// ahead, since it was opened: by all who read it.
    pub fn pages_used(&self) -> (u64, u64) {
        let engine = self.handle().engine();
        let read = engine.counters.page_misses.get() + engine.counters.pages_read_ahead.get();
        (engine.pages.slots.hits_and_searches().0, read)
    }

    /// Calls `read` with the value under `key`; `None` where there is none.
    pub fn get_with<R>(&self, tree: TreeId, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        match &self.0 {
            Source::Snapshot(view, notes) => {
                if let Some(notes) = notes {
                    view.handle.engine_here()?;
                    notes.lock().key(tree, key);
                }
                let claimed = Claimed::new(view.handle.engine())?;
                get_at(&view.handle, claimed.slot.following(view.slot), view.root(tree)?, key, read)
            }
            Source::Transaction(private, None) => private.get_with(tree, key, read),
            Source::Transaction(private, Some(frozen)) => private.get_frozen(frozen, tree, key, read),
        }
    }

    /// For many gets by one thread.
    pub fn lookup(&self) -> Result<Lookup> {
        Lookup::new(self)
    }

    /// A slot for looking at the state's pages beside others who do; it notices when the state is ended.
    /// `None`: it is a transaction's, all readers of which use its own, one at a time.
    pub(super) fn claim_slot(&self) -> Result<Option<SlotId>> {
        match &self.0 {
            Source::Snapshot(view, _) => view.claim_slot().map(Some),
            Source::Transaction(..) => Ok(None),
        }
    }

    /// Gives back what `claim_slot` gave.
    pub(super) fn release_slot(&self, slot: Option<SlotId>) {
        if let (Some(slot), Source::Snapshot(view, _)) = (slot, &self.0) {
            view.release_slot(slot);
        }
    }

    /// A copy of the value under `key`.
    pub fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get_with(tree, key, <[u8]>::to_vec)
    }

    /// A cursor over the keys between the bounds, as the tree is now: later writes of the same transaction are not
    /// seen through it. In a transaction, what it passes over is remembered as read.
    pub fn cursor(&self, tree: TreeId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor> {
        Cursor::open(self, tree, lower, upper)
    }

    /// Changes whenever the tree's content changes; equal stamps mean equal content. 0 for an empty tree.
    pub fn tree_stamp(&self, tree: TreeId) -> Result<u64> {
        match &self.0 {
            Source::Snapshot(view, _) => view.root(tree).map(|root| root.birth),
            Source::Transaction(private, None) => private.lock()?.tree_stamp(private.engine(), tree),
            Source::Transaction(private, Some(frozen)) => private.lock()?.stamp_frozen(private.engine(), frozen, tree),
        }
    }

    /// As [`Reader::note_read`], of single keys.
    pub fn note_keys<'k>(&self, tree: TreeId, keys: impl Iterator<Item = &'k [u8]>) -> Result<()> {
        match &self.0 {
            Source::Transaction(private, _) => {
                let mut state = private.lock()?;
                keys.for_each(|key| state.note_key(tree, key));
            }
            Source::Snapshot(view, Some(notes)) => {
                view.handle.engine_here()?;
                let mut notes = notes.lock();
                keys.for_each(|key| notes.key(tree, key));
            }
            Source::Snapshot(_, None) => {}
        }
        Ok(())
    }

    /// Remembers a range as read without reading it, as a cached plan rests on catalog entries. Where nothing
    /// notes what is read, there is nothing to remember.
    pub fn note_read(&self, tree: TreeId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<()> {
        match &self.0 {
            Source::Transaction(private, _) => private.lock()?.note_range(tree, (lower, upper)),
            Source::Snapshot(view, Some(notes)) => {
                view.handle.engine_here()?;
                notes.lock().range(tree, lower, upper);
            }
            Source::Snapshot(_, None) => {}
        }
        Ok(())
    }
}

/// Calls `read` with the value under `key`, through a slot that the caller has.
pub(super) fn get_at<R>(
    handle: &Handle,
    slot: SlotId,
    root: PageRef,
    key: &[u8],
    read: impl FnOnce(&[u8]) -> R,
) -> Result<Option<R>> {
    let engine = handle.engine();
    let mut apply = read_once(read);
    let found =
        engine.with_pages(slot, |pin| Found::of(crate::tree::get(&engine.pages, pin, root, key)?, &mut apply))?;
    found.read(engine, slot, apply)
}

/// A function that has its result the first time that it is called.
pub(super) fn read_once<R>(read: impl FnOnce(&[u8]) -> R) -> impl FnMut(&[u8]) -> Option<R> {
    let mut read = Some(read);
    move |value| read.take().map(|read| read(value))
}

/// As `get_at`, of a value that lies in its leaf; `Some(None)` for one that does not.
pub(super) fn get_inline_at<R>(
    handle: &Handle,
    slot: SlotId,
    root: PageRef,
    key: &[u8],
    mut read: impl FnMut(&[u8]) -> R,
) -> Result<Option<Option<R>>> {
    let engine = handle.engine();
    engine.with_pages(slot, |pin| {
        Ok::<_, Error>(match crate::tree::get(&engine.pages, pin, root, key)? {
            None => None,
            Some(Value::Inline(value)) => Some(Some(read(value))),
            Some(Value::Long(..)) => Some(None),
        })
    })
}

/// What there is under a key, once it has been looked for with pages pinned.
pub(super) enum Found<R> {
    Nothing,
    Read(Option<R>),
    Long(u64, PageRef),
}

impl<R> Found<R> {
    /// Reads what lies in its leaf.
    pub(super) fn of(value: Option<Value<'_>>, mut apply: impl FnMut(&[u8]) -> Option<R>) -> Result<Found<R>> {
        Ok(match value {
            None => Found::Nothing,
            Some(Value::Inline(value)) => Found::Read(apply(value)),
            Some(Value::Long(length, first)) => Found::Long(length, first),
        })
    }

    /// Reads what does not: no page is pinned meanwhile.
    pub(super) fn read(
        self,
        engine: &Engine,
        slot: SlotId,
        mut apply: impl FnMut(&[u8]) -> Option<R>,
    ) -> Result<Option<R>> {
        Ok(match self {
            Found::Nothing => None,
            Found::Read(result) => result,
            Found::Long(length, first) => {
                let mut value = Vec::new();
                overflow_value(&engine.pages, slot, length, first, &mut value)?;
                apply(&value)
            }
        })
    }
}
