//! Space for the log, and what happens while there is little: commits are slowed, then wait for a checkpoint.

use super::shared::Engine;
use crate::broken::{self, Broken};
use crate::sync::Ordering;
use crate::{Error, Result};

/// Microseconds of delay at a full log.
const PRESSURE_US_MAX: f64 = 4000.0;
/// The part of the log that may fill before commits are slowed.
const PRESSURE_FROM: f64 = 0.5;

impl Engine {
    /// Slows a commit by as much as the log is full.
    pub(super) fn slow_down(&self) {
        let pressure = self.pressure_us.load(Ordering::Relaxed);
        if pressure > 0 {
            self.counters.backpressure_us.add(pressure);
            self.env.host.sleep(std::time::Duration::from_micros(pressure));
        }
    }

    /// Sets how much commits are slowed by how full the log is.
    pub(crate) fn set_pressure(&self) {
        let Some(segments) = &self.segments else { return };
        let over = (segments.fullness() - PRESSURE_FROM) / (1.0 - PRESSURE_FROM);
        let pressure = (over.clamp(0.0, 1.0).powi(2) * PRESSURE_US_MAX) as u64;
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

    /// No segment is ready: makes one, or waits for a checkpoint to free some. `waited` counts the checkpoints.
    #[cold]
    pub(super) fn make_log_room(&self, waited: &mut u32) -> Result<()> {
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
