//! Where temporary files go, how large they may grow, and how much was written.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result, SqlState};

/// A session's room for temporary files. Cheap to clone; clones count together.
#[derive(Clone, Debug)]
pub struct SpillSpace {
    /// `None`: the system's folder for temporary files.
    directory: Option<Arc<Path>>,
    /// Bytes that the session's temporary files may take together.
    limit: Option<u64>,
    used: Arc<AtomicU64>,
    totals: Arc<SpillTotals>,
}

/// Counted since the database was opened.
#[derive(Debug, Default)]
pub(crate) struct SpillTotals {
    pub(crate) files: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
}

impl Default for SpillSpace {
    fn default() -> SpillSpace {
        SpillSpace::new(None, Arc::default())
    }
}

impl SpillSpace {
    /// Room without a limit in `directory`; what is written there is added to `totals`.
    pub(crate) fn new(directory: Option<Arc<Path>>, totals: Arc<SpillTotals>) -> SpillSpace {
        SpillSpace { directory, limit: None, used: Arc::default(), totals }
    }

    /// The same room under a limit in bytes.
    #[must_use]
    pub(crate) fn with_limit(&self, limit: Option<u64>) -> SpillSpace {
        SpillSpace { limit, ..self.clone() }
    }

    pub(super) fn create(&self) -> Result<std::fs::File> {
        let opened = match &self.directory {
            Some(directory) => super::file::create_private(directory),
            None => super::file::create_private(&std::env::temp_dir()),
        };
        self.totals.files.fetch_add(1, Ordering::Relaxed);
        opened.map_err(super::file::io_error("create a temporary file"))
    }

    /// Takes room for `bytes` more; SQLSTATE 53400 where the limit does not allow it.
    pub(super) fn take(&self, bytes: u64) -> Result<()> {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        match self.limit {
            Some(limit) if used > limit => {
                self.give_back(bytes);
                let message = format!("temporary file size exceeds temp_file_limit ({}kB)", limit.div_ceil(1024));
                Err(Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, message)
                    .with_hint("Raise temp_file_limit, raise work_mem, or make the query keep fewer rows or columns."))
            }
            _ => {
                self.totals.bytes_written.fetch_add(bytes, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    pub(super) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes that were written through this room and those that count with it.
    #[cfg(test)]
    pub(crate) fn bytes_written(&self) -> u64 {
        self.totals.bytes_written.load(Ordering::Relaxed)
    }

    /// Bytes that the session's temporary files take now.
    #[cfg(test)]
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}
