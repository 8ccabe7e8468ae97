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
    /// A commit is acknowledged before it is durable.
    AcknowledgeEarly,
    /// A commit counts as durable, and its committer goes on, before readers see it.
    WakeBeforePublish,
    /// An answer that changes nothing does not wait for what it rests on.
    AnswerEarly,
    /// Who learns of a failure does not tell others who wait.
    FailureUntold,
    /// Who watches is not told what a batch changed.
    WatchersForgotten,
    /// What a sleeping watcher compares with is moved on past what is something to him.
    WatcherMovedPast,
    /// Who watches is told of states that are not durable yet.
    WatchedUndurable,
    /// Nobody is woken to write the next batch.
    NoNextLeader,
    /// The block that two batches share is written with the first one's header unfinished.
    TailUnsealed,
    /// A checkpoint is made of a version that the log does not have durably yet.
    CheckpointUndurable,
    /// The meta page is written before the pages that it names are synced.
    MetaBeforePages,
    /// A checkpoint lets go of log that was written since it began.
    LogReset,
    /// A failed sync is tried again, and believed.
    SyncRetried,
    /// The newest meta page is overwritten, not the older one.
    MetaInPlace,
    /// A checkpoint does not name what is still to be freed.
    DropsUnlisted,
    /// A point write that fails keeps its changes.
    UndoForgotten,
    /// Ranges in which nothing was found do not count as read.
    EmptyRanges,
    /// Nothing counts as read.
    Reads,
    /// What was read of the catalog does not count.
    SchemaVersions,
    /// A dropped tree may have been changed meanwhile.
    DropConflicts,
    /// Pages that a savepoint keeps are changed in place.
    SealedChanged,
    /// Rolling back to a savepoint restores only the first tree.
    SavepointKeepsTrees,
    /// Rolling back to a savepoint keeps the operations.
    SavepointKeepsOperations,
    /// Rolling back to a savepoint keeps what a short transaction wrote since.
    SavepointKeepsList,
    /// Rolling back to a savepoint keeps what was appended since.
    SavepointKeepsAppends,
    /// Who reads what it has added to an entry of others' does not rest on it.
    SumsUnread,
    /// What is added again to a newer state is added to nothing.
    AddsForget,
    /// Recovery makes additions again that the checkpoint holds.
    AddsAgain,
    /// Recovery takes the last of several additions to an entry for all of them.
    AddsMerged,
    /// Who waits for what is appended is not told.
    AppendsUntold,
    /// Who takes what was appended takes what is not durable, too.
    AppendsUndurable,
    /// Recovery puts what was appended where the record begins.
    AppendsMisplaced,
    /// Batches of earlier uses of the log's space pass for new ones.
    StaleBatches,
    /// A batch's checksum is not looked at.
    TornBatches,
    /// The log's name is not made durable.
    LogUnnamed,
    /// The log is used beyond the length that is durable.
    ExtensionUnsynced,
    /// What takes a dropped tree apart frees pages that are another's by now.
    UsedAgainEntered,
    /// A checkpoint's own pages are not told from those of its version.
    ListsUnmarked,
    /// Pages are used again under snapshots.
    ReuseUnderSnapshot,
    /// Pages of a dropped tree are used again under snapshots and checkpoints.
    DroppedUnderSnapshot,
    /// A page's id is used again while it is being written.
    FreedInFlight,
    /// Frames are used again under readers.
    FramesUnderReaders,
    /// A cache gives memory to others though it brings it more.
    MemoryGrabbed,
    /// Memory of the cache goes back to the system though somebody has a frame of it.
    ChunkInUse,
    /// A reader does not look again whether the version it registered with is still the newest.
    NoRecheck,
    /// The log of unfinished large transactions is let go of.
    PartsReleased,
    /// Closing removes the log before the file has all of it.
    LogRemovedFirst,
    /// A new epoch is used before the meta page names it.
    EpochUnannounced,
    /// What recovery found is not made durable.
    RecoveryUnsettled,
    /// The older meta page is gone by.
    MetaFallback,
    /// An ended snapshot's pages are let go of without waiting for who looks at them.
    EndedUnpinned,
    /// Who looks at a snapshot's pages is not told that it was ended.
    EndedUntold,
    /// Bytes that arrive after their page's id became another's stay under it.
    LateBytes,
    /// A free map may be made of half of what is being freed.
    HalfRetired,
    /// Commits do not wait for whoever has a turn.
    TurnUnseen,
    /// The end of a turn wakes nobody who waits for it.
    TurnKept,
    /// Whoever publishes what was taken back publishes a commit whose write failed, too.
    UndurablePublished,
    /// A damaged batch where recovery begins is passed over.
    PassedOver,
    /// A backup copies each tree as it is when its turn comes.
    BackupTorn,
    /// A backup ends without the last step of each tree.
    BackupShort,
    /// Compaction moves pages, and leaves the root where it was.
    CompactRootKept,
    /// A file is cut one page too short.
    CutTooShort,
    /// Pages that are read ahead are not checked.
    AheadUnchecked,
    /// Dirty pages go from the cache without having been written.
    EvictedDirty,
    /// Waiting for a pipelined commit does not wait.
    TicketEarly,
    /// Rolling back to a savepoint forgets what was read.
    SavepointForgetsReads,
    /// Who gives a page to eviction gives whatever page has its frame by then.
    AnothersFrame,
    /// Who looks at pages may do so before others see that he does.
    PinUnfenced,
    /// Who closes leaves the threads that are at work.
    ThreadsLeft,
    /// Checkpoints are made of a database that is closed by now.
    CheckpointAfterClose,
    /// Validation outside the commit lock begins again after each page that it missed.
    ValidationForgets,
    /// The database's path stays as it was given.
    PathAsGiven,
    /// The engine has no slots of its own.
    EngineWithoutSlots,
    /// After a panic in the middle of a change everybody panics.
    PanicsSpread,
    /// A dirty page that can not be written fails who needs a frame, although there are clean ones.
    FullDiskFailsReads,
    /// A transaction whose operations the log gave up is told what it reads in their place.
    GivenUpAsDamage,
    /// A transaction takes parts that the log gave up for still there.
    GivenUpUnnoticed,
    /// There is no end of the numbers of trees.
    TreesUncounted,
    /// What a copy says of the number of trees is believed.
    TreesUnchecked,
    /// Who finds no page id does not look whether a checkpoint would let go of some.
    FullForGood,
    /// Who frees pages finds no more ids than who needs more.
    IdsUnkept,
    /// A checkpoint finds no more ids than others.
    ListsUnkept,
    /// Parts that a commit sends may be given up like those that are sent ahead.
    CommitGivenUp,
    /// Nobody waits for the segments that a commit under way still needs.
    LogUnkept,
    /// What a commit was promised of the log stays promised when it is done.
    PromiseKept,
    /// Who came last is first of those who wait for room in the log.
    LineReversed,
    /// Who waits for room in the log waits on, whatever his caller says.
    RoomForEver,
    /// Who waits for room in the log before he commits does not ask whether he may.
    PatienceUnasked,
    /// Every commit looks at all slots.
    SlotsLookedAtAlways,
    /// Who extends the log uses the leader's open file, and keeps to itself what it is told.
    GrowUnheard,
    /// Who cuts the file syncs it beside checkpoints, and keeps to himself what he is told.
    CutUnheard,
    /// A write changes what is read by who began before it.
    ReadUnfrozen,
    /// Ids taken for a checkpoint that there are too few for are never given back.
    CheckpointIdsLeak,
    /// An operation that moved entries leaves the place that was known before.
    PlaceKept,
    /// The entry that follows is taken for that of the next key.
    NextUnchecked,
    /// A run of removals takes whatever has the place of what is gone for the next key's entry.
    RunByPlace,
    /// Moving a short transaction's list to pages does not spill.
    ListUnspilled,
    /// Salvage takes entries that may have been deleted for those that are there.
    SalvageRaisesDead,
    /// The lists of a checkpoint, with the copy of the catalog, lie wherever pages are free.
    CatalogTogether,
    /// A check counts pages as lost that a publication under way is about to free.
    VerifiedUnburied,
    /// New pages take the frames that are kept for who reads.
    ReadersStarved,
    /// A meta page that can not be read is taken for one that is not there.
    MetaUnreadable,
    /// Recovery writes pages before it knows that log and meta page belong together.
    WrittenUnchecked,
    /// Closing removes whatever has the log's name.
    RemovedByName,
    /// Who gives the lock back removes whatever has the lock file's name.
    LockRemovedByName,
    /// A database that was made just now is not locked itself.
    FreshUnlocked,
    /// A backup takes the place of what got its name meanwhile.
    BackupOverwrites,
    /// A backup removes whatever has the name that it is made under first.
    BackupTakesName,
    /// Who makes a new database removes what another is making.
    BegunTaken,
    /// A backup lets its lock go before it opens its file.
    BackupUnlocked,
    /// An opening after a crash has the number of the one before.
    OpeningKept,
    /// What was told by an earlier opening is compared as a bare number.
    PositionsBare,
    /// The log is written in segments of the size that is asked for, whatever it has.
    SegmentsAsAsked,
    /// The log keeps what could not be filled, and what is ready in it, where the disk is full.
    LogKeepsAll,
    /// The file keeps what is free in it, where the disk is full.
    FileKeepsAll,
    /// What is given back of the file on a full disk is also what died, but is held by a checkpoint or a snapshot.
    HolesInUse,
    /// The log is cut before header and meta pages say so.
    CutUnnoted,
    /// The log is cut by a segment that is in use.
    CutInUse,
    /// Where the disk is full the log grows before a checkpoint could be made.
    GrowsFirst,
    /// The log's limit is counted in whole segments of those that it has, be there room for none.
    LogLimitAsAsked,
    /// Copies of a database, and what is salvaged of it, have no room for values that its log could not take now.
    CopiesLimited,
    /// Pages are taken to be of the size that is asked for, whatever the file has.
    PagesAsAsked,
    /// Who only reads, and recovers, writes what he recovers to the file.
    ReadOnlyWrites,
    /// What a list of trees shares with others is used again although a snapshot has it.
    TreesUnderSnapshot,
    /// A waker that panics does so in whoever wakes it.
    WakersSpread,
    /// Wakers stay where their listener has gone.
    WakersKept,
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

/// What is left out on this thread, to be passed on to others.
#[cfg(feature = "broken-for-tests")]
pub fn chosen() -> Option<Broken> {
    CHOSEN.get()
}

/// Runs a test with the engine broken on this thread: it must fail.
#[cfg(feature = "broken-for-tests")]
#[track_caller]
pub fn must_be_caught(what: Broken, test: impl FnOnce()) {
    choose(Some(what));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
    choose(None);
    assert!(caught.is_err(), "{what:?} was not noticed");
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
