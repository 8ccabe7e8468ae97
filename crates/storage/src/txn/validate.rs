//! Validation: whether anything that a transaction read was changed since.
//!
//! Two states are compared, tree by tree, in the ranges that were read. The walk goes from one entry that differs to the
//! next range that was read, so it costs no more than the smaller of what was read and what was committed between the
//! two states; the first entry that differs within a range ends it.
//!
//! - Outside the commit lock the newest published state is compared with the one that was valid so far. The walk keeps
//!   its place over misses and works in pieces, so it fits in the cache and ends, whatever differs and whoever commits.
//! - Under the lock the latest state is compared with that, and no more than [`UNDER_LOCK`] pages of it.

use crate::broken::{self, Broken};
use crate::engine::{Bounds, Engine, Noted, Reads, Trees, is_before, is_behind};
use crate::page::{PageRef, Pages, Pin, SlotId};
use crate::tree::{Difference, Next, differs_at};
use crate::{Error, Result, TreeId};

/// Pages of a tree entered in one piece, outside the commit lock: for so long nobody gets back memory that was evicted.
const PIECE: u64 = 256;
/// Pages entered under the commit lock before it is released again.
const UNDER_LOCK: u64 = 64;

/// How far a validation under the commit lock may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// A little, on pages that are in memory.
    Little,
    /// Until it is done, loading pages: for who was overtaken too often.
    Whatever,
}

/// Fails with a conflict if what was read differs between the two states. Not under the commit lock; both states are
/// held.
pub(super) fn validate(engine: &Engine, slot: SlotId, reads: &Noted<'_>, from: &Trees, to: &Trees) -> Result<()> {
    for check in checks(reads, from, to) {
        check?.run_to_end(engine, slot)?;
    }
    Ok(())
}

/// As [`validate`], under the commit lock, against the latest state. False: that takes more than a little.
pub(super) fn validate_latest(
    engine: &Engine,
    slot: SlotId,
    reads: &Noted<'_>,
    (from, to): (&Trees, &Trees),
    effort: Effort,
) -> Result<bool> {
    let mut allowed = UNDER_LOCK;
    for check in checks(reads, from, to) {
        let mut check = check?;
        match effort {
            Effort::Whatever => check.run_to_end(engine, slot)?,
            Effort::Little => {
                check.difference.allow(allowed);
                let pin = engine.pages.slots.pin(slot)?;
                if !check.run(&engine.pages, &pin)? {
                    return Ok(false);
                }
                allowed -= check.difference.entered().min(allowed);
            }
        }
    }
    Ok(true)
}

/// As [`validate_latest`], of a few keys: each is looked up in both states, and nothing is sorted. False: it is more than that.
pub(super) fn validate_few(engine: &Engine, slot: SlotId, reads: &Reads, (from, to): (&Trees, &Trees)) -> Result<bool> {
    let Some(points) = reads.few_points() else { return Ok(false) };
    if reads.range_trees().any(|tree| from.root(tree) != to.root(tree)) {
        return Ok(false);
    }
    let pin = engine.pages.slots.pin(slot)?;
    for (tree, key) in points {
        let Some(older) = from.root(tree).filter(|_| !is_unchecked(tree)) else { continue };
        let newer = to.root(tree).ok_or_else(|| Error::Conflict)?;
        if differs_at(&engine.pages, &pin, older, newer, key)? {
            return Err(Error::Conflict);
        }
    }
    Ok(true)
}

fn is_unchecked(tree: TreeId) -> bool {
    broken::is(Broken::Reads) || (tree == TreeId::CATALOG && broken::is(Broken::SchemaVersions))
}

/// One for each tree of which something was read and that is another one now.
fn checks<'n>(reads: &'n Noted<'_>, from: &Trees, to: &Trees) -> impl Iterator<Item = Result<Check<'n>>> {
    let all_stand = reads.trees().all(|tree| from.root(tree) == to.root(tree));
    let moved: &'n [(TreeId, Bounds<'n>)] = if all_stand { &[][..] } else { reads.sorted() };
    let of_one_tree = moved.chunk_by(|a, b| a.0 == b.0);
    of_one_tree.filter_map(|ranges| {
        let tree = ranges[0].0;
        // A tree that is not in the older state is the transaction's own.
        let older = from.root(tree).filter(|_| !is_unchecked(tree))?;
        match to.root(tree) {
            None => Some(Err(Error::Conflict)),
            Some(newer) if newer == older => None,
            Some(newer) => Some(Ok(Check::new(ranges, older, newer))),
        }
    })
}

/// The comparison of one tree.
struct Check<'r> {
    /// What is left of the ranges.
    ranges: &'r [(TreeId, Bounds<'r>)],
    difference: Difference,
    /// For one that forgets its place.
    #[cfg(feature = "broken-for-tests")]
    whole: (&'r [(TreeId, Bounds<'r>)], PageRef, PageRef),
}

impl<'r> Check<'r> {
    fn new(ranges: &'r [(TreeId, Bounds<'r>)], older: PageRef, newer: PageRef) -> Check<'r> {
        let (lower, upper) = (ranges[0].1.0, ranges[ranges.len() - 1].1.1);
        Check {
            ranges,
            difference: Difference::new(older, newer, lower, upper),
            #[cfg(feature = "broken-for-tests")]
            whole: (ranges, older, newer),
        }
    }

    /// Goes on where it stopped; false if it paused before the end. All pages that it needs now must be in memory.
    fn run(&mut self, pages: &Pages, pin: &Pin<'_>) -> Result<bool> {
        loop {
            let key = match self.difference.next(pages, pin)? {
                Next::End => return Ok(true),
                Next::Paused => return Ok(false),
                Next::Changed(changed) => changed.key,
            };
            let passed = self.ranges.partition_point(|(_, range)| is_behind(key, range));
            self.ranges = &self.ranges[passed..];
            match self.ranges.first() {
                None => return Ok(true),
                Some((_, range)) if is_before(key, range) => self.difference.go_to(range.0),
                Some(_) => return Err(Error::Conflict),
            }
        }
    }

    /// As `run`, which keeps its place where a page is missing.
    fn run_onward(&mut self, pages: &Pages, pin: &Pin<'_>) -> Result<bool> {
        let result = self.run(pages, pin);
        #[cfg(feature = "broken-for-tests")]
        if matches!(result, Err(Error::NotResident(_))) && broken::is(Broken::ValidationForgets) {
            *self = Check::new(self.whole.0, self.whole.1, self.whole.2);
        }
        result
    }

    /// Goes on to the end, loading what it needs.
    fn run_to_end(&mut self, engine: &Engine, slot: SlotId) -> Result<()> {
        loop {
            self.difference.allow(PIECE);
            match engine.with_pages_onward(slot, self, |check| check.difference.entered(), Check::run_onward) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
