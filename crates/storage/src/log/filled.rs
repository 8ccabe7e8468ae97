//! How far places are filled, so that a log that is hardly written to is small.
//!
//! A place's length counts in the file from when it is added, but only its begin is on the disk at first: the rest is a hole, which
//! is filled in steps that double while it is written to. What an idle log has on the disk ahead of its end, in places that hold
//! no segment, and before what a recovery needs, becomes holes again.
//!
//! What must hold:
//! - A batch is written only to bytes that were filled and synced: in a hole it could find the disk full, and would cost more.
//! - Nothing is filled or given back where a batch may be: filled is what lies beyond how far the newest segment counts as filled,
//!   given back what does no more once that was lowered under the commit lock, while no batch is out.
//! - Nobody enters a place that is being given back: it counts as not filled from before that.
//! - Before what a recovery needs that is given back which both meta pages say is not needed, and no checkpoint is made between
//!   reading what they say and giving back. The first block stays: it says which segment this is.
//! - Each byte is given back once, until it is filled again: an idle log is left alone.

use super::format::BLOCK;
use super::segments::{Places, Segments};
use crate::broken::{self, Broken};
use crate::sync::{AtomicU64, MutexGuard, Ordering};
use crate::{Error, Result};

/// The most that is filled at once while a segment is written to.
const STEP_MAX: u64 = 1 << 20;

/// Of the newest segment.
#[derive(Debug)]
pub(super) struct Filled {
    /// The position up to which it is filled.
    until: AtomicU64,
    /// Who comes beyond this asks for more.
    ask_at: AtomicU64,
    /// What lay in front of this was given back.
    pub(super) given_before: AtomicU64,
}

impl Default for Filled {
    fn default() -> Filled {
        Filled { until: AtomicU64::new(0), ask_at: AtomicU64::new(u64::MAX), given_before: AtomicU64::new(0) }
    }
}

impl Places {
    /// Whether so many bytes from its begin are.
    pub(super) fn is_filled(&self, place: u32, bytes: u64) -> bool {
        self.bare.get(&place).is_none_or(|&filled| filled >= bytes)
    }

    pub(super) fn set_filled(&mut self, place: u32, bytes: u64, size: u64) {
        match bytes < size {
            true => drop(self.bare.insert(place, bytes)),
            false => drop(self.bare.remove(&place)),
        }
    }

    /// Whether a segment was entered since the opening: of others nobody knows what of them is a hole.
    pub(super) fn is_own(&self, number: u64) -> bool {
        self.first.is_some_and(|first| first <= number)
    }

    /// The first that holds no segment and could not be entered.
    pub(super) fn lowest_bare(&self, least: u64) -> Option<u32> {
        self.ready.iter().copied().filter(|&place| !self.is_filled(place, least)).min()
    }
}

impl Segments {
    /// What a place is filled with before it is entered: more than a record takes, with what is before it.
    pub(super) fn least_step(size: u64) -> u64 {
        (size.min(STEP_MAX) / 8 + 2 * BLOCK as u64).next_multiple_of(BLOCK as u64).min(size)
    }

    /// Whether a record that ends at a position of the newest segment has room.
    #[inline]
    pub(super) fn is_filled_until(&self, end: u64) -> bool {
        end <= self.filled.until.load(Ordering::Relaxed)
    }

    /// Whether somebody is to fill more ahead of the position: told once for each time that more was filled.
    #[inline]
    pub(crate) fn asks_at(&self, end: u64) -> bool {
        end > self.filled.ask_at.load(Ordering::Relaxed) && self.filled.ask_at.swap(u64::MAX, Ordering::Relaxed) < end
    }

    /// The newest segment is another, or filled further.
    pub(super) fn note_filled(&self, places: &Places) {
        let Some(&(number, place)) = places.live.back() else { return };
        let size = self.size();
        let filled = places.bare.get(&place).copied().unwrap_or(size);
        let until = number * size + filled;
        // Half of the last step.
        let ask_at = if filled < size { until - places.step.min(filled) / 2 } else { u64::MAX };
        self.filled.until.store(until, Ordering::Relaxed);
        self.filled.ask_at.store(ask_at, Ordering::Relaxed);
    }

    pub(super) fn has_bare(&self) -> bool {
        self.lock_places().lowest_bare(Self::least_step(self.size())).is_some()
    }

    /// Whether the newest segment is filled to its end, or further than it was asked for.
    pub(crate) fn is_ahead(&self) -> bool {
        self.filled.ask_at.load(Ordering::Relaxed) != u64::MAX || self.is_newest_whole()
    }

    /// Whether the newest segment is filled to its end: places for the next are needed soon.
    pub(crate) fn is_newest_whole(&self) -> bool {
        let places = self.lock_places();
        places.live.back().is_none_or(|(_, place)| places.is_filled(*place, self.size()))
    }

    /// Fills a place that holds no segment and was there.
    pub(super) fn fill_bare(&self, _one: &MutexGuard<'_, ()>, place: u32, bytes: u64) -> Result<()> {
        self.fill_hole(self.offset(place), bytes)?;
        self.lock_places().set_filled(place, bytes, self.size());
        Ok(())
    }

    /// On a full disk it stays a hole: others need the room of the part that was filled.
    fn fill_hole(&self, offset: u64, bytes: u64) -> Result<()> {
        let filled = self.fill_range(offset, offset + bytes);
        if let Err(Error::DiskFull { .. }) = filled
            && !broken::is(Broken::LogKeepsAll)
        {
            let _ = self.growing.give_back(offset, bytes);
        }
        filled
    }

    /// Fills more of the newest segment: a step, or as far as is needed `until` a position. On a full disk no further than that.
    pub(super) fn fill_newest(
        &self,
        _one: &MutexGuard<'_, ()>,
        until: Option<u64>,
        room: impl FnOnce() -> u64,
    ) -> Result<()> {
        let places = self.lock_places();
        let newest = places.live.back().copied().filter(|(number, _)| places.is_own(*number));
        let Some((number, place)) = newest else { return Ok(()) };
        let (size, step) = (self.size(), places.step);
        let start = number * size;
        let filled = places.bare.get(&place).copied().unwrap_or(size);
        let needed = until
            .map_or(filled, |until| until.saturating_sub(start).next_multiple_of(BLOCK as u64).clamp(filled, size));
        // Somebody was faster, or another segment was entered meanwhile.
        if filled == size || until.is_some() && needed == filled {
            self.note_filled(&places);
            return Ok(());
        }
        drop(places);
        let (wanted, reserved) = (needed.max((filled + step).min(size)), room());
        let fill = |to: u64| {
            self.with_room(to - filled, || reserved, || self.fill_hole(self.offset(place) + filled, to - filled))
                .map(|()| to)
        };
        let made = match fill(wanted) {
            Err(Error::DiskFull { .. }) if needed > filled && needed < wanted => fill(needed),
            made => made,
        };
        match &made {
            Err(Error::DiskFull { .. }) => self.stop_short(),
            Ok(_) => self.look_again(),
            Err(_) => {}
        }
        let to = made?;
        let mut places = self.lock_places();
        places.step = match to == size {
            // It is written to without end.
            true => size,
            false => (2 * step).min(size).min(STEP_MAX.max(Self::least_step(size))),
        };
        // (What was in front may have been given back meanwhile, and the place with it.)
        if places.bare.get(&place) == Some(&filled) {
            places.set_filled(place, to, size);
        }
        self.note_filled(&places);
        Ok(())
    }

    /// Fills another step of the newest segment.
    pub(crate) fn fill_ahead(&self, room: impl FnOnce() -> u64) -> Result<()> {
        let one = self.filling.lock();
        self.fill_newest(&one, None, room)
    }

    /// Makes holes of what an idle log does not need. `while_idle` says under the commit lock where the log ends, if it is still
    /// idle, and whether it is; `before`: what both meta pages say is not needed. No checkpoint may be made meanwhile.
    pub(crate) fn give_back_idle(&self, before: u64, while_idle: impl FnOnce(&mut dyn FnMut(u64)) -> bool) -> bool {
        let _one = self.filling.lock();
        let mut holes = Vec::new();
        if !while_idle(&mut |end| holes = self.withdraw_idle(end, before)) {
            return false;
        }
        for (offset, length) in holes {
            // Nobody reads these bytes any more: whatever became of them, they are filled before they are used.
            let _ = self.growing.give_back(offset, length);
        }
        true
    }

    /// What is to become holes, as (offset, length); it does not count as filled from here on.
    fn withdraw_idle(&self, end: u64, before: u64) -> Vec<(u64, u64)> {
        let (size, block) = (self.size(), BLOCK as u64);
        let mut places = self.lock_places();
        let mut holes = Vec::new();
        places.step = Self::least_step(size);
        let ready: Vec<u32> = places.ready.iter().copied().collect();
        for place in ready {
            let filled = places.bare.insert(place, 0).unwrap_or(size);
            if filled > 0 {
                holes.push((self.offset(place), size));
            }
        }
        if let Some(&(number, place)) = places.live.back()
            && end >= number * size
        {
            let used = (end - number * size).next_multiple_of(block);
            let kept = match broken::is(Broken::IdleLogCut) {
                false => (used + places.step).min(size),
                true => used.saturating_sub(2 * block).max(block),
            };
            let filled = places.bare.get(&place).copied().unwrap_or(size);
            if kept < filled {
                places.bare.insert(place, kept);
                holes.push((self.offset(place) + kept, filled - kept));
                self.note_filled(&places);
            }
        }
        holes.extend(self.in_front(&places, before));
        self.filled.given_before.fetch_max(before / block * block, Ordering::Relaxed);
        holes
    }

    /// How much there is in front of a position that was not given back yet.
    pub(crate) fn bytes_in_front(&self, before: u64) -> u64 {
        self.in_front(&self.lock_places(), before).map(|(_, length)| length).sum()
    }

    /// What there is: (offset, length).
    fn in_front(&self, places: &Places, before: u64) -> impl Iterator<Item = (u64, u64)> {
        let (size, block) = (self.size(), BLOCK as u64);
        let given = self.filled.given_before.load(Ordering::Relaxed);
        places.live.iter().filter_map(move |&(number, place)| {
            let start = number * size;
            let (from, to) = ((start + block).max(given), before.min(start + size) / block * block);
            (from < to).then(|| (self.offset(place) + from - start, to - from))
        })
    }
}
