//! What a transaction read: per tree, keys and ranges that no commit may have changed by the time it commits.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::version::TreeId;

/// Ranges kept per tree before neighbours are joined.
const RANGES: usize = 4096;
/// How many neighbouring keys become one range then.
const JOINED: usize = 4;

/// A range of keys by borrowed bounds.
pub(crate) type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// A range of keys with its own bounds.
#[derive(Clone, Debug)]
pub(crate) struct KeyRange {
    pub(crate) lower: Bound<Box<[u8]>>,
    pub(crate) upper: Bound<Box<[u8]>>,
}

impl KeyRange {
    fn new(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> KeyRange {
        KeyRange { lower: lower.map(Box::from), upper: upper.map(Box::from) }
    }

    pub(crate) fn lower(&self) -> Bound<&[u8]> {
        self.lower.as_ref().map(|key| &key[..])
    }

    pub(crate) fn upper(&self) -> Bound<&[u8]> {
        self.upper.as_ref().map(|key| &key[..])
    }
}

/// All that a transaction read.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    trees: BTreeMap<TreeId, Ranges>,
    /// Ranges of cursors that are still open, whole until they close: by number.
    open: BTreeMap<u64, (TreeId, KeyRange)>,
    next_open: u64,
}

#[derive(Debug, Default)]
struct Ranges {
    list: Vec<KeyRange>,
    /// Single keys, one behind the other, and where each ends.
    keys: Vec<u8>,
    ends: Vec<usize>,
}

impl Ranges {
    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.keys[start..end])
    }

    #[inline]
    fn bound(&mut self) {
        if self.list.len() + self.ends.len() > RANGES {
            self.join();
        }
    }

    /// Neighbouring keys become ranges, and neighbouring ranges one, so that half as many are kept at most.
    #[cold]
    fn join(&mut self) {
        let mut list = std::mem::take(&mut self.list);
        let mut keys: Vec<&[u8]> = self.keys().collect();
        // Rows that are inserted or read in order are sorted already.
        keys.sort_unstable();
        let range = |keys: &[&[u8]]| KeyRange::new(Bound::Included(keys[0]), Bound::Included(keys[keys.len() - 1]));
        list.extend(keys.chunks(JOINED).map(range));
        while list.len() > RANGES / 2 {
            coalesce(&mut list);
        }
        *self = Ranges { list, ..Ranges::default() };
    }
}

impl Reads {
    pub(crate) fn key(&mut self, tree: TreeId, key: &[u8]) {
        let ranges = self.trees.entry(tree).or_default();
        ranges.keys.extend_from_slice(key);
        ranges.ends.push(ranges.keys.len());
        ranges.bound();
    }

    pub(crate) fn range(&mut self, tree: TreeId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) {
        let ranges = self.trees.entry(tree).or_default();
        ranges.list.push(KeyRange::new(lower, upper));
        ranges.bound();
    }

    /// A cursor over the range was opened; close it with the number returned.
    pub(crate) fn open(&mut self, tree: TreeId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> u64 {
        self.next_open += 1;
        self.open.insert(self.next_open, (tree, KeyRange::new(lower, upper)));
        self.next_open
    }

    /// The cursor closed, having passed over only this part of its range.
    pub(crate) fn close(&mut self, number: u64, part: Option<Bounds<'_>>) {
        if let Some((tree, whole)) = self.open.remove(&number) {
            match part {
                Some((lower, upper)) => self.range(tree, lower, upper),
                None => self.range(tree, whole.lower(), whole.upper()),
            }
        }
    }

    /// The trees that were read; one may come twice.
    pub(crate) fn trees(&self) -> impl Iterator<Item = TreeId> {
        self.trees.keys().copied().chain(self.open.values().map(|(tree, _)| *tree))
    }

    /// What was read of a tree, in no order.
    pub(crate) fn of(&self, tree: TreeId) -> impl Iterator<Item = Bounds<'_>> {
        let ranges = self.trees.get(&tree);
        let keys = ranges.into_iter().flat_map(Ranges::keys).map(|key| (Bound::Included(key), Bound::Included(key)));
        let listed = ranges.into_iter().flat_map(|ranges| &ranges.list);
        let open = self.open.values().filter(move |(of, _)| *of == tree).map(|(_, range)| range);
        keys.chain(listed.chain(open).map(|range| (range.lower(), range.upper())))
    }
}

/// Joins neighbours pairwise: half as many ranges, which cover at least what they covered.
fn coalesce(ranges: &mut Vec<KeyRange>) {
    ranges.sort_by(|a, b| lower_order(&a.lower).cmp(&lower_order(&b.lower)));
    let mut joined: Vec<KeyRange> = Vec::with_capacity(ranges.len() / 2 + 1);
    for (i, range) in ranges.drain(..).enumerate() {
        match joined.last_mut() {
            Some(last) if i % 2 == 1 => {
                if upper_is_below(&last.upper, &range.upper) {
                    last.upper = range.upper;
                }
            }
            _ => joined.push(range),
        }
    }
    *ranges = joined;
}

fn lower_order(bound: &Bound<Box<[u8]>>) -> (u8, &[u8], u8) {
    match bound {
        Bound::Unbounded => (0, &[], 0),
        Bound::Included(key) => (1, key, 0),
        Bound::Excluded(key) => (1, key, 1),
    }
}

fn upper_is_below(a: &Bound<Box<[u8]>>, b: &Bound<Box<[u8]>>) -> bool {
    match (a, b) {
        (Bound::Unbounded, _) => false,
        (_, Bound::Unbounded) => true,
        (Bound::Included(a), Bound::Included(b) | Bound::Excluded(b)) => a < b,
        (Bound::Excluded(a), Bound::Included(b)) => a <= b,
        (Bound::Excluded(a), Bound::Excluded(b)) => a < b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_ranges_still_cover_every_key() {
        let mut reads = Reads::default();
        for i in 0..20_000u32 {
            reads.key(TreeId(1), &i.wrapping_mul(2654435761).to_be_bytes());
        }
        let ranges: Vec<_> = reads.of(TreeId(1)).map(|(lower, upper)| KeyRange::new(lower, upper)).collect();
        assert!(ranges.len() <= RANGES);
        for i in 0..20_000u32 {
            let key = i.wrapping_mul(2654435761).to_be_bytes();
            let covers = |range: &KeyRange| {
                lower_order(&range.lower) <= (1, &key[..], 0)
                    && !upper_is_below(&range.upper, &Bound::Included(Box::from(key)))
            };
            assert!(ranges.iter().any(covers), "key {i} was forgotten");
        }
    }
}
