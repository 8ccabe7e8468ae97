//! The limits that statements run under.

use std::time::Duration;

use super::Options;
use crate::exec::{DEFAULT_MEMORY_BUDGET, DEFAULT_WORK_MEM};

/// What a session's temporary relations take in memory at most, unless somebody says otherwise.
const TEMP_TABLE_LIMIT: u64 = 256 << 20;

/// What a session's statements may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes that one sort, hash table or materialised result holds before it spills.
    pub(crate) work_mem: usize,
    /// Bytes that a statement may hold altogether.
    pub(crate) statement_mem: usize,
    /// Bytes that the session's temporary files may take together.
    pub(crate) temp_file_limit: Option<u64>,
    /// Bytes that the session's temporary relations may take together, from when the first is made.
    pub(crate) temp_table_limit: u64,
    /// How long an open transaction may wait for its next statement.
    pub(crate) idle_in_transaction: Option<Duration>,
    /// How long a session may wait for its next statement outside of transactions. Who waits for statements ends it.
    pub(crate) idle_session: Option<Duration>,
    /// How long a transaction may take altogether.
    pub(crate) transaction_timeout: Option<Duration>,
}

impl Limits {
    pub(crate) fn of(options: &Options) -> Limits {
        let or = |bytes: usize, default: usize| if bytes == 0 { default } else { bytes };
        Limits {
            work_mem: or(options.work_mem, DEFAULT_WORK_MEM),
            statement_mem: or(options.statement_mem, DEFAULT_MEMORY_BUDGET),
            temp_file_limit: options.temp_file_limit,
            temp_table_limit: options.temp_table_limit.unwrap_or(TEMP_TABLE_LIMIT),
            idle_in_transaction: options.idle_in_transaction_session_timeout,
            idle_session: None,
            transaction_timeout: options.transaction_timeout,
        }
    }

    /// Whether an open transaction has limits of time.
    pub(crate) fn has_times(&self) -> bool {
        self.idle_in_transaction.is_some() || self.transaction_timeout.is_some()
    }
}
