//! Ways to break the engine on purpose, so that the crash tests can show that they would notice. Compiled in only with
//! the feature `broken-for-tests`; a choice holds for the calling thread.

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Pages are not checked when they are read.
    Checksums,
    /// Readers see a commit before it is durable.
    PublishBeforeSync,
    /// Pages of the durable checkpoint are used again before the next one replaced it.
    ReuseTooEarly,
    /// What later batches say of how far the log was durable is not looked at.
    DurablePosition,
    /// Failed syncs count as done.
    SyncErrors,
    /// A meta page older than the log goes for the newest.
    OlderMeta,
    /// Commits that the checkpoint holds are applied again.
    ReplayTooMuch,
}

#[cfg(feature = "broken-for-tests")]
thread_local! {
    static CHOSEN: std::cell::Cell<Option<Broken>> = const { std::cell::Cell::new(None) };
}

/// Breaks the engine for this thread, or mends it.
#[cfg(feature = "broken-for-tests")]
pub fn choose(broken: Option<Broken>) {
    CHOSEN.set(broken);
}

#[cfg(feature = "broken-for-tests")]
pub(crate) fn is(broken: Broken) -> bool {
    CHOSEN.get() == Some(broken)
}

#[cfg(not(feature = "broken-for-tests"))]
#[inline(always)]
pub(crate) fn is(_broken: Broken) -> bool {
    false
}
