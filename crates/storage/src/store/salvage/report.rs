//! What a salvage found.

use super::reasons::{Fault, Reasons};
use super::target::Uncertain;
use crate::TreeId;

/// What a salvage found.
#[derive(Debug, Default)]
pub struct Salvage {
    /// Entries in the new database, those of derived trees not counted.
    pub entries: u64,
    /// Damaged pages whose content was known from elsewhere: nothing of them is lost.
    pub pages_replaced: u64,
    /// What is missing.
    pub losses: Vec<Loss>,
    /// What else is to be known: of the log, the meta pages, the lists.
    pub notes: Vec<String>,
    /// Entries of which it can not be told whether they were deleted, or never committed.
    pub uncertain: Option<Uncertain>,
}

/// Something that is missing in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Whose it was.
    pub tree: TreeId,
    /// What it was.
    pub what: Lost,
    /// Why it is lost.
    pub why: Reasons,
}

/// What is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// All entries with keys from `from` up to, but not including, `to` (`None`: all that follow).
    Range {
        /// The first key that may be missing.
        from: Vec<u8>,
        /// The first that is not.
        to: Option<Vec<u8>>,
    },
    /// Some entries in such a range: others of it were saved.
    Part {
        /// The first key that may be missing.
        from: Vec<u8>,
        /// The first that is not.
        to: Option<Vec<u8>>,
    },
    /// The entry of this key: its value is longer than its page, and one of the pages that hold it is damaged.
    Entry(Vec<u8>),
}

/// Why it can not be told whether an entry is live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It lies in a whole page that nothing refers to which is left, and the free map is lost.
    Unreferenced,
    /// A commit behind the damaged part of the log wrote it. What is in the new database is older.
    WrittenLater,
    /// A commit behind the damaged part of the log changed some bytes of it; the others are as they were before the
    /// damage.
    ChangedLater,
    /// A commit behind the damaged part of the log deleted it. The new database has it.
    DeletedLater,
}

impl Loss {
    /// Whether the key's entry may be among what is missing.
    pub(super) fn covers(&self, tree: TreeId, key: &[u8]) -> bool {
        let is_it = match &self.what {
            Lost::Range { from, to } | Lost::Part { from, to } => {
                from.as_slice() <= key && to.as_deref().is_none_or(|to| key < to)
            }
            Lost::Entry(lost) => lost == key,
        };
        self.tree == tree && is_it
    }
}

impl Doubt {
    pub(super) const ALL: [Doubt; 4] =
        [Doubt::Unreferenced, Doubt::WrittenLater, Doubt::ChangedLater, Doubt::DeletedLater];
}

impl Salvage {
    /// Notes that a range of a tree is lost, or a part of it.
    pub(super) fn lost(&mut self, tree: TreeId, what: Lost, why: impl Into<Fault>) {
        self.losses.push(Loss { tree, what, why: why.into().into() });
    }
}
