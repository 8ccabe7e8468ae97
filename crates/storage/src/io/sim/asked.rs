//! What a test asks of the disk: faults, and what somebody else does to the files of a database that is open.

use std::ops::Range;
use std::path::Path;

use super::content::CHUNK;
use super::disk::SimDisk;
use super::state::{NameChange, Operation};

impl SimDisk {
    /// Lets the `nth_from_now` sync fail (1 is the next): [`File::sync`](crate::io::File::sync), [`File::write_durable_at`](crate::io::File::write_durable_at) and
    /// [`FileSystem::sync_directory`](crate::io::FileSystem::sync_directory) count. Some of what it was to make durable is on the disk, the rest never will be.
    pub fn fail_sync(&self, nth_from_now: u64) {
        self.machine().faults.fail_sync(nth_from_now);
    }

    /// As [`SimDisk::fail_sync`], of one file's `File::sync` only. Does nothing if there is no such file.
    pub fn fail_sync_of(&self, path: &Path, nth_from_now: u64) {
        let mut machine = self.machine();
        if let Some(&id) = machine.state.names.get(path) {
            machine.faults.fail_sync_of(id, nth_from_now);
        }
    }

    /// Lets reads that touch the range of bytes fail. Does nothing if there is no such file.
    pub fn fail_reads(&self, path: &Path, range: Range<u64>) {
        let mut machine = self.machine();
        if let Some(&id) = machine.state.names.get(path) {
            machine.faults.fail_reads(id, range);
        }
    }

    /// Lets writes that touch the range of bytes fail and change nothing. Does nothing if there is no such file.
    pub fn fail_writes(&self, path: &Path, range: Range<u64>) {
        let mut machine = self.machine();
        if let Some(&id) = machine.state.names.get(path) {
            machine.faults.fail_writes(id, range);
        }
    }

    /// Lets each read, and each write, change of length or sync, fail with a chance in parts per million.
    pub fn fail_randomly(&self, reads_ppm: u32, writes_ppm: u32) {
        self.machine().faults.fail_randomly(reads_ppm, writes_ppm);
    }

    /// Lets the system, after each write that is not durable yet, fail with a chance in parts per million to bring the
    /// file's unsynced data to the disk. Nobody is told before the next sync, and then each open file once.
    pub fn fail_writeback_randomly(&self, ppm: u32) {
        self.machine().faults.fail_writeback_randomly(ppm);
    }

    /// Limits the space of all files together, in bytes, counted in blocks of 4096; holes are free. A write that does
    /// not fit writes what fits, unsynced, and fails with [`ErrorKind::StorageFull`](std::io::ErrorKind::StorageFull).
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.machine().faults.capacity = bytes;
    }

    /// The space that all files take together, as [`SimDisk::set_capacity`] counts it.
    pub fn space_used(&self) -> u64 {
        self.machine().chunks_used() * CHUNK
    }

    /// Ends all faults asked for, the limit of space included.
    pub fn clear_faults(&self) {
        self.machine().faults.clear();
    }

    /// Lets each call that creates, finds, names, removes or locks a file, or asks for its length, fail with a chance in parts
    /// per million.
    pub fn fail_names_randomly(&self, ppm: u32) {
        self.machine().faults.fail_names_randomly(ppm);
    }

    /// Lets the `nth_from_now` call fail (1 is the next), whatever it is: every call counts.
    pub fn fail_call(&self, nth_from_now: u64) {
        self.machine().faults.fail_call(nth_from_now);
    }

    /// Gives a file a second name. Does nothing if there is no such file.
    pub fn link(&self, from: &Path, to: &Path) {
        let mut machine = self.machine();
        if let Some(&id) = machine.state.names.get(from) {
            let _ = machine.perform(Operation::Name(NameChange::Create { path: to.into(), id }));
        }
    }

    /// Takes away what marks the lock of a database, as who removes its lock file does; or moves it to where the database
    /// was moved.
    pub fn move_lock(&self, from: &Path, to: Option<&Path>) {
        self.machine().locks.rename(from, to);
    }

    /// Whether something marks the lock of a database, as its lock file does.
    pub fn has_lock(&self, path: &Path) -> bool {
        self.machine().locks.has(path)
    }
}
