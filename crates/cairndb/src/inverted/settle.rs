//! Notes go into lists.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cairn_storage::{Error as StorageError, Losses, Reader, Store, Transaction, TreeId};

use super::ITEM_BYTES;
use super::postings::{BYTES_MAX, HAS, LIST, List, NOTE, ROWS_MAX, damaged, each_row, entry_key};
use crate::Result;
use crate::types::key::prefix_end;

/// So many notes are worth a round.
const DUE: usize = 4096;
/// Notes that one transaction takes in, so that it is short.
const STEP: usize = 256;
/// A step that lost so often is left for the next round.
const TRIES: u32 = 4;

/// About how many notes were written since they went into lists.
#[derive(Clone, Default)]
pub(crate) struct Unsettled(Arc<AtomicUsize>);

impl fmt::Debug for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unsettled")
    }
}

impl Unsettled {
    pub(crate) fn add(&self, notes: usize) {
        self.0.fetch_add(notes, Ordering::Relaxed);
    }

    /// Whether a round is due, which is the caller's then.
    pub(crate) fn take_due(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= DUE && self.0.swap(0, Ordering::Relaxed) >= DUE
    }
}

/// Puts all notes that there are into lists, step by step; ends early where `gives_up` says so.
pub(crate) fn settle(store: &Store, tree: TreeId, gives_up: &dyn Fn() -> bool) -> Result<()> {
    let mut from = vec![NOTE];
    let (mut lost, mut tries) = (Losses::default(), 0);
    while !gives_up() {
        let transaction = match lost.times() {
            0 => store.begin()?,
            _ => store.begin_after_unless(&lost, gives_up)?,
        };
        let next = match settle_step(&transaction, tree, &from) {
            // The index is gone.
            Err(StepError::Storage(StorageError::NoSuchTree(_))) => return Ok(()),
            next => next?,
        };
        let Some(next) = next else { return Ok(()) };
        match transaction.commit_or_note(None, &mut lost, gives_up) {
            Ok(_) => {
                (lost, tries) = (Losses::default(), 0);
                from = next;
            }
            Err(StorageError::Conflict) if tries < TRIES => tries += 1,
            Err(StorageError::Conflict | StorageError::GivenUp) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

enum StepError {
    Storage(StorageError),
    Other(crate::Error),
}

impl From<StorageError> for StepError {
    fn from(error: StorageError) -> StepError {
        StepError::Storage(error)
    }
}

impl From<StepError> for crate::Error {
    fn from(error: StepError) -> crate::Error {
        match error {
            StepError::Storage(error) => error.into(),
            StepError::Other(error) => error,
        }
    }
}

/// A note: the item, the row, and whether that has it.
type Note = (Vec<u8>, Vec<u8>, bool);

/// Puts the notes from a key on into lists; the key behind them, or none where there are none.
fn settle_step(transaction: &Transaction, tree: TreeId, from: &[u8]) -> Result<Option<Vec<u8>>, StepError> {
    let reader = transaction.reader();
    let mut notes: Vec<Note> = vec![];
    let mut cursor = reader.cursor(tree, Bound::Included(from), Bound::Excluded(&[NOTE + 1]))?;
    while notes.len() < STEP {
        let Some((key, value)) = cursor.next()? else { break };
        let (item, row) = key[1..].split_at_checked(ITEM_BYTES).ok_or_else(|| StepError::Other(damaged()))?;
        notes.push((item.to_vec(), row.to_vec(), value == HAS));
    }
    drop(cursor);
    let Some((item, row, _)) = notes.last() else { return Ok(None) };
    let mut key = vec![];
    entry_key(NOTE, item, row, &mut key);
    key.push(0);
    let next = key.clone();
    for of_item in notes.chunk_by(|(a, ..), (b, ..)| a == b) {
        let mut rest = of_item;
        while !rest.is_empty() {
            rest = merge(transaction, reader, tree, rest)?;
        }
    }
    for (item, row, _) in &notes {
        entry_key(NOTE, item, row, &mut key);
        transaction.delete(tree, &key)?;
    }
    Ok(Some(next))
}

/// Puts the first of an item's notes, all that go there, into the list where they belong; those that are left.
fn merge<'n>(
    transaction: &Transaction,
    reader: &Reader,
    tree: TreeId,
    notes: &'n [Note],
) -> Result<&'n [Note], StepError> {
    let (item, row, _) = &notes[0];
    let (mut low, mut high) = (vec![], vec![LIST]);
    entry_key(LIST, item, row, &mut low);
    high.extend_from_slice(item);
    let first = high.clone();
    let high = prefix_end(&high);
    let high = high.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let kept = |(key, list): (&[u8], &[u8])| (key.to_vec(), list.to_vec());
    let found = reader.cursor(tree, Bound::Included(&low), high)?.next()?.map(kept);
    let is_behind = found.is_none();
    let found = match found {
        // Behind all lists: into the last one, if that is short.
        None => reader.cursor(tree, Bound::Included(&first), high)?.prev()?.map(kept),
        found => found,
    };
    let taken = match &found {
        Some((key, _)) if !is_behind => notes.partition_point(|(_, row, _)| row.as_slice() <= &key[1 + ITEM_BYTES..]),
        _ => notes.len(),
    };
    let (taken, rest) = notes.split_at(taken);
    let mut rows = BTreeSet::new();
    let found = found.filter(|(_, list)| !is_behind || list.len() < BYTES_MAX / 2);
    if let Some((_, list)) = &found {
        let add = |row: &[u8]| {
            rows.insert(row.to_vec());
        };
        each_row(list, add).map_err(StepError::Other)?;
    }
    for (_, row, has) in taken {
        match has {
            true => rows.insert(row.clone()),
            false => rows.remove(row),
        };
    }
    if let Some((key, _)) = &found
        && rows.last().is_none_or(|last| *last != key[1 + ITEM_BYTES..])
    {
        transaction.delete(tree, key)?;
    }
    // Rows behind all others come again and again: full lists are left behind. Others make room on both sides.
    let bytes: usize = rows.len() * 4;
    let pieces = rows.len().div_ceil(ROWS_MAX).max(bytes.div_ceil(BYTES_MAX)).max(1);
    let each = if is_behind { usize::MAX } else { rows.len().div_ceil(pieces) };
    let (mut list, mut key, count) = (List::default(), vec![], rows.len());
    for (at, row) in rows.iter().enumerate() {
        list.push(row);
        if list.is_full() || list.rows >= each || at + 1 == count {
            entry_key(LIST, item, row, &mut key);
            transaction.put(tree, &key, &list.bytes)?;
            list.clear();
        }
    }
    Ok(rest)
}
