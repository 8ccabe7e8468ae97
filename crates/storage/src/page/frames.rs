//! Which page is in which frame: the table (from a page's id to its frame's address) and a word of state per frame.
//!
//! What must hold:
//! - A frame is a page's, or somebody's alone: a [`Frame`], which can not be copied. Who gives it to a page loses it
//!   ([`FrameTable::give`]); who takes it from a page gains it ([`FrameTable::take`]). So a frame is in the table, in
//!   limbo, in the supply, or in one thread's hands, and nowhere twice.
//! - A word names the page that its frame is given to and counts how often the frame was given away. It is changed by
//!   compare-and-swap only: who means a page changes nothing when the frame is another's by then, or the same page's anew.
//! - Who changed the word from a page's to nobody's owns the frame, and he alone removes the table's entry, before he does
//!   anything else with it. So an entry stands only for a frame that is its page's, or that is being taken from it.
//! - `FIXED` and `DIRTY` are set when the frame is given, and only cleared after that.

use std::ops::Range;
use std::sync::Arc;

use super::layout;
use super::memory::{Frames, zeroed};
use super::table::Table;
use crate::PageRef;
use crate::broken::{self, Broken};
use crate::budget::Member;
use crate::sync::{AtomicU64, Ordering, step};

/// Low bit of a table entry: the page is about to be evicted unless somebody looks at it again.
pub(super) const COOLING: u64 = 1;

/// Bits of a word above its page's id. The page is not in the file yet.
pub(super) const DIRTY: u64 = 1 << 32;
/// It is unsealed, or not yet given to eviction: it is neither evicted nor written out.
pub(super) const FIXED: u64 = 1 << 33;
/// It is being written to the file, and keeps its frame and its id until that has ended.
pub(super) const WRITING: u64 = 1 << 34;
/// Its id was freed while it was being written.
pub(super) const FREED: u64 = 1 << 35;
/// The frame is a page's.
const GIVEN: u64 = 1 << 36;
/// Above: how often the frame was given away.
const USE: u64 = 1 << 37;

/// A frame that is no page's; its owner may do with it what he likes.
#[derive(Debug)]
#[must_use = "a frame that nobody has is lost"]
pub(super) struct Frame(u32);

impl Frame {
    pub(super) fn index(&self) -> u32 {
        self.0
    }
}

/// Frames that are free: those that were used before, and those that never were, which are no more than a range.
#[derive(Debug)]
pub(super) struct FreeFrames {
    /// Last freed first used: a warm frame halves the cost of a copy.
    used: Vec<Frame>,
    /// Those whose memory was given back to the system.
    cold: Vec<Frame>,
    fresh: Range<u32>,
    /// Of those that have no memory, how many may have some.
    room: usize,
    /// Where there is more room; `None`: nowhere.
    member: Option<Arc<Member>>,
    /// Whether those that have no memory are free, too.
    pub(super) may_grow: bool,
}

impl FreeFrames {
    #[cfg(test)]
    pub(super) fn none() -> FreeFrames {
        FreeFrames::new(0)
    }

    /// So many that were never used, and may all be.
    fn new(count: u32) -> FreeFrames {
        let room = count as usize;
        FreeFrames { used: Vec::new(), cold: Vec::new(), fresh: 0..count, room, member: None, may_grow: true }
    }

    /// From now on no more may have memory than this member may have.
    pub(super) fn share(&mut self, member: Arc<Member>) {
        (self.room, self.member) = (0, Some(member));
    }

    pub(super) fn len(&self) -> usize {
        self.used.len() + if self.may_grow { self.without_memory() } else { 0 }
    }

    fn without_memory(&self) -> usize {
        let all = self.cold.len() + self.fresh.len();
        match &self.member {
            None => all.min(self.room),
            Some(member) => all.min(self.room + member.available()),
        }
    }

    /// Whether there are more than so many.
    #[inline]
    pub(super) fn are_more_than(&self, few: usize) -> bool {
        self.used.len() > few || self.len() > few
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Frame> {
        self.used.pop().or_else(|| self.pop_without_memory())
    }

    fn pop_without_memory(&mut self) -> Option<Frame> {
        if !self.may_grow || self.room == 0 && !self.takes_room() {
            return None;
        }
        let frame = self.cold.pop().or_else(|| self.fresh.next().map(Frame))?;
        self.room -= 1;
        Some(frame)
    }

    #[cold]
    fn takes_room(&mut self) -> bool {
        self.room = self.member.as_ref().map_or(0, |member| member.take());
        self.room > 0
    }

    /// Whether that makes more of them free.
    pub(super) fn grow_after_all(&mut self) -> bool {
        let could = std::mem::replace(&mut self.may_grow, true);
        if could && self.without_memory() == 0 {
            self.room += self.member.as_ref().map_or(0, |member| member.insist());
            return self.without_memory() > 0;
        }
        !could && self.without_memory() > 0
    }

    /// Frames that had no memory before.
    pub(super) fn extend_cold(&mut self, frames: Vec<Frame>) {
        self.cold.extend(frames);
    }

    /// Frames whose memory was given back. (That of a member's is for others: see [`Member::give_up`].)
    pub(super) fn extend_released(&mut self, frames: Vec<Frame>) {
        if self.member.is_none() {
            self.room += frames.len();
        }
        self.cold.extend(frames);
    }

    pub(super) fn cold_count(&self) -> usize {
        self.cold.len()
    }

    pub(super) fn cold(&self) -> impl Iterator<Item = u32> {
        self.cold.iter().map(Frame::index)
    }

    /// Takes the free frames of a range, all of which were used before: those with memory, and those without.
    pub(super) fn take_within(&mut self, range: &Range<u32>, warm: &mut Vec<Frame>, cold: &mut Vec<Frame>) {
        for (free, into) in [(&mut self.used, warm), (&mut self.cold, cold)] {
            into.extend(free.extract_if(.., |frame| range.contains(&frame.0)));
        }
    }

    pub(super) fn push(&mut self, frame: Frame) {
        self.used.push(frame);
    }

    pub(super) fn append(&mut self, frames: &mut Vec<Frame>) {
        self.used.append(frames);
    }

    pub(super) fn extend(&mut self, frames: impl Iterator<Item = Frame>) {
        self.used.extend(frames);
    }

    #[cfg(any(test, feature = "broken-for-tests"))]
    pub(super) fn indexes(&self) -> impl Iterator<Item = u32> {
        self.used.iter().chain(&self.cold).map(Frame::index).chain(self.fresh.clone())
    }
}

/// What a frame's word said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(u64);

impl State {
    pub(super) fn is(self, bits: u64) -> bool {
        self.0 & bits == bits
    }

    pub(super) fn any(self, bits: u64) -> bool {
        self.0 & bits != 0
    }

    pub(super) fn with(self, bits: u64) -> State {
        State(self.0 | bits)
    }

    pub(super) fn without(self, bits: u64) -> State {
        State(self.0 & !bits)
    }

    /// The page that the frame is given to.
    pub(super) fn page(self) -> Option<u32> {
        self.is(GIVEN).then_some(self.0 as u32)
    }

    /// Whether the frame was not given away between the two.
    pub(super) fn same_use(self, other: State) -> bool {
        self.page() == other.page() && self.0 / USE == other.0 / USE
    }
}

/// A page's frame, and what its word said when it was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) frame: u32,
    pub(super) state: State,
}

impl Place {
    /// Whether the frame was not given away between the two.
    pub(super) fn is_same_use(self, other: Place) -> bool {
        self.frame == other.frame && self.state.same_use(other.state)
    }
}

/// The frames, whose they are, and where each page is.
#[derive(Debug)]
pub(super) struct FrameTable {
    /// By page id: the address of its frame and [`COOLING`], or 0.
    entries: Table<AtomicU64>,
    states: Box<[AtomicU64]>,
    pub(super) memory: Frames,
}

impl FrameTable {
    /// For pages with ids below `ids`, mostly `near` ones. Also returns all frames. `None`: there is no room for them.
    pub(super) fn new(page_size: usize, ids: u32, near: u32, count: u32) -> Option<(FrameTable, FreeFrames)> {
        let (entries, states) = (Table::new(ids, near)?, zeroed(count as usize)?);
        let table = FrameTable { entries, states, memory: Frames::new(page_size, count)? };
        Some((table, FreeFrames::new(count)))
    }

    pub(super) fn count(&self) -> u32 {
        self.memory.count()
    }

    /// Lets it have entries of all ids below `end`; false: there is no memory for them.
    pub(super) fn reach(&self, end: u32) -> bool {
        self.entries.reach(end)
    }

    /// Where the page's address stands; `None` beyond all ids that were handed out.
    #[inline]
    pub(super) fn entry(&self, id: u32) -> Option<&AtomicU64> {
        self.entries.get(id)
    }

    /// The address of a page's frame, with [`COOLING`]; 0 where it has none.
    #[inline]
    pub(super) fn address_of(&self, id: u32) -> u64 {
        self.entries.at(id).load(Ordering::SeqCst)
    }

    /// The word of the frame at an address from the table, to be asked for ahead.
    #[inline]
    pub(super) fn word(&self, address: u64) -> &AtomicU64 {
        &self.states[self.memory.frame_of(address & !COOLING) as usize]
    }

    pub(super) fn state(&self, frame: u32) -> State {
        State(self.states[frame as usize].load(Ordering::Acquire))
    }

    /// Whether the frame was a page's before: its bytes are somebody's then, not the system's.
    pub(super) fn was_given(&self, frame: &Frame) -> bool {
        self.state(frame.0).0 >= USE
    }

    /// The words of the first frames, as many as were ever used: those of the others would take memory.
    pub(super) fn states(&self, used: u32) -> impl Iterator<Item = State> {
        self.states.iter().take(used as usize).map(|state| State(state.load(Ordering::Acquire)))
    }

    /// Where the page is, for who changes what is known of it.
    ///
    /// The entry is looked at again after the word: where a change of the returned state succeeds, the frame was the
    /// page's, and in the table, all the time.
    #[inline]
    pub(super) fn find(&self, id: u32) -> Option<Place> {
        let entry = self.entries.at(id);
        let mut address = entry.load(Ordering::SeqCst) & !COOLING;
        while address != 0 {
            let frame = self.memory.frame_of(address);
            step();
            let state = self.state(frame);
            match entry.load(Ordering::SeqCst) & !COOLING {
                // Otherwise it is being taken from it.
                again if again == address => return (state.page() == Some(id)).then_some(Place { frame, state }),
                moved => address = moved,
            }
        }
        None
    }

    /// Changes a frame's word, if it is still what it was.
    #[inline]
    pub(super) fn change(&self, place: Place, to: State) -> bool {
        debug_assert!(place.state.same_use(to));
        step();
        let word = &self.states[place.frame as usize];
        word.compare_exchange(place.state.0, to.0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Gives a frame to a page that is not in memory, and shows it to everybody. The frame's bytes are the page's by now.
    /// `flags`: [`DIRTY`], [`FIXED`] or none; `mark`: of the entry. The frame comes back if the page is there by now.
    pub(super) fn give(&self, frame: Frame, id: u32, flags: u64, mark: u64) -> Result<(), Frame> {
        let address = self.memory.address(frame.0);
        let word = &self.states[frame.0 as usize];
        // A word of nobody's frame is changed by its owner alone.
        let uses = State(word.load(Ordering::Relaxed)).0 / USE;
        let state = State(uses.wrapping_add(1).wrapping_mul(USE) | GIVEN | flags | u64::from(id));
        word.store(state.0, Ordering::Release);
        step();
        let entry = self.entries.at(id);
        if entry.compare_exchange(0, address | mark, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            return Ok(());
        }
        // Nobody takes a frame that he did not find in the table.
        word.store(state.0 / USE * USE, Ordering::Release);
        Err(frame)
    }

    /// Takes the page's frame from it, if it is still what it was.
    #[inline]
    pub(super) fn take(&self, id: u32, place: Place) -> Option<Frame> {
        let nobodys = State(place.state.0 / USE * USE);
        step();
        let word = &self.states[place.frame as usize];
        word.compare_exchange(place.state.0, nobodys.0, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        step();
        let entry = self.entries.at(id).swap(0, Ordering::SeqCst);
        assert!(entry & !COOLING == self.memory.address(place.frame), "an entry is removed by who took the frame");
        Some(Frame(place.frame))
    }

    /// Makes a page what eviction may take, if it is not yet. It is the caller's, and sealed.
    #[inline(always)]
    pub(super) fn allow_eviction(&self, id: u32) {
        let entry = self.entries.at(id).load(Ordering::Relaxed);
        if entry == 0 {
            return;
        }
        let frame = self.memory.frame_of(entry & !COOLING);
        step();
        if broken::is(Broken::AnothersFrame) {
            if cfg!(feature = "simulated") {
                // As if the system took the processor away.
                crate::sync::thread::sleep(std::time::Duration::from_micros(u64::from(id % 4 == 1) * 500));
            }
            self.states[frame as usize].fetch_and(!FIXED, Ordering::Release);
            return;
        }
        let state = self.state(frame);
        // Only who made the page fixed it: a word that says so means this page, whatever the frame was meanwhile, and
        // nobody else changes it.
        if state.page() == Some(id) && state.is(FIXED) {
            self.change(Place { frame, state }, state.without(FIXED));
        }
    }

    /// The identity of the page at an address that was found in the table.
    pub(super) fn identity_at(&self, address: u64) -> PageRef {
        // SAFETY: reading the identity of a frame that was a page's just now; who rests on it looks again whether it is.
        layout::identity(unsafe { self.memory.page(address & !COOLING) })
    }
}
