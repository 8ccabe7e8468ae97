//! Positions that commits were told, and what becomes of them when the database is opened again.
//!
//! What must hold: that of a commit which is there is known, and reached; that of one which a crash took is refused, whatever was
//! committed since: who waits for it is not told that it came. Of so many unclean ends ago it need not be known.

use std::collections::HashMap;
use std::time::Duration;

use cairn_storage::{Error, Position, Store};

use crate::history::{History, Txn};
use crate::rows::Shared;
use crate::scheduler;
use crate::value::{Op, Register};

/// The newest are asked about.
const ASKED: usize = 150;
/// Unclean ends after which a position may be unknown.
const KNOWN: u32 = 8;

/// A commit, its position as it was told, and how often somebody had opened the database by then.
pub(crate) type Told = (Txn, Position, u32);

/// Notes a commit's place.
pub(crate) fn note(history: &Shared, store: &Store, txn: Txn, place: u64) {
    let mut history = history.borrow_mut();
    let openings = history.openings;
    if history.told.len() >= 2 * ASKED {
        history.told.drain(..ASKED);
    }
    history.told.push((txn, store.told(place), openings));
}

/// Asks a database that was just opened, of which `recovery` has read everything. How many it was right to refuse.
pub(crate) fn ask(history: &Shared, recovery: Txn, store: &Store) -> u64 {
    let history = history.borrow();
    let found: HashMap<Register, Op> = history.txns[recovery].reads.iter().copied().collect();
    let asked = &history.told[history.told.len().saturating_sub(ASKED)..];
    asked.iter().filter(|told| is_lost(&history, &found, told, store)).count() as u64
}

fn is_lost(history: &History, found: &HashMap<Register, Op>, (txn, told, openings): &Told, store: &Store) -> bool {
    let Some(is_there) = is_there(history, found, *txn) else { return false };
    let known = store.place_of(told).and_then(|place| store.wait_visible(place, Some(Duration::ZERO), &|| false));
    let is_old = history.openings - openings >= KNOWN;
    match (known, is_there) {
        (Ok(true), true) => false,
        (Err(Error::NoSuchPosition { .. }), false) => true,
        (Err(Error::NoSuchPosition { .. }), true) if is_old => false,
        (known, _) => {
            let state = if is_there { "is there" } else { "a crash took" };
            scheduler::current().fail(format!("the position {told} of commit {txn}, which {state}: {known:?}"))
        }
    }
}

/// Whether what was read has what a transaction did; `None`: of its places nothing was read.
fn is_there(history: &History, found: &HashMap<Register, Op>, txn: Txn) -> Option<bool> {
    history.txns[txn].writes.iter().find_map(|&op| {
        let write = &history.writes[op as usize];
        let mut at = *found.get(&write.register).filter(|_| !write.undone)?;
        while at != op && at != 0 {
            at = history.writes[at as usize].replaced;
        }
        Some(at == op)
    })
}
