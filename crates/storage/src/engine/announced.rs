//! What a turn's owner announced: ranges of keys, by tree, that other commits look their keys up in.
//!
//! What must hold:
//! - Looking a key up, and adding a range, take logarithmic time: both happen under the commit lock.
//! - However much is announced takes a bounded number of ranges. Beyond it neighbours are joined: more than what was
//!   announced is covered then, never less.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::reads::{Bounds, KeyRange, is_behind, is_below, lower_order, upper_is_below};
use crate::TreeId;

/// Ranges kept before neighbours are joined.
const RANGES: usize = 16 << 10;

/// Where a range begins, in the order of beginnings.
type Lower = (TreeId, u8, Box<[u8]>, u8);

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct Announced {
    /// Disjoint; of each its end.
    ranges: BTreeMap<Lower, Bound<Box<[u8]>>>,
    /// How many joining could not take away, being of too many trees.
    scattered: usize,
}

fn lower(tree: TreeId, bound: Bound<&[u8]>) -> Lower {
    let (kind, key, side) = lower_order(bound);
    (tree, kind, key.into(), side)
}

fn bound_of(lower: &Lower) -> Bound<&[u8]> {
    match lower {
        (_, 0, ..) => Bound::Unbounded,
        (_, _, key, 0) => Bound::Included(key),
        (_, _, key, _) => Bound::Excluded(key),
    }
}

impl Announced {
    /// Of ranges by tree and key, disjoint.
    pub(super) fn of(sorted: Vec<(TreeId, KeyRange)>) -> Announced {
        let entry = |(tree, range): (TreeId, KeyRange)| {
            let (from, to) = range.bounds();
            (lower(tree, from), to.map(Box::from))
        };
        Announced { ranges: sorted.into_iter().map(entry).collect(), scattered: 0 }
    }

    pub(super) fn add(&mut self, tree: TreeId, (from, to): Bounds<'_>) {
        let (mut first, mut last) = (lower(tree, from), to.map(Box::from));
        if let Some((before, end)) = self.ranges.range(..=&first).next_back().filter(|(before, _)| before.0 == tree)
            && !is_below(borrowed(end), from)
        {
            first = before.clone();
        }
        while let Some((next, end)) = self.ranges.range(&first..).next().filter(|(next, _)| next.0 == tree)
            && !is_below(borrowed(&last), bound_of(next))
        {
            if upper_is_below(borrowed(&last), borrowed(end)) {
                last = end.clone();
            }
            let next = next.clone();
            self.ranges.remove(&next);
        }
        self.ranges.insert(first, last);
        if self.ranges.len() > RANGES + 2 * self.scattered {
            self.join();
        }
    }

    /// Joins neighbours of a tree, so that about half as many are left.
    #[cold]
    fn join(&mut self) {
        let mut joined: BTreeMap<Lower, Bound<Box<[u8]>>> = BTreeMap::new();
        let mut is_alone = false;
        for (next, end) in std::mem::take(&mut self.ranges) {
            match joined.last_entry().filter(|last| is_alone && last.key().0 == next.0) {
                Some(mut last) => {
                    last.insert(end);
                    is_alone = false;
                }
                None => {
                    joined.insert(next, end);
                    is_alone = true;
                }
            }
        }
        self.scattered = joined.len().saturating_sub(RANGES / 4 * 3);
        self.ranges = joined;
    }

    pub(super) fn covers(&self, tree: TreeId, key: &[u8]) -> bool {
        let before = self.ranges.range(..=lower(tree, Bound::Included(key))).next_back();
        before.is_some_and(|(first, end)| first.0 == tree && !is_behind(key, &(bound_of(first), borrowed(end))))
    }

    pub(super) fn has_any_of(&self, tree: TreeId) -> bool {
        self.ranges.range(lower(tree, Bound::Unbounded)..).next().is_some_and(|(first, _)| first.0 == tree)
    }
}

fn borrowed(bound: &Bound<Box<[u8]>>) -> Bound<&[u8]> {
    bound.as_ref().map(|key| &key[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: TreeId = TreeId(3);

    fn single(key: &[u8]) -> Bounds<'_> {
        (Bound::Included(key), Bound::Included(key))
    }

    #[test]
    fn what_was_announced_is_covered_and_nothing_else() {
        let mut announced = Announced::default();
        let mut model = [false; 256];
        let mut state = 5u64;
        for _ in 0..2000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (from, to) = ((state >> 40) as u8, (state >> 48) as u8 % 4);
            let to = from.saturating_add(to);
            let (begin, end) = ([from], [to]);
            let from_bound = if state >> 63 == 0 { Bound::Included(&begin[..]) } else { Bound::Excluded(&begin[..]) };
            let to_bound = if (state >> 62) & 1 == 0 { Bound::Included(&end[..]) } else { Bound::Excluded(&end[..]) };
            if crate::tree::is_empty(from_bound, to_bound) {
                continue;
            }
            announced.add(T, (from_bound, to_bound));
            for key in from..=to {
                let is_first = key == from && matches!(from_bound, Bound::Excluded(_));
                let is_last = key == to && matches!(to_bound, Bound::Excluded(_));
                model[usize::from(key)] |= !is_first && !is_last;
            }
            for key in 0..=255 {
                assert_eq!(announced.covers(T, &[key]), model[usize::from(key)], "{key}");
            }
            if (state >> 30).is_multiple_of(64) {
                announced = Announced::default();
                model = [false; 256];
            }
        }
        assert!(!announced.covers(TreeId(2), &[1]) && !announced.covers(TreeId(4), &[1]));
        assert!(!announced.has_any_of(TreeId(2)) && !announced.has_any_of(TreeId(4)));
    }

    /// All of it was looked through under the commit lock, and it grew without a bound.
    #[test]
    fn however_much_is_announced_is_bounded_and_covered() {
        let mut announced = Announced::default();
        let key = |number: u32| number.wrapping_mul(2_654_435_761).to_be_bytes();
        for number in 0..100_000 {
            announced.add(TreeId(1 + number % 2), single(&key(number)));
            assert!(announced.ranges.len() <= RANGES);
        }
        assert!((0..100_000).all(|number| announced.covers(TreeId(1 + number % 2), &key(number))));
        assert!(announced.has_any_of(TreeId(1)) && !announced.has_any_of(T));
    }

    #[test]
    fn ranges_of_many_trees_are_never_joined_across_them() {
        let mut announced = Announced::default();
        for tree in 0..40_000 {
            announced.add(TreeId(tree), single(b"key"));
        }
        assert!(
            (0..40_000).all(|tree| announced.covers(TreeId(tree), b"key") && !announced.covers(TreeId(tree), b"l"))
        );
    }

    #[test]
    fn what_has_no_end_takes_up_what_it_meets() {
        let mut announced = Announced::default();
        announced.add(T, single(b"a"));
        announced.add(T, single(b"m"));
        announced.add(TreeId(4), single(b"b"));
        announced.add(T, (Bound::Excluded(b"k"), Bound::Unbounded));
        assert!(announced.covers(T, b"z") && announced.covers(T, b"a") && !announced.covers(T, b"k"));
        announced.add(T, (Bound::Unbounded, Bound::Unbounded));
        assert_eq!(announced.ranges.len(), 2);
        assert!(announced.covers(T, b"") && announced.covers(TreeId(4), b"b") && !announced.covers(TreeId(4), b"c"));
    }
}
