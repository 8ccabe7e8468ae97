//! What an opening tells that takes long.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How far an opening is that applies the log to what the last checkpoint left: the part of it that grows with what was
/// committed since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpeningProgress {
    /// Bytes of log that were applied.
    pub applied_bytes: u64,
    /// Bytes of log that there are, at the most: in whole segments.
    pub log_bytes: u64,
    /// Since the opening began.
    pub took: Duration,
}

/// Hears of openings that take more than a second: after that second, then every tenth of one at the most, on the thread that
/// opens, which waits meanwhile. A panic in it is one of the opening, which leaves the files as one that fails does.
#[derive(Clone)]
pub struct OpeningListener(Arc<dyn Fn(&OpeningProgress) + Send + Sync>);

impl OpeningListener {
    /// Has `hear` called.
    pub fn new(hear: impl Fn(&OpeningProgress) + Send + Sync + 'static) -> OpeningListener {
        OpeningListener(Arc::new(hear))
    }

    pub(crate) fn tell(&self, progress: &OpeningProgress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for OpeningListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpeningListener")
    }
}
