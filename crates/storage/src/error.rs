//! What can go wrong, with the place and what the user can do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{PageRef, TreeId};

/// The result of a storage operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A storage error. `sqlstate()` classifies it in PostgreSQL's terms; the display text says what, where, and what to do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// Something this transaction read was changed by a commit since it began. Retry it.
    Conflict,
    /// The file system refused; nothing of the operation stays.
    Io {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        error: Arc<io::Error>,
    },
    /// The disk, or the log's limit, has no room for this commit; the transaction failed, the database goes on.
    DiskFull {
        /// What was being done.
        what: &'static str,
        /// About how many bytes it takes, where that is known; else 0.
        needed: u64,
    },
    /// A write or sync of the log failed after the commit was in it: it may or may not survive. The database is
    /// read-only until it is reopened.
    OutcomeUnknown {
        /// What failed first.
        cause: String,
    },
    /// An earlier failure made the database read-only until it is reopened.
    Poisoned {
        /// What failed first.
        cause: String,
    },
    /// The file is not a CairnDB database.
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file needs a newer version of this library.
    NewerFormat {
        /// What the file has.
        found: u32,
        /// What this library knows.
        supported: u32,
    },
    /// A byte on disk is not what was written there.
    Corrupt {
        /// What, and where.
        what: String,
    },
    /// The database was not closed cleanly and its log is not there.
    MissingLog {
        /// The file.
        path: PathBuf,
    },
    /// The log beside the database belongs to another database, or to an older copy of this one.
    ForeignLog {
        /// The file.
        path: PathBuf,
    },
    /// Another process (or another handle in this one) has the database open.
    Busy {
        /// The file.
        path: PathBuf,
        /// The holder's process id, where it could be learned.
        pid: Option<u32>,
        /// Whoever has it only reads it: it can be opened read-only beside him.
        is_read: bool,
    },
    /// The database was opened read-only.
    ReadOnly,
    /// The path names nothing that can be opened as asked.
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: Arc<io::Error>,
    },
    /// No such tree, in this state of the database.
    NoSuchTree(TreeId),
    /// The key is longer than this page size allows.
    KeyTooLong {
        /// The key's bytes.
        length: usize,
        /// The most there may be.
        limit: usize,
    },
    /// A patch of a key that is not there, or beyond its value's end.
    BadPatch,
    /// Every page of the cache is in use by unfinished work; a larger cache or smaller transactions help.
    CacheFull,
    /// The process's address space has no room for the cache and its tables.
    NoMemory {
        /// What was asked for.
        bytes: usize,
    },
    /// Others have the memory that databases share ([`Memory`](crate::Memory)). Try again, or share more.
    MemoryTaken,
    /// The statement is too large for the point path; use a transaction.
    TooLarge,
    /// All snapshot slots are taken.
    TooManySnapshots {
        /// The most there may be.
        limit: usize,
    },
    /// The snapshot was older than `max_snapshot_age`, so its pages were given up. Begin a new one.
    SnapshotTooOld,
    /// The transaction was ended because the log, which keeps the operations of a large transaction until it ends, reached
    /// its limit (or the disk's). Split it, or raise `log_limit_bytes`.
    OutlivedLog,
    /// The transaction's changes have no room in the log, be there nothing else. Split it, or raise `log_limit_bytes`.
    LogTooSmall {
        /// Bytes of log that it takes, at the least.
        needed: u64,
        /// The most there may be.
        limit: u64,
    },
    /// The database has made as many trees (tables, indexes, and others of its own) as have a number. Copy it by dump and load.
    NoTreeNumber,
    /// The caller gave up waiting for others (a turn, or room in the log); nothing of the change or the commit stays.
    GivenUp,
    /// The caller asked not to be kept waiting, and would have been. Nothing was done.
    WouldWait,
    /// The transaction has more bytes of operations than `max_transaction_bytes` allows.
    TransactionTooLarge {
        /// The most there may be.
        limit: u64,
    },
    /// The snapshot, or the transaction that was read from, has ended.
    Ended,
    /// A position names no place in this database's log.
    NoSuchPosition {
        /// As it was told.
        position: String,
        /// Where it may be from.
        why: &'static str,
    },
    /// The database was closed.
    Closed,
    /// The database was opened by the process that this one was forked from: nothing of it can be used here.
    Forked,
    /// An option has a value that cannot work.
    BadOption(&'static str),
    /// Internal: the page is not in memory. Never leaves the crate, except through a point write's closure, which must
    /// pass it on.
    #[doc(hidden)]
    NotResident(PageRef),
}

impl Error {
    /// What can not be done where `max_pages` are in use.
    pub(crate) const NO_PAGE: &str = "allocate a page (max_pages reached)";

    /// Whether there are as many pages as there may be.
    pub(crate) fn is_of_pages(&self) -> bool {
        matches!(self, Error::DiskFull { what, .. } if *what == Error::NO_PAGE)
    }

    /// Says how much room is needed, where the file system had none.
    pub(crate) fn needing(self, bytes: u64) -> Error {
        match self {
            Error::DiskFull { what, needed: 0 } if what != Error::NO_PAGE => Error::DiskFull { what, needed: bytes },
            error => error,
        }
    }

    /// What a commit is told that is in the log's buffer, when the database fails before it is durable.
    pub(crate) fn of_appended_commit(self) -> Error {
        match self {
            Error::Poisoned { cause } => Error::OutcomeUnknown { cause },
            error => error,
        }
    }

    /// The PostgreSQL SQLSTATE code (appendix A of its manual) that fits.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Error::Conflict => "40001",
            Error::Io { .. } => "58030",
            Error::DiskFull { .. } => "53100",
            Error::OutcomeUnknown { .. } => "08007",
            Error::Poisoned { .. } | Error::ReadOnly => "25006",
            Error::NotADatabase { .. } | Error::NewerFormat { .. } => "58P01",
            Error::Corrupt { .. } | Error::MissingLog { .. } | Error::ForeignLog { .. } => "XX001",
            Error::Busy { .. } => "55006",
            Error::CannotOpen { error, .. } => of_opening(error.kind()),
            Error::NoSuchTree(_) => "42P01",
            Error::KeyTooLong { .. } | Error::TooLarge | Error::NoTreeNumber => "54000",
            Error::CacheFull | Error::NoMemory { .. } | Error::MemoryTaken => "53200",
            Error::TooManySnapshots { .. } => "53300",
            Error::SnapshotTooOld => "72000",
            Error::GivenUp => "57014",
            Error::WouldWait => "55P03",
            Error::TransactionTooLarge { .. } | Error::OutlivedLog | Error::LogTooSmall { .. } => "53400",
            Error::Ended | Error::Closed | Error::Forked | Error::NoSuchPosition { .. } => "55000",
            Error::BadOption(_) => "22023",
            Error::BadPatch | Error::NotResident(_) => "XX000",
        }
    }

    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::DiskFull { what, needed: 0 },
            _ => Error::Io { what, error: Arc::new(error) },
        }
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Error {
        Error::Corrupt { what: what.into() }
    }
}

/// What the path or its rights are the reason for is told apart from a system that fails.
fn of_opening(kind: io::ErrorKind) -> &'static str {
    use io::ErrorKind::*;
    match kind {
        NotFound | PermissionDenied | AlreadyExists | NotADirectory | IsADirectory | ReadOnlyFilesystem
        | InvalidInput | InvalidFilename | Unsupported => "58P01",
        StorageFull | QuotaExceeded => "53100",
        _ => "58030",
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Conflict => f.write_str("could not serialize access due to concurrent update"),
            Error::Io { what, error } => write!(f, "could not {what}: {}", said(error)),
            Error::DiskFull { what, .. } if self.is_of_pages() => {
                write!(f, "could not {what}: no space left; delete something, or raise the limit")
            }
            Error::DiskFull { what, needed: 0 } => write!(f, "could not {what}: no space left"),
            Error::DiskFull { what, needed } => {
                write!(f, "could not {what}: no space left; about {} kB are needed", needed.div_ceil(1 << 10))
            }
            Error::OutcomeUnknown { cause } => write!(
                f,
                "the outcome of this commit is unknown: {cause}; the database is read-only until it is reopened, which settles it"
            ),
            Error::Poisoned { cause } => {
                write!(f, "the database is read-only until it is reopened, after a failure: {cause}")
            }
            Error::NotADatabase { path } => write!(f, "\"{}\" is not a CairnDB database", path.display()),
            Error::NewerFormat { found, supported } => {
                write!(f, "the database has format {found}, this library reads up to {supported}: use a newer one")
            }
            Error::Corrupt { what } => write!(f, "corrupt database: {what}"),
            Error::MissingLog { path } => write!(
                f,
                "the database was not closed cleanly and its log \"{}\" is missing; put it back, or salvage the database without it",
                path.display()
            ),
            Error::ForeignLog { path } => write!(
                f,
                "the log \"{}\" does not belong to this database; put the right one back, or salvage the database without it",
                path.display()
            ),
            // Another container's process may have the same number.
            Error::Busy { path, pid: Some(pid), .. } if *pid == std::process::id() => write!(
                f,
                "database \"{}\" is in use by process {pid}, this one's number: a handle of it is open here, or in another container",
                path.display()
            ),
            Error::Busy { path, pid: Some(pid), .. } => {
                write!(f, "database \"{}\" is in use by process {pid}", path.display())
            }
            Error::Busy { path, pid: None, .. } => write!(f, "database \"{}\" is in use", path.display()),
            Error::ReadOnly => f.write_str("the database was opened read-only"),
            Error::CannotOpen { path, error } => write!(f, "could not open \"{}\": {}", path.display(), said(error)),
            Error::NoSuchTree(tree) => write!(f, "tree {} does not exist", tree.number()),
            Error::KeyTooLong { length, limit } => {
                write!(f, "key of {length} bytes exceeds the limit of {limit} bytes")
            }
            Error::BadPatch => f.write_str("patch of a missing or shorter value"),
            Error::CacheFull => f.write_str("every page of the cache is in use; raise cache_bytes"),
            Error::NoMemory { bytes } => write!(
                f,
                "there is no room in the process's address space for a cache of {bytes} bytes and its tables; lower cache_bytes, or raise the limit (ulimit -v)"
            ),
            Error::MemoryTaken => f.write_str(
                "others have the memory that the process's databases share; try again, or share more (Memory::shared, memory.cache_bytes)",
            ),
            Error::TooLarge => f.write_str("too large for a point write"),
            Error::TooManySnapshots { limit } => write!(f, "more than {limit} snapshots, transactions and cursors are open; end some of them, or raise max_snapshots"),
            Error::SnapshotTooOld => f.write_str(
                "snapshot too old: it was held for longer than max_snapshot_age; run the query or transaction again, or raise the limit",
            ),
            Error::WouldWait => f.write_str("the operation would have had to wait"),
            Error::GivenUp => f.write_str("canceling the statement: it had to wait for others, and was interrupted or may take no longer"),
            Error::OutlivedLog => f.write_str(
                "the transaction was ended: its changes are kept in the log until it ends, and the log could not grow any more (log_limit_bytes, or the disk is full); split it, commit it sooner, or make room",
            ),
            Error::NoTreeNumber => f.write_str(
                "the database has given all numbers that tables and indexes can have; dump it and load that into a new one",
            ),
            Error::LogTooSmall { needed, limit } => write!(
                f,
                "the transaction's changes take at least {} MB of the log, which is limited to {} MB (log_limit_bytes); split it, or raise the limit",
                needed.div_ceil(1_000_000),
                limit / 1_000_000
            ),
            Error::TransactionTooLarge { limit } => write!(
                f,
                "the transaction has more than max_transaction_bytes ({limit}) of changes; split it, or raise the limit"
            ),
            Error::Ended => f.write_str("the transaction or snapshot has ended"),
            Error::NoSuchPosition { position, why } => write!(f, "position {position} is not one of this database: {why}"),
            Error::Closed => f.write_str("the database is closed"),
            Error::Forked => f.write_str(
                "the database was opened before fork(), by the parent of this process, and can not be used in the child; fork before it is opened, or drop it here and open it again once the parent has closed it",
            ),
            Error::BadOption(what) => write!(f, "bad option: {what}"),
            Error::NotResident(page) => write!(f, "page {} is not in memory", page.id),
        }
    }
}

/// What the system said. Of errors without a number, which this crate makes itself, the kind alone would say it in words that
/// speak of "entities".
fn said(error: &io::Error) -> String {
    let is_bare = error.raw_os_error().is_none() && error.get_ref().is_none();
    match error.kind() {
        io::ErrorKind::NotFound if is_bare => "there is no such file".into(),
        io::ErrorKind::AlreadyExists if is_bare => "it exists already, and is not overwritten".into(),
        _ => error.to_string(),
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { error, .. } | Error::CannotOpen { error, .. } => Some(error.as_ref()),
            _ => None,
        }
    }
}
