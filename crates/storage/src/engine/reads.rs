//! What a transaction read: keys and ranges that no commit may have changed by the time it commits.
//!
//! Noting a key allocates nothing but room for its bytes. Beyond a bound neighbours are joined, so that what is noted
//! takes little memory however much was read: it covers at least what was read. Keys that count up, as those of rows that are
//! inserted mostly do, are one range from the start; no key of the same length lies between two of them.

use std::cell::OnceCell;
use std::ops::Bound;

use crate::TreeId;
use crate::tree::is_empty;

/// Keys and ranges kept before neighbours are joined.
const NOTES: usize = 8192;
/// Keys that are few, and bytes of a usual one: for so many room is made at first.
const FEW: usize = 32;
const KEY: usize = 12;
/// How many neighbouring keys become one range then.
const JOINED: usize = 4;

/// A range of keys by borrowed bounds.
pub(crate) type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// A range of keys with its own bounds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyRange {
    lower: Bound<Box<[u8]>>,
    upper: Bound<Box<[u8]>>,
}

impl KeyRange {
    pub(crate) fn new((lower, upper): Bounds<'_>) -> KeyRange {
        // Every key lies behind the empty one, which is not compared with each: beside what it costs to, the processor seems to take
        // some hundred cycles to find out that there is nothing where an empty box points to (AMD, by AVX-512's `memcmp`).
        let lower = match (lower, upper) {
            (Bound::Included([]), Bound::Included([])) => lower,
            (Bound::Included([]), _) => Bound::Unbounded,
            _ => lower,
        };
        KeyRange { lower: lower.map(Box::from), upper: upper.map(Box::from) }
    }

    pub(crate) fn bounds(&self) -> Bounds<'_> {
        (self.lower.as_ref().map(|key| &key[..]), self.upper.as_ref().map(|key| &key[..]))
    }

    fn is_empty(&self) -> bool {
        let (lower, upper) = self.bounds();
        is_empty(lower, upper)
    }

    /// The key, if it is the only one.
    pub(crate) fn as_point(&self) -> Option<&[u8]> {
        match (&self.lower, &self.upper) {
            (Bound::Included(lower), Bound::Included(upper)) if lower == upper => Some(lower),
            _ => None,
        }
    }

    fn holds(&self, key: &[u8]) -> bool {
        let bounds = self.bounds();
        !is_before(key, &bounds) && !is_behind(key, &bounds)
    }

    /// Takes in the key, if it follows the last one at once; whether it did.
    #[inline]
    fn extend(&mut self, key: &[u8]) -> bool {
        match &mut self.upper {
            Bound::Included(last) if follows(key, last) => {
                last.copy_from_slice(key);
                true
            }
            _ => false,
        }
    }
}

/// Whether the key, read as a number, is the next one after the other, which is as long.
#[inline]
fn follows(key: &[u8], before: &[u8]) -> bool {
    if key.len() != before.len() {
        return false;
    }
    let (Some((&last, front)), Some((&last_before, front_before))) = (key.split_last(), before.split_last()) else {
        return false;
    };
    match last_before.checked_add(1) {
        Some(next) => last == next && front == front_before,
        None => last == 0 && follows(front, front_before),
    }
}

/// All that a transaction read.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// Single keys, one behind the other; of each its tree, and where it ends.
    keys: Vec<u8>,
    points: Vec<(TreeId, usize)>,
    ranges: Vec<(TreeId, KeyRange)>,
    /// Where the newest range of a tree is, of the two trees that had one last: a statement changes one that it has scanned,
    /// and its triggers fill another.
    newest: [Option<(TreeId, usize)>; 2],
    /// Ranges of cursors that are still open, whole until they close, by number.
    open: Vec<(u64, TreeId, KeyRange)>,
    next_open: u64,
    /// Notes beyond [`NOTES`] that joining could not take away, being of too many trees.
    scattered: usize,
}

/// What was read, by tree, in order, disjoint.
pub(crate) type Sorted<'r> = Vec<(TreeId, Bounds<'r>)>;

/// What was read, for validation. It is sorted when that is asked for: mostly no tree of it was changed, and nobody asks.
pub(crate) struct Noted<'r> {
    reads: &'r Reads,
    sorted: OnceCell<Sorted<'r>>,
}

impl<'r> Noted<'r> {
    /// The trees, some more than once.
    pub(crate) fn trees(&self) -> impl Iterator<Item = TreeId> {
        let of_points = self.reads.points.chunk_by(|a, b| a.0 == b.0).map(|points| points[0].0);
        of_points.chain(self.reads.range_trees())
    }

    pub(crate) fn sorted(&self) -> &Sorted<'r> {
        self.sorted.get_or_init(|| self.reads.sorted())
    }
}

impl Reads {
    #[inline]
    pub(crate) fn key(&mut self, tree: TreeId, key: &[u8]) {
        let start = self.points.len().checked_sub(2).map_or(0, |before| self.points[before].1);
        // Whoever changes a row has read it just before.
        if self.points.last().is_some_and(|&(last, end)| last == tree && &self.keys[start..end] == key) {
            return;
        }
        // Whoever changes many rows has scanned them before.
        if let Some(range) = self.newest_range(tree)
            && (range.extend(key) || range.holds(key))
        {
            return;
        }
        // Few keys are looked up one by one: see `few_points`.
        if self.points.len() >= FEW && self.begin_range(tree, start, key) {
            return;
        }
        if self.keys.capacity() == 0 {
            self.keys.reserve(FEW * KEY);
            self.points.reserve(FEW);
        }
        self.keys.extend_from_slice(key);
        self.points.push((tree, self.keys.len()));
        self.bound();
    }

    /// As `key`, of keys of which each likely follows the one before at once.
    pub(crate) fn keys<'k>(&mut self, tree: TreeId, keys: impl Iterator<Item = &'k [u8]>) {
        let mut keys = keys.peekable();
        while let Some(key) = keys.next() {
            self.key(tree, key);
            if let Some(KeyRange { upper: Bound::Included(last), .. }) = self.newest_range(tree)
                && **last == *key
            {
                let mut end = key;
                while let Some(next) = keys.next_if(|next| follows(next, end)) {
                    end = next;
                }
                last.copy_from_slice(end);
            }
        }
    }

    #[inline]
    fn newest_range(&mut self, tree: TreeId) -> Option<&mut KeyRange> {
        let &(_, at) = self.newest.iter().flatten().find(|(of, _)| *of == tree)?;
        self.ranges.get_mut(at).map(|(_, range)| range)
    }

    /// A key that follows at once on the one that was noted last, which begins at `start`, becomes a range with it; whether
    /// it does.
    #[inline]
    fn begin_range(&mut self, tree: TreeId, start: usize, key: &[u8]) -> bool {
        let before = &self.keys[start..];
        if self.points.last().is_none_or(|&(last, _)| last != tree) || !follows(key, before) {
            return false;
        }
        let range = KeyRange::new((Bound::Included(before), Bound::Included(key)));
        self.points.pop();
        self.keys.truncate(start);
        self.push_range(tree, range);
        true
    }

    fn push_range(&mut self, tree: TreeId, range: KeyRange) {
        let others = self.newest.into_iter().flatten().find(|(of, _)| *of != tree);
        self.newest = [Some((tree, self.ranges.len())), others];
        self.ranges.push((tree, range));
        self.bound();
    }

    pub(crate) fn range(&mut self, tree: TreeId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) {
        self.note((tree, KeyRange::new((lower, upper))));
    }

    /// One that holds no key is none: it would stand before what lies behind it, or end what is compared too early.
    fn note(&mut self, (tree, range): (TreeId, KeyRange)) {
        if !range.is_empty() {
            self.push_range(tree, range);
        }
    }

    /// A cursor over the range was opened; close it with the number returned.
    pub(crate) fn open(&mut self, tree: TreeId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> u64 {
        self.next_open += 1;
        self.open.push((self.next_open, tree, KeyRange::new((lower, upper))));
        self.next_open
    }

    /// The cursor closed, having passed over only this part of its range.
    pub(crate) fn close(&mut self, number: u64, part: Option<Bounds<'_>>) {
        let Some(at) = self.open.iter().position(|(open, ..)| *open == number) else { return };
        let (_, tree, whole) = self.open.swap_remove(at);
        self.note((tree, part.map_or(whole, KeyRange::new)));
    }

    /// Whether a cursor is open.
    pub(crate) fn is_any_open(&self) -> bool {
        !self.open.is_empty()
    }

    fn points(&self) -> impl Iterator<Item = (TreeId, &[u8])> {
        let starts = std::iter::once(0).chain(self.points.iter().map(|&(_, end)| end));
        starts.zip(&self.points).map(|(start, &(tree, end))| (tree, &self.keys[start..end]))
    }

    /// The single keys, if they are few.
    pub(crate) fn few_points(&self) -> Option<impl Iterator<Item = (TreeId, &[u8])>> {
        (self.points.len() <= FEW).then(|| self.points())
    }

    /// The trees of which ranges were read, some more than once.
    pub(crate) fn range_trees(&self) -> impl Iterator<Item = TreeId> {
        self.ranges.iter().map(|(tree, _)| *tree).chain(self.open.iter().map(|(_, tree, _)| *tree))
    }

    pub(crate) fn noted(&self) -> Noted<'_> {
        Noted { reads: self, sorted: OnceCell::new() }
    }

    /// All of it, open cursors' ranges included.
    fn sorted(&self) -> Sorted<'_> {
        let points = self.points().map(|(tree, key)| (tree, (Bound::Included(key), Bound::Included(key))));
        let ranges = self.ranges.iter().map(|(tree, range)| (*tree, range.bounds()));
        let open = self.open.iter().filter(|(.., range)| !range.is_empty());
        let open = open.map(|(_, tree, range)| (*tree, range.bounds()));
        let mut all: Sorted<'_> = points.chain(ranges).chain(open).collect();
        all.sort_unstable_by(|(a, (lower, _)), (b, (other, _))| {
            a.cmp(b).then_with(|| lower_order(*lower).cmp(&lower_order(*other)))
        });
        all.dedup_by(|(tree, (lower, upper)), (before, (_, last))| {
            let meets = tree == before && !is_below(*last, *lower);
            if meets && upper_is_below(*last, *upper) {
                *last = *upper;
            }
            meets
        });
        all
    }

    /// As `sorted`, with bounds of their own.
    pub(crate) fn to_sorted_ranges(&self) -> Vec<(TreeId, KeyRange)> {
        self.sorted().into_iter().map(|(tree, range)| (tree, KeyRange::new(range))).collect()
    }

    #[inline]
    fn bound(&mut self) {
        if self.points.len() + self.ranges.len() > NOTES + self.scattered {
            self.join();
        }
    }

    /// Neighbouring keys become ranges, and neighbouring ranges one, so that half as many are kept.
    #[cold]
    fn join(&mut self) {
        let mut points: Vec<(TreeId, &[u8])> = self.points().collect();
        // Rows that are inserted or read in order are sorted already.
        points.sort_unstable();
        let of_one_tree = points.chunk_by(|a, b| a.0 == b.0).flat_map(|points| points.chunks(JOINED));
        let range = |keys: &[(TreeId, &[u8])]| {
            let (first, last) = (keys[0], keys[keys.len() - 1]);
            (first.0, KeyRange::new((Bound::Included(first.1), Bound::Included(last.1))))
        };
        let joined: Vec<(TreeId, KeyRange)> = of_one_tree.map(range).collect();
        self.ranges.extend(joined);
        self.points.clear();
        self.keys.clear();
        self.newest = [None; 2];
        let mut before = usize::MAX;
        while self.ranges.len() > NOTES / 2 && self.ranges.len() < before {
            before = self.ranges.len();
            coalesce(&mut self.ranges);
        }
        self.scattered = self.ranges.len();
    }
}

/// Joins neighbours pairwise: half as many ranges of each tree, which cover at least what they covered.
fn coalesce(ranges: &mut Vec<(TreeId, KeyRange)>) {
    ranges.sort_by(|(a, range), (b, other)| {
        a.cmp(b).then_with(|| lower_order(range.bounds().0).cmp(&lower_order(other.bounds().0)))
    });
    let mut joined: Vec<(TreeId, KeyRange)> = Vec::with_capacity(ranges.len() / 2 + 1);
    let mut is_alone = false;
    for (tree, range) in ranges.drain(..) {
        match joined.last_mut() {
            Some((last, before)) if is_alone && *last == tree => {
                if upper_is_below(before.bounds().1, range.bounds().1) {
                    before.upper = range.upper;
                }
                is_alone = false;
            }
            _ => {
                joined.push((tree, range));
                is_alone = true;
            }
        }
    }
    *ranges = joined;
}

pub(crate) fn lower_order(bound: Bound<&[u8]>) -> (u8, &[u8], u8) {
    match bound {
        Bound::Unbounded => (0, &[], 0),
        Bound::Included(key) => (1, key, 0),
        Bound::Excluded(key) => (1, key, 1),
    }
}

pub(crate) fn upper_is_below(a: Bound<&[u8]>, b: Bound<&[u8]>) -> bool {
    match (a, b) {
        (Bound::Unbounded, _) => false,
        (_, Bound::Unbounded) => true,
        (Bound::Included(a), Bound::Included(b) | Bound::Excluded(b)) => a < b,
        (Bound::Excluded(a), Bound::Included(b)) => a <= b,
        (Bound::Excluded(a), Bound::Excluded(b)) => a < b,
    }
}

/// Whether a range that ends at `upper` lies wholly before one that begins at `lower`, with no key in both.
pub(super) fn is_below(upper: Bound<&[u8]>, lower: Bound<&[u8]>) -> bool {
    match (upper, lower) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(upper), Bound::Included(lower)) => upper < lower,
        (Bound::Included(upper) | Bound::Excluded(upper), Bound::Included(lower) | Bound::Excluded(lower)) => {
            upper <= lower
        }
    }
}

/// Whether the key lies behind all of the range.
pub(crate) fn is_behind(key: &[u8], (_, upper): &Bounds<'_>) -> bool {
    match upper {
        Bound::Unbounded => false,
        Bound::Included(upper) => key > upper,
        Bound::Excluded(upper) => key >= upper,
    }
}

/// Whether the key lies before all of the range.
pub(crate) fn is_before(key: &[u8], (lower, _): &Bounds<'_>) -> bool {
    match lower {
        Bound::Unbounded => false,
        Bound::Included(lower) => key < lower,
        Bound::Excluded(lower) => key <= lower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(sorted: &Sorted<'_>, tree: TreeId, key: &[u8]) -> bool {
        sorted.iter().any(|(of, range)| *of == tree && !is_before(key, range) && !is_behind(key, range))
    }

    #[test]
    fn joined_ranges_still_cover_every_key() {
        let mut reads = Reads::default();
        let key = |i: u32| i.wrapping_mul(2654435761).to_be_bytes();
        for i in 0..40_000u32 {
            reads.key(TreeId(1 + i % 2), &key(i));
        }
        let sorted = reads.sorted();
        assert!(sorted.len() <= NOTES);
        for i in 0..40_000u32 {
            assert!(covers(&sorted, TreeId(1 + i % 2), &key(i)), "key {i} was forgotten");
        }
    }

    #[test]
    fn keys_of_many_trees_are_never_joined_across_them() {
        let mut reads = Reads::default();
        for tree in 0..20_000u32 {
            reads.key(TreeId(tree), &tree.to_be_bytes());
        }
        let sorted = reads.sorted();
        assert!((0..20_000u32).all(|tree| covers(&sorted, TreeId(tree), &tree.to_be_bytes())));
        assert!(!covers(&sorted, TreeId(1), &2u32.to_be_bytes()));
    }

    #[test]
    fn keys_that_count_up_are_one_range_beside_those_of_another_tree() {
        let mut reads = Reads::default();
        let key = |i: u32| (i + 200).to_be_bytes();
        reads.range(TreeId(1), Bound::Included(&key(0)), Bound::Excluded(&key(20_000)));
        for i in 0..20_000u32 {
            reads.key(TreeId(1), &key(i));
            reads.key(TreeId(2), &key(i));
        }
        assert!(reads.ranges.len() <= 2 && reads.points.len() <= FEW);
        let sorted = reads.sorted();
        assert!((0..20_000).all(|i| covers(&sorted, TreeId(1), &key(i)) && covers(&sorted, TreeId(2), &key(i))));
        assert!(!covers(&sorted, TreeId(2), &key(20_000)) && !covers(&sorted, TreeId(1), &key(20_000)));
    }

    /// Keys of another length between them, keys that were read before, gaps.
    #[test]
    fn keys_noted_together_are_what_each_would_be_alone() {
        let (mut together, mut alone) = (Reads::default(), Reads::default());
        let mut keys: Vec<Vec<u8>> = (0..3000u32).map(|i| i.to_be_bytes().to_vec()).collect();
        keys.drain(700..900);
        keys.insert(1500, vec![7; 6]);
        for (tree, keys) in [(1, &keys[..]), (2, &keys[..40]), (1, &keys[90..]), (2, &keys[30..1000])] {
            together.keys(TreeId(tree), keys.iter().map(|key| &key[..]));
            keys.iter().for_each(|key| alone.key(TreeId(tree), key));
            assert_eq!(together.ranges, alone.ranges);
            assert_eq!((&together.keys, &together.points), (&alone.keys, &alone.points));
        }
    }

    #[test]
    fn a_range_from_the_empty_key_on_is_one_from_the_beginning() {
        let empty = Bound::Included(&[][..]);
        assert_eq!(KeyRange::new((empty, Bound::Unbounded)).bounds(), (Bound::Unbounded, Bound::Unbounded));
        assert_eq!(KeyRange::new((empty, empty)).as_point(), Some(&[][..]));
    }

    #[test]
    fn a_key_follows_the_one_that_is_less_by_one() {
        assert!(follows(&[1, 2], &[1, 1]) && follows(&[2, 0], &[1, 255]) && follows(&[1, 0, 0], &[0, 255, 255]));
        assert!(!follows(&[1, 1], &[1, 1]) && !follows(&[2, 2], &[1, 1]) && !follows(&[0, 0], &[255, 255]));
        assert!(!follows(&[1], &[]) && !follows(&[1, 0], &[0]) && !follows(&[], &[]));
    }

    #[test]
    fn sorted_ranges_are_disjoint_and_cover_what_was_read() {
        let mut reads = Reads::default();
        let (included, excluded) = (Bound::Included::<&[u8]>, Bound::Excluded::<&[u8]>);
        reads.range(TreeId(1), included(b"d"), excluded(b"g"));
        reads.range(TreeId(1), included(b"a"), included(b"b"));
        reads.range(TreeId(1), excluded(b"b"), included(b"c"));
        reads.range(TreeId(1), included(b"e"), Bound::Unbounded);
        reads.key(TreeId(2), b"x");
        // With no key in them.
        reads.range(TreeId(1), included(b"f"), included(b"a"));
        reads.range(TreeId(2), excluded(b"y"), included(b"y"));
        let never_moved = reads.open(TreeId(2), included(b"z"), Bound::Unbounded);
        reads.close(never_moved, Some((included(b"z"), included(b""))));
        reads.open(TreeId(2), included(b"z"), included(b"y"));
        reads.key(TreeId(2), b"x");
        let open = reads.open(TreeId(1), included(b"0"), excluded(b"1"));
        let expected: Sorted<'_> = vec![
            (TreeId(1), (included(b"0"), excluded(b"1"))),
            (TreeId(1), (included(b"a"), included(b"b"))),
            (TreeId(1), (excluded(b"b"), included(b"c"))),
            (TreeId(1), (included(b"d"), Bound::Unbounded)),
            (TreeId(2), (included(b"x"), included(b"x"))),
        ];
        assert_eq!(reads.sorted(), expected);
        reads.close(open, Some((included(b"0"), included(b"0"))));
        assert_eq!(reads.sorted()[0].1, (included(b"0"), included(b"0")));
    }
}
