//! Faults that a test asks the simulated disk for.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;

use super::random::Random;

/// One million, the whole of which chances are parts.
const MILLION: u64 = 1_000_000;

/// How many operations of a simulated disk failed because a test asked for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Reads.
    pub reads: u64,
    /// Writes and changes of length.
    pub writes: u64,
    /// Syncs, durable writes included.
    pub syncs: u64,
    /// Writes for which there was no space.
    pub full: u64,
    /// Writes that the system took and then could not bring to the disk, without being asked to.
    pub writebacks: u64,
    /// Calls that create, find, name, remove or lock files, or ask for their length.
    pub names: u64,
    /// Calls of any kind that failed because it was their turn ([`SimDisk::fail_call`](super::SimDisk::fail_call)).
    pub calls: u64,
}

#[derive(Debug, Default)]
pub(super) struct Faults {
    pub(super) counts: FaultCounts,
    /// Syncs attempted since the disk was made.
    pub(super) syncs: u64,
    failing_syncs: BTreeSet<u64>,
    /// Of a file: how many more succeed before one fails.
    failing_file_syncs: Vec<(u64, u64)>,
    unreadable: Vec<(u64, Range<u64>)>,
    unwritable: Vec<(u64, Range<u64>)>,
    read_failures_ppm: u32,
    write_failures_ppm: u32,
    writeback_failures_ppm: u32,
    name_failures_ppm: u32,
    /// Which of the next calls fails, whatever it is.
    failing_call: Option<u64>,
    pub(super) capacity: Option<u64>,
}

impl Faults {
    /// Forgets all faults, but not how many syncs and failures there were.
    pub(super) fn clear(&mut self) {
        *self = Faults { syncs: self.syncs, counts: self.counts, ..Faults::default() };
    }

    pub(super) fn fail_sync(&mut self, nth_from_now: u64) {
        self.failing_syncs.insert(self.syncs + nth_from_now);
    }

    pub(super) fn fail_reads(&mut self, file: u64, range: Range<u64>) {
        self.unreadable.push((file, range));
    }

    pub(super) fn fail_writes(&mut self, file: u64, range: Range<u64>) {
        self.unwritable.push((file, range));
    }

    pub(super) fn fail_randomly(&mut self, reads_ppm: u32, writes_ppm: u32) {
        self.read_failures_ppm = reads_ppm;
        self.write_failures_ppm = writes_ppm;
    }

    pub(super) fn fail_writeback_randomly(&mut self, ppm: u32) {
        self.writeback_failures_ppm = ppm;
    }

    /// The seed of a failure, if the system now tries to write back what a file has unsynced, and fails.
    pub(super) fn writeback_fails(&mut self, random: &mut Random) -> Option<u64> {
        let fails = self.writeback_failures_ppm > 0 && random.chance(self.writeback_failures_ppm.into(), MILLION);
        self.counts.writebacks += u64::from(fails);
        fails.then(|| random.next())
    }

    pub(super) fn fail_names_randomly(&mut self, ppm: u32) {
        self.name_failures_ppm = ppm;
    }

    pub(super) fn fail_call(&mut self, nth_from_now: u64) {
        self.failing_call = Some(nth_from_now);
    }

    /// Counts a call; whether it is the one that fails.
    fn is_due(&mut self) -> bool {
        let left = self.failing_call.map(|nth| nth.saturating_sub(1));
        self.failing_call = left.filter(|left| *left > 0);
        let is_due = left == Some(0);
        self.counts.calls += u64::from(is_due);
        is_due
    }

    /// Of a call that is neither a read, a write nor a sync.
    pub(super) fn check_name(&mut self, random: &mut Random) -> io::Result<()> {
        if self.is_due() {
            return Err(input_output_error());
        }
        match self.name_failures_ppm > 0 && random.chance(self.name_failures_ppm.into(), MILLION) {
            true => {
                self.counts.names += 1;
                Err(input_output_error())
            }
            false => Ok(()),
        }
    }

    pub(super) fn fail_sync_of(&mut self, file: u64, nth_from_now: u64) {
        self.failing_file_syncs.push((file, nth_from_now));
    }

    /// As `next_sync_fails`, of a file.
    pub(super) fn next_sync_of_fails(&mut self, file: u64, random: &mut Random) -> Option<u64> {
        let asked_for = self.failing_file_syncs.iter_mut().filter(|(id, _)| *id == file);
        let due = asked_for.map(|(_, left)| std::mem::replace(left, left.saturating_sub(1))).any(|left| left == 1);
        match (self.next_sync_fails(random), due) {
            (None, true) => {
                self.counts.syncs += 1;
                Some(random.next())
            }
            (failed, _) => failed,
        }
    }

    /// Counts a sync; the seed of its failure if it is to fail.
    pub(super) fn next_sync_fails(&mut self, random: &mut Random) -> Option<u64> {
        self.syncs += 1;
        let asked_for = self.failing_syncs.remove(&self.syncs);
        let fails = asked_for || random.chance(self.write_failures_ppm.into(), MILLION);
        self.counts.syncs += u64::from(fails);
        let fails = self.is_due() || fails;
        fails.then(|| random.next())
    }

    pub(super) fn check_read(&mut self, file: u64, range: &Range<u64>, random: &mut Random) -> io::Result<()> {
        if self.is_due() {
            return Err(input_output_error());
        }
        check(&self.unreadable, self.read_failures_ppm, file, range, random).inspect_err(|_| self.counts.reads += 1)
    }

    pub(super) fn check_write(&mut self, file: u64, range: &Range<u64>, random: &mut Random) -> io::Result<()> {
        if self.is_due() {
            return Err(input_output_error());
        }
        check(&self.unwritable, self.write_failures_ppm, file, range, random).inspect_err(|_| self.counts.writes += 1)
    }
}

fn check(bad: &[(u64, Range<u64>)], ppm: u32, file: u64, range: &Range<u64>, random: &mut Random) -> io::Result<()> {
    let overlaps = |other: &Range<u64>| other.start < range.end && range.start < other.end;
    let asked_for = bad.iter().any(|(id, other)| *id == file && overlaps(other));
    match asked_for || random.chance(ppm.into(), MILLION) {
        true => Err(input_output_error()),
        false => Ok(()),
    }
}

pub(super) fn input_output_error() -> io::Error {
    io::Error::other("simulated input/output error")
}
