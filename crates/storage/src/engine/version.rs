//! A state of the database: the roots of its trees.

use super::trees::Trees;
use crate::sync::{AtomicU64, Ordering};

/// A published state. The object is reused for a later version once no reader holds this one, so a reader registers
/// before it looks at anything but `number`.
#[derive(Debug, Default)]
pub(crate) struct Version {
    pub(crate) number: AtomicU64,
    /// The log position behind the last commit in it.
    pub(crate) position: u64,
    /// Where a recovery that begins with this version has to begin to read the log: not behind `position`.
    pub(crate) needed_from: u64,
    pub(crate) trees: Trees,
}

/// A version object by address: readers may be looking at it, so nobody else may claim to own it meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VersionPtr(*mut Version);

// SAFETY: an address; who may use it is argued where it is dereferenced.
unsafe impl Send for VersionPtr {}

impl VersionPtr {
    pub(crate) fn allocate() -> VersionPtr {
        VersionPtr(Box::into_raw(Box::default()))
    }

    pub(crate) fn from_raw(version: *mut Version) -> VersionPtr {
        VersionPtr(version)
    }

    pub(crate) fn as_raw(self) -> *mut Version {
        self.0
    }

    /// # Safety
    /// The object was not freed.
    pub(crate) unsafe fn number(self) -> u64 {
        // SAFETY: by the caller's promise; the field is atomic.
        unsafe { (*self.0).number.load(Ordering::Acquire) }
    }

    /// Fills an object that no registered reader holds.
    ///
    /// # Safety
    /// The object was not freed, is not published, and no slot names its version. A reader that is just about to
    /// register may still load `number`, which is why that alone is written atomically.
    pub(crate) unsafe fn fill(self, number: u64, position: u64, needed_from: u64, trees: &Trees) {
        // SAFETY: by the caller's promise; only fields are borrowed, never the whole object.
        unsafe {
            (*self.0).number.store(number, Ordering::SeqCst);
            (*self.0).position = position;
            (*self.0).needed_from = needed_from;
            (*self.0).trees.copy_from(trees);
        }
    }

    /// # Safety
    /// Nobody uses the object any more.
    pub(crate) unsafe fn free(self) {
        // SAFETY: it came from `allocate`, and by the caller's promise this is its last use.
        drop(unsafe { Box::from_raw(self.0) });
    }
}
