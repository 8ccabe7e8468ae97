//! What tests and simulations ask of an open database as a whole.

use super::Store;

impl Store {
    /// What does not hold of the cache's frames; see `page/frames.rs`. `at_rest`: nobody does anything, the background
    /// neither, so that more must hold. Stops nobody for longer than the page cache's locks.
    #[doc(hidden)]
    pub fn broken_frames(&self, at_rest: bool) -> Vec<String> {
        self.engine().pages.broken_frames(at_rest)
    }

    /// How often room in the log was promised to who needs much before one who needs little and has waited for longer: never.
    #[doc(hidden)]
    pub fn passed_in_line(&self) -> u64 {
        self.engine().segments.as_ref().map_or(0, |segments| segments.passed())
    }
}
