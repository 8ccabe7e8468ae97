//! How a database is opened.

use std::time::Duration;

pub use cairn_storage::Durability;

/// Options of [`Database::open_with`](super::Database::open_with). Start from `Options::default()`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// What the acknowledgement of a commit means, unless the connection or transaction says otherwise.
    pub durability: Durability,
    /// Refuse every change; works on read-only media.
    pub read_only: bool,
    /// Bytes of memory for pages; 0 means the default.
    pub cache_bytes: usize,
    /// The longest a statement may run on new connections; `None`: no limit.
    pub statement_timeout: Option<Duration>,
    /// IANA name of the time zone of new connections; `None`: UTC.
    pub time_zone: Option<String>,
}

impl Options {
    /// Sets [`Options::durability`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Options {
        self.durability = durability;
        self
    }

    /// Sets [`Options::read_only`].
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Options {
        self.read_only = read_only;
        self
    }

    /// Sets [`Options::cache_bytes`].
    #[must_use]
    pub fn cache_bytes(mut self, cache_bytes: usize) -> Options {
        self.cache_bytes = cache_bytes;
        self
    }

    /// Sets [`Options::statement_timeout`].
    #[must_use]
    pub fn statement_timeout(mut self, limit: Duration) -> Options {
        self.statement_timeout = Some(limit);
        self
    }

    pub(crate) fn storage(&self) -> cairn_storage::Options {
        let mut options = cairn_storage::Options::default();
        options.durability = self.durability;
        options.read_only = self.read_only;
        if self.cache_bytes > 0 {
            options.cache_bytes = self.cache_bytes;
        }
        options
    }
}
