//! How much a transaction has said and locked that others are to hear of.

/// Where ROLLBACK TO goes back to: how many there were of each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SaidMark {
    /// Channels that are listened to from its commit on, or no more.
    pub(crate) wishes: usize,
    /// Notifications.
    pub(crate) notes: usize,
    /// Settings that the statement changed.
    pub(crate) settings: usize,
    /// Advisory locks of the transaction.
    pub(crate) locks: usize,
}
