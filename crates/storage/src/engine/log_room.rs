//! Space for the log, and what happens while there is little: commits are slowed, then wait for a checkpoint.

use super::shared::Engine;
use crate::broken::{self, Broken};
use crate::log::{KeptSegments, OpenBatch, Segments, Taker};
use crate::options::LOG_SEGMENTS_MIN;
use crate::sync::Ordering;
use crate::{Error, Result};

/// Microseconds of delay at a full log.
const PRESSURE_US_MAX: f64 = 4000.0;
/// The part of the log that may fill before commits are slowed.
const PRESSURE_FROM: f64 = 0.5;
/// What commits look by for who keeps log room, where there is no other pressure.
const LOOK_US: u64 = 1;

impl Engine {
    /// Slows a commit by as much as the log is full. While what is left of it is kept for another's, it waits for that: it
    /// would take the ends of segments that this entered.
    #[inline]
    pub(super) fn slow_down(&self) {
        let pressure = self.pressure_us.load(Ordering::Relaxed);
        if pressure > 0 {
            self.slow_down_by(pressure);
        }
    }

    #[cold]
    fn slow_down_by(&self, pressure: u64) {
        if self.segments.as_ref().is_some_and(Segments::wait_for_keeper) {
            return;
        }
        if pressure == LOOK_US {
            // He is gone, most likely.
            return self.set_pressure();
        }
        self.counters.backpressure_us.add(pressure);
        self.env.host.sleep(std::time::Duration::from_micros(pressure));
    }

    /// Sets how much commits are slowed by how full the log is.
    pub(crate) fn set_pressure(&self) {
        let Some(segments) = &self.segments else { return };
        let over = (segments.fullness() - PRESSURE_FROM) / (1.0 - PRESSURE_FROM);
        let pressure = (over.clamp(0.0, 1.0).powi(2) * PRESSURE_US_MAX) as u64;
        // So that they look.
        let pressure = if segments.are_kept() { pressure.max(LOOK_US) } else { pressure };
        self.pressure_us.store(pressure, Ordering::Relaxed);
    }

    /// Adds a place to the log; false at the limit.
    ///
    /// An error that it hears may be about a batch's bytes: it counts for everybody.
    pub(crate) fn grow_log(&self) -> Result<bool> {
        let segments = self.segments()?;
        segments.grow().inspect_err(|error| {
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

    /// Keeps room in the log for so many bytes of operations, which the caller is about to send in parts, and for their commit
    /// record: others wait for it where they would need another segment, rather than fill the log with it half sent.
    /// An eighth more, as they go on to use what is left of segments that were entered.
    pub(crate) fn keep_log_room(&self, operations: u64) -> Result<KeptSegments<'_>> {
        let needed = self.segments_for(operations)? as usize;
        let kept = self.segments()?.keep(needed + needed / 8 + 1);
        self.set_pressure();
        Ok(kept)
    }

    /// No segment is ready: makes one, or waits for a checkpoint to free some. `waited` counts the checkpoints.
    #[cold]
    pub(super) fn make_log_room(&self, by: Taker, waited: &mut u32) -> Result<()> {
        if by == Taker::Anybody && self.segments()?.wait_for_keeper() {
            return Ok(());
        }
        match self.grow_log() {
            Ok(true) => return Ok(()),
            // At the limit, or the disk is full: a checkpoint may give segments back.
            Ok(false) | Err(Error::DiskFull { .. }) => {}
            Err(error) => return Err(error),
        }
        *waited += 1;
        if *waited > 2 && self.end_oldest_parts()? {
            *waited = 1;
        } else if *waited > 1 {
            // A version that needs less of the log may not be published yet.
            self.wait_for_all()?;
        }
        if *waited > 3 {
            return Err(Error::DiskFull { what: "extend the log (the disk is full, or log_limit_bytes reached)" });
        }
        // Whatever checkpoint runs now may have begun too early to free anything: wait for one that begins later.
        self.run_checkpoint()
    }

    /// The parts of a transaction that failed need no log any more. A version published meanwhile says otherwise, and
    /// the log might be full of them: so another one follows.
    pub(crate) fn forget_parts(&self, transaction: u64) {
        let mut writer = self.lock_writer();
        writer.open_parts.retain(|open| open.transaction != transaction);
        writer.changed = true;
        drop(writer);
        // If this fails, so will everything else.
        let _ = self.wait_for_all();
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

    /// Ends the transaction that has had parts in the log for longest, if the log cannot be reused because of it.
    fn end_oldest_parts(&self) -> Result<bool> {
        let writer = self.lock_writer();
        let oldest = writer.open_parts.iter().min_by_key(|parts| parts.first).copied();
        drop(writer);
        let segments = self.segments()?;
        let holds = |first: u64| segments.oldest_live().is_some_and(|number| first / segments.size() <= number);
        match oldest {
            Some(parts) if holds(parts.first) => {
                self.forget_parts(parts.transaction);
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::sync::Ordering;
    use crate::{Options, Store, TreeId};

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
                let _room = store.engine().keep_log_room(1 << 20);
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
        drop(store.engine().keep_log_room(1 << 30).unwrap());
        assert!(store.engine().pressure_us.load(Ordering::Relaxed) > 0, "nobody would have waited for it");
        (0..10).for_each(|_| put(&store, 10));
        assert_eq!(store.stats().backpressure_us, 0);
    }
}
