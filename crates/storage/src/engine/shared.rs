//! The engine behind a [`Store`](super::Store): what all its threads share.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use super::bell::Bell;
use super::publisher::Publisher;
use super::signals::Signals;
use super::stage::Act;
use super::version::Version;
use super::writer::Writer;
use crate::broken::{self, Broken};
use crate::env::Environment;
use crate::log::format::BLOCK;
use crate::log::{SealedBatch, Segments};
use crate::page::{Lack, Owner, PageRef, Pages, SlotId};
use crate::stats::Counters;
use crate::sync::{AtomicU32, AtomicU64, Awake, Mutex, Ordering};
use crate::tree::Teardown;
use crate::{Durability, Error, Options, Result, SyncMethod, TreeId};

/// Shared by every handle and background thread of one open database.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) env: Environment,
    pub(crate) options: Options,
    pub(crate) path: PathBuf,
    pub(crate) database: u128,
    pub(crate) opening: super::openings::Opening,
    pub(crate) pages: Pages,
    pub(crate) counters: Arc<Counters>,
    /// `None` in a database opened for reading only.
    pub(crate) segments: Option<Segments>,
    /// The commit lock: taken by `lock_writer`.
    pub(crate) writer: Mutex<Writer>,
    /// Who waits for it without sleeping.
    pub(crate) awake: Awake,
    pub(crate) publisher: Publisher,
    /// The checksum chain; used by the one who writes a batch.
    pub(crate) chain: Mutex<Chain>,
    pub(crate) next_stamp: AtomicU64,
    pub(crate) next_tree: AtomicU32,
    pub(crate) checkpoint: Mutex<super::checkpoint::CheckpointState>,
    /// Who waits for one.
    pub(crate) rounds: super::rounds::Rounds,
    /// Log position of the newest durable checkpoint, and its number.
    pub(crate) checkpoint_position: AtomicU64,
    pub(crate) checkpoint_number: AtomicU64,
    /// Trees and long values whose pages are still to be freed.
    pub(crate) drops: Mutex<VecDeque<Dropped>>,
    /// How far the first of them was taken apart. Held by the one who frees: two who take the same tree apart would free pages
    /// twice.
    pub(crate) freeing: Mutex<Option<Teardown>>,
    /// Pages of what was dropped that were freed, and that no checkpoint knows of.
    pub(crate) freed: AtomicU64,
    /// Microseconds by which each commit is slowed, while the log is filling up.
    pub(crate) pressure_us: AtomicU64,
    /// When the log was synced last, by the host's clock; 0: not yet.
    pub(crate) synced_at_us: AtomicU64,
    /// Whoever lost often, and what commits wait for while it has its turn.
    pub(crate) turns: super::turns::Turns,
    pub(crate) signals: Signals,
    /// Who waits for commits without a thread.
    pub(crate) tickets: super::tickets::Tickets,
    /// What whoever watches is told.
    pub(crate) watch: super::watch::Watch,
    /// What the meta page says that the log may have.
    pub(crate) features: AtomicU32,
    /// Rung when readers see a newer version.
    pub(crate) published: Bell,
    /// Rung when commits that appended are durable.
    pub(crate) appended: Bell,
}

/// The log's checksum chain.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) epoch: u64,
    pub(crate) previous: u32,
    /// The block that the last batch ended in, as it was written. The next batch writes it again, and must not change
    /// a byte of it: the copy that it was begun behind was taken before the last batch's header was sealed.
    tail: Box<[u8; BLOCK]>,
}

impl Chain {
    /// Before the first batch of an epoch.
    pub(crate) fn new(epoch: u64) -> Chain {
        Chain { epoch, previous: 0, tail: Box::new([0; BLOCK]) }
    }

    /// Fills in what earlier batches wrote into the block that this one begins in.
    pub(crate) fn restore_tail(&self, batch: &mut SealedBatch) {
        batch.buffer[..batch.shared].copy_from_slice(&self.tail[..batch.shared]);
    }

    /// Keeps the bytes that the next batch will write again.
    pub(crate) fn keep_tail(&mut self, batch: &SealedBatch) {
        let kept = batch.shared_with_next;
        if kept > 0 {
            let block = batch.buffer.len() - BLOCK;
            self.tail[..kept].copy_from_slice(&batch.buffer[block..block + kept]);
        }
    }
}

/// Pages that left every newer version with `version`, all at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) first: PageRef,
    /// A tree's root, or else a long value's first page.
    pub(crate) is_tree: bool,
    pub(crate) version: u64,
}

impl Engine {
    pub(crate) fn stamp(&self) -> u64 {
        self.next_stamp.fetch_add(1, Ordering::Relaxed)
    }

    /// A number that no tree has had. There are 2^31 of them in the life of a database; a checkpoint never writes a larger one.
    pub(crate) fn tree_number(&self) -> Result<u32> {
        let after = |number: u32| match number < TreeId::NUMBERS || broken::is(Broken::TreesUncounted) {
            true => Some(number.wrapping_add(1)),
            false => None,
        };
        let given = self.next_tree.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
        given.map_err(|_| Error::NoTreeNumber)
    }

    pub(crate) fn segments(&self) -> Result<&Segments> {
        self.segments.as_ref().ok_or_else(|| Error::ReadOnly)
    }

    /// Refuses everything in a child of the process that opened the database (see `process.rs`).
    #[inline]
    pub(crate) fn check_process(&self) -> Result<()> {
        self.pages.slots.process.check()
    }

    /// Refuses changes where the database does not take any (see `stage.rs`).
    #[inline]
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.publisher.life.check(Act::Change)
    }

    /// Whether a commit waits for the medium, mostly.
    pub(crate) fn sends_ahead(&self) -> bool {
        let is_waited_for = matches!(self.options.durability, Durability::Full | Durability::Group);
        is_waited_for && self.has_medium()
    }

    /// Whether the log is written to something slower than memory.
    pub(crate) fn has_medium(&self) -> bool {
        let method = self.segments.as_ref().map(|segments| segments.file.sync_method());
        method.is_some_and(|method| method != SyncMethod::MemoryFile)
    }

    /// Everything before this log position is durable.
    #[inline]
    pub(crate) fn durable(&self) -> u64 {
        self.publisher.durable()
    }

    /// Makes the database read-only until it is reopened.
    #[cold]
    pub(crate) fn poison(&self, cause: &Error) {
        self.publisher.life.fail(cause);
    }

    /// Claims a slot as a reader of the newest published version, and returns that.
    ///
    /// The version object may be in reuse until its number was seen unchanged after registering (see `page::slots`).
    #[inline]
    pub(crate) fn enter_newest(&self, owner: Owner) -> Result<(SlotId, &Version)> {
        let newest = || {
            let version = self.publisher.newest();
            // SAFETY: version objects live until the engine is dropped; `number` is atomic: reading it races with nothing.
            (version, unsafe { (*version).number.load(Ordering::SeqCst) })
        };
        let (slot, version) = self.pages.slots.enter(owner, newest)?;
        // SAFETY: the slot names the version and it was published afterwards: it is not reused until the slot lets go,
        // which its owner does after the last use of this reference.
        Ok((slot, unsafe { &*version }))
    }

    /// Runs an operation that needs pages in memory: loads what it misses, makes room where it needs some, and runs it
    /// again.
    pub(crate) fn with_pages<R, E>(
        &self,
        slot: SlotId,
        mut run: impl FnMut(&crate::page::Pin<'_>) -> Result<R, E>,
    ) -> Result<R>
    where
        Error: From<E>,
    {
        let (mut lack, mut misses) = (Lack::default(), 0);
        loop {
            let result = self.pages.slots.pin(slot).and_then(|pin| run(&pin).map_err(Error::from));
            let Err(error) = result else { return result };
            // Pages that it needs at the same time drive each other out.
            misses += 1;
            if misses > 4 * self.pages.frame_count() + 64 {
                return Err(Error::CacheFull);
            }
            self.provide(error, &mut lack).map_err(|error| self.pages.slots.explain(slot, error))?;
        }
    }

    /// As `with_pages`, for a walk that keeps its place over a miss, however many pages it passes in all. `progress` grows
    /// as it gets on.
    pub(crate) fn with_pages_onward<W, R, E>(
        &self,
        slot: SlotId,
        walk: &mut W,
        progress: impl Fn(&W) -> u64,
        mut run: impl FnMut(&mut W, &Pages, &crate::page::Pin<'_>) -> Result<R, E>,
    ) -> Result<R>
    where
        Error: From<E>,
    {
        loop {
            let before = progress(walk);
            let onward = |pin: &crate::page::Pin<'_>| match run(walk, &self.pages, pin).map_err(Error::from) {
                // Missed, but further on than before: its misses count anew.
                Err(Error::NotResident(page)) if progress(walk) > before => Ok::<_, Error>(Err(page)),
                result => result.map(Ok),
            };
            match self.with_pages::<_, Error>(slot, onward)? {
                Ok(result) => return Ok(result),
                Err(page) => self.pages.load(page).map_err(|error| self.pages.slots.explain(slot, error))?,
            }
        }
    }

    /// As `provide`, for an operation on the latest state that let go of the commit lock: by now the page may be gone,
    /// and its id another's. Only a page that is missed and not found twice in a row is damaged.
    pub(crate) fn provide_latest(&self, lacked: Error, lack: &mut Lack, gone: &mut Option<PageRef>) -> Result<()> {
        let Error::NotResident(page) = lacked else { return self.provide(lacked, lack) };
        match self.pages.load(page) {
            Err(Error::Corrupt { .. }) if gone.replace(page) != Some(page) => Ok(()),
            result => result,
        }
    }

    /// What an operation lacked, if that can be helped: a page, or a frame, of which `lack` is.
    pub(crate) fn provide(&self, lacked: Error, lack: &mut Lack) -> Result<()> {
        match lacked {
            Error::NotResident(page) => self.pages.load(page),
            Error::CacheFull => self.pages.make_room(lack),
            error => Err(error),
        }
    }
}
