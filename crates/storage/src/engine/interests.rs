//! Who is interested in which keys: an index of key ranges by tree, asked for those that hold a key.
//!
//! What must hold:
//! - Whether anybody is interested in a key, and who, takes time logarithmic in the number of ranges (and linear in the
//!   number of answers): the leader of a batch asks it of every operation.
//! - Single keys, which most are, are found by their hash. Most keys that are written are nobody's: a filter tells most of those
//!   for little (Bloom, 1970, with one hash, which need not withstand anybody: a bad key costs a better look).
//!
//! Ranges of a tree are a treap (Seidel and Aragon, 1996) ordered by their lower ends; each node knows the greatest upper end
//! below it, so that a search enters no part whose ranges all end before the key.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::Bound;

use super::reads::{Bounds, KeyRange, is_before, is_behind, lower_order, upper_is_below};
use crate::TreeId;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Interests {
    /// Ascending.
    trees: Vec<(TreeId, OfTree)>,
    /// What each is interested in, to be taken back.
    owners: HashMap<u64, Vec<(TreeId, KeyRange)>>,
}

#[derive(Debug, Default)]
struct OfTree {
    points: HashMap<Box<[u8]>, Owners>,
    filter: Filter,
    ranges: Ranges,
}

impl OfTree {
    fn add_point(&mut self, key: &[u8], owner: u64) {
        if let Some(owners) = self.points.get_mut(key) {
            return owners.add(owner);
        }
        self.points.insert(key.into(), Owners::One(owner));
        if self.filter.has_room() {
            self.filter.add(key);
        } else {
            // Without those that are gone.
            self.filter = Filter::with_room_for(2 * self.points.len());
            self.points.keys().for_each(|key| self.filter.add(key));
        }
    }

    fn point(&self, key: &[u8]) -> Option<&Owners> {
        if self.filter.may_have(key) { self.points.get(key) } else { None }
    }
}

/// What is not in it is none of the points.
#[derive(Debug, Default)]
struct Filter {
    /// A power of two of them, or none.
    words: Vec<u64>,
    /// How many more keys it takes.
    room: usize,
}

/// Bits for each key that it takes.
const FILTER_BITS: usize = 8;

impl Filter {
    fn with_room_for(keys: usize) -> Filter {
        let bits = (keys * FILTER_BITS).next_power_of_two().max(u64::BITS as usize);
        Filter { words: vec![0; bits / u64::BITS as usize], room: bits / FILTER_BITS }
    }

    fn has_room(&self) -> bool {
        self.room > 0
    }

    fn bit(&self, key: &[u8]) -> (usize, u64) {
        let mut hash = key.len() as u64;
        for chunk in key.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            // Fibonacci hashing (Knuth, TAOCP 6.4); the upper half of a product depends on all of what was multiplied.
            hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 32;
        }
        ((hash >> 6) as usize & (self.words.len() - 1), 1 << (hash % 64))
    }

    fn add(&mut self, key: &[u8]) {
        let (word, bit) = self.bit(key);
        self.words[word] |= bit;
        self.room -= 1;
    }

    #[inline]
    fn may_have(&self, key: &[u8]) -> bool {
        if self.words.is_empty() {
            return false;
        }
        let (word, bit) = self.bit(key);
        self.words[word] & bit != 0
    }
}

/// Who is interested in a key: all live queries of a table are in its entry in the catalog.
#[derive(Debug)]
enum Owners {
    One(u64),
    Many(HashSet<u64>),
}

impl Owners {
    fn add(&mut self, owner: u64) {
        match self {
            Owners::One(one) => *self = Owners::Many(HashSet::from([*one, owner])),
            Owners::Many(many) => {
                many.insert(owner);
            }
        }
    }

    /// Whether there is nobody any more.
    fn remove(&mut self, owner: u64) -> bool {
        match self {
            Owners::One(one) => *one == owner,
            Owners::Many(many) => {
                many.remove(&owner);
                many.is_empty()
            }
        }
    }

    fn each(&self, each: &mut dyn FnMut(u64)) {
        match self {
            Owners::One(one) => each(*one),
            Owners::Many(many) => many.iter().for_each(|owner| each(*owner)),
        }
    }
}

impl Interests {
    pub(crate) fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    fn of(&self, tree: TreeId) -> Option<&OfTree> {
        self.trees.binary_search_by_key(&tree, |(id, _)| *id).ok().map(|at| &self.trees[at].1)
    }

    fn of_mut(&mut self, tree: TreeId) -> &mut OfTree {
        let at = match self.trees.binary_search_by_key(&tree, |(id, _)| *id) {
            Ok(at) => at,
            Err(at) => {
                self.trees.insert(at, (tree, OfTree::default()));
                at
            }
        };
        &mut self.trees[at].1
    }

    /// The owner is interested in these from now on, and in nothing else.
    pub(crate) fn set(&mut self, owner: u64, ranges: Vec<(TreeId, KeyRange)>) {
        self.forget(owner);
        for (tree, range) in &ranges {
            let of = self.of_mut(*tree);
            match range.as_point() {
                Some(key) => of.add_point(key, owner),
                None => of.ranges.insert(range.clone(), owner),
            }
        }
        self.owners.insert(owner, ranges);
    }

    /// The owner is interested in nothing any more.
    pub(crate) fn forget(&mut self, owner: u64) {
        for (tree, range) in self.owners.remove(&owner).unwrap_or_default() {
            let Ok(at) = self.trees.binary_search_by_key(&tree, |(id, _)| *id) else { continue };
            let of = &mut self.trees[at].1;
            match range.as_point() {
                Some(key) => {
                    if of.points.get_mut(key).is_some_and(|owners| owners.remove(owner)) {
                        of.points.remove(key);
                    }
                }
                None => of.ranges.remove(&range, owner),
            }
            if of.points.is_empty() && of.ranges.is_empty() {
                self.trees.remove(at);
            }
        }
    }

    /// Whether somebody is interested in the key.
    pub(crate) fn is_any_in(&self, tree: TreeId, key: &[u8]) -> bool {
        let Some(of) = self.of(tree) else { return false };
        of.point(key).is_some() || of.ranges.find(key, &mut |_| false)
    }

    /// Whether somebody is interested in any key of the tree.
    pub(crate) fn is_any_of(&self, tree: TreeId) -> bool {
        self.of(tree).is_some()
    }

    /// Who is interested in the key; somebody with overlapping ranges may be named more than once.
    pub(crate) fn each(&self, tree: TreeId, key: &[u8], each: &mut dyn FnMut(u64)) {
        let Some(of) = self.of(tree) else { return };
        of.point(key).into_iter().for_each(|owners| owners.each(each));
        of.ranges.find(key, &mut |owner| {
            each(owner);
            true
        });
    }

    /// Everybody who is interested in some key of the tree, some more than once.
    pub(crate) fn each_of(&self, tree: TreeId, each: &mut dyn FnMut(u64)) {
        let Some(of) = self.of(tree) else { return };
        of.points.values().for_each(|owners| owners.each(each));
        of.ranges.nodes.iter().filter(|node| node.is_used).for_each(|node| each(node.owner));
    }

    /// The trees that somebody is interested in.
    pub(crate) fn trees(&self) -> impl Iterator<Item = TreeId> {
        self.trees.iter().map(|(tree, _)| *tree)
    }
}

/// No node.
const NONE: u32 = u32::MAX;

/// A treap in one piece of memory.
#[derive(Debug)]
struct Ranges {
    nodes: Vec<Node>,
    root: u32,
    /// Places of `nodes` that are free.
    free: Vec<u32>,
    /// The state of the generator of priorities.
    random: u64,
}

impl Default for Ranges {
    fn default() -> Ranges {
        Ranges { nodes: Vec::new(), root: NONE, free: Vec::new(), random: 0x9e37_79b9_7f4a_7c15 }
    }
}

#[derive(Debug)]
struct Node {
    range: KeyRange,
    owner: u64,
    priority: u64,
    left: u32,
    right: u32,
    /// The node at or below this one whose range ends last.
    last: u32,
    is_used: bool,
}

impl Ranges {
    fn is_empty(&self) -> bool {
        self.root == NONE
    }

    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }

    fn order(&self, at: u32, range: &KeyRange, owner: u64) -> Ordering {
        let node = self.node(at);
        let (mine, other) = (lower_order(node.range.bounds().0), lower_order(range.bounds().0));
        mine.cmp(&other).then(node.owner.cmp(&owner))
    }

    fn insert(&mut self, range: KeyRange, owner: u64) {
        // Xorshift (Marsaglia, 2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let node = Node { range, owner, priority: self.random, left: NONE, right: NONE, last: NONE, is_used: true };
        let at = match self.free.pop() {
            Some(at) => {
                *self.node_mut(at) = node;
                at
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        self.node_mut(at).last = at;
        let (left, right) = self.split(self.root, at);
        let left = self.merge(left, at);
        self.root = self.merge(left, right);
    }

    fn remove(&mut self, range: &KeyRange, owner: u64) {
        self.root = self.without(self.root, range, owner);
    }

    /// The subtree without the node.
    fn without(&mut self, at: u32, range: &KeyRange, owner: u64) -> u32 {
        if at == NONE {
            return NONE;
        }
        match self.order(at, range, owner) {
            Ordering::Equal => {
                let (left, right) = (self.node(at).left, self.node(at).right);
                self.free.push(at);
                let node = self.node_mut(at);
                node.is_used = false;
                node.range = KeyRange::new((Bound::Unbounded, Bound::Unbounded));
                return self.merge(left, right);
            }
            Ordering::Less => {
                let right = self.without(self.node(at).right, range, owner);
                self.node_mut(at).right = right;
            }
            Ordering::Greater => {
                let left = self.without(self.node(at).left, range, owner);
                self.node_mut(at).left = left;
            }
        }
        self.look_again(at);
        at
    }

    /// What lies before the node `pivot` (which is in neither), and the rest.
    fn split(&mut self, at: u32, pivot: u32) -> (u32, u32) {
        if at == NONE {
            return (NONE, NONE);
        }
        let is_before = {
            let pivot = self.node(pivot);
            self.order(at, &pivot.range, pivot.owner).is_lt()
        };
        if is_before {
            let (middle, rest) = self.split(self.node(at).right, pivot);
            self.node_mut(at).right = middle;
            self.look_again(at);
            (at, rest)
        } else {
            let (before, middle) = self.split(self.node(at).left, pivot);
            self.node_mut(at).left = middle;
            self.look_again(at);
            (before, at)
        }
    }

    /// All of `left` lies before all of `right`.
    fn merge(&mut self, left: u32, right: u32) -> u32 {
        if left == NONE || right == NONE {
            return if left == NONE { right } else { left };
        }
        if self.node(left).priority > self.node(right).priority {
            let merged = self.merge(self.node(left).right, right);
            self.node_mut(left).right = merged;
            self.look_again(left);
            left
        } else {
            let merged = self.merge(left, self.node(right).left);
            self.node_mut(right).left = merged;
            self.look_again(right);
            right
        }
    }

    /// Finds out again which range ends last, from the children's answers.
    fn look_again(&mut self, at: u32) {
        let mut last = at;
        for child in [self.node(at).left, self.node(at).right] {
            if child == NONE {
                continue;
            }
            let candidate = self.node(child).last;
            let (a, b) = (self.node(last).range.bounds().1, self.node(candidate).range.bounds().1);
            if upper_is_below(a, b) {
                last = candidate;
            }
        }
        self.node_mut(at).last = last;
    }

    /// Calls `found` with the owner of each range that holds the key, until it returns false; whether it was called.
    fn find(&self, key: &[u8], found: &mut dyn FnMut(u64) -> bool) -> bool {
        let mut any = false;
        self.find_in(self.root, key, &mut |owner| {
            any = true;
            found(owner)
        });
        any
    }

    /// False once `found` was.
    fn find_in(&self, at: u32, key: &[u8], found: &mut dyn FnMut(u64) -> bool) -> bool {
        if at == NONE {
            return true;
        }
        let node = self.node(at);
        if is_behind(key, &self.node(node.last).range.bounds()) {
            return true;
        }
        if !self.find_in(node.left, key, found) {
            return false;
        }
        let bounds: Bounds<'_> = node.range.bounds();
        if is_before(key, &bounds) {
            // And so do all to the right begin behind it.
            return true;
        }
        (is_behind(key, &bounds) || found(node.owner)) && self.find_in(node.right, key, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: TreeId = TreeId(7);

    /// A range of keys of one byte, any of whose ends may be open, excluded or missing.
    fn range_of(bits: u64) -> KeyRange {
        let (from, to) = ((bits >> 8) as u8 % 40, (bits >> 16) as u8 % 12);
        let to = from.saturating_add(to);
        let end = |key: u8, kind: u64| match kind % 8 {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Excluded(vec![key]),
            _ => Bound::Included(vec![key]),
        };
        let (lower, upper) = (end(from, bits >> 24), end(to, bits >> 32));
        KeyRange::new((lower.as_ref().map(|key| &key[..]), upper.as_ref().map(|key| &key[..])))
    }

    fn holds(range: &KeyRange, key: &[u8]) -> bool {
        !is_before(key, &range.bounds()) && !is_behind(key, &range.bounds())
    }

    #[test]
    fn those_are_found_who_are_interested_and_no_others() {
        let (mut interests, mut model) = (Interests::default(), HashMap::<u64, Vec<KeyRange>>::new());
        let mut state = 11u64;
        for _ in 0..3000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let owner = (state >> 50) % 24;
            if (state >> 40).is_multiple_of(4) {
                interests.forget(owner);
                model.remove(&owner);
            } else {
                let count = 1 + (state >> 44) % 4;
                let ranges: Vec<KeyRange> = (0..count).map(|i| range_of(state.rotate_left(13 * i as u32))).collect();
                interests.set(owner, ranges.iter().map(|range| (T, range.clone())).collect());
                model.insert(owner, ranges);
            }
            for key in 0..54u8 {
                let mut found = Vec::new();
                interests.each(T, &[key], &mut |owner| found.push(owner));
                found.sort_unstable();
                found.dedup();
                let mut expected: Vec<u64> = model
                    .iter()
                    .filter(|(_, ranges)| ranges.iter().any(|range| holds(range, &[key])))
                    .map(|(owner, _)| *owner)
                    .collect();
                expected.sort_unstable();
                assert_eq!(found, expected, "{key}");
                assert_eq!(interests.is_any_in(T, &[key]), !expected.is_empty());
            }
            assert_eq!(interests.is_any_of(T), !model.is_empty());
            assert_eq!(interests.is_empty(), model.is_empty());
        }
        assert!(!interests.is_any_of(TreeId(6)) && !interests.is_any_in(TreeId(8), &[3]));
    }

    #[test]
    fn of_many_keys_none_is_missed_and_few_others_are_looked_for() {
        let mut interests = Interests::default();
        let key = |number: u64| number.to_be_bytes();
        let point = |number| vec![(T, KeyRange::new((Bound::Included(&key(number)), Bound::Included(&key(number)))))];
        for number in 0..20_000u64 {
            interests.set(number % 10_000, point(number));
        }
        // Another's each time: what was forgotten fills the filter no further.
        for number in 0..100_000u64 {
            interests.set(1_000_000, point(20_000 + number));
        }
        for number in 10_000..20_000 {
            let mut found = Vec::new();
            interests.each(T, &key(number), &mut |owner| found.push(owner));
            assert_eq!(found, [number - 10_000]);
        }
        assert!((0..10_000).all(|number| !interests.is_any_in(T, &key(number))));
        let filter = &interests.of(T).unwrap().filter;
        let taken = (1_000_000..1_100_000).filter(|number| filter.may_have(&key(*number))).count();
        assert!(taken < 20_000, "{taken} of 100,000");
        assert!(filter.words.len() <= 1 << 12, "{} words", filter.words.len());
        // Also of keys of any length.
        let lengths = |length: usize| vec![7u8; length];
        (0..40).for_each(|length| {
            let key = lengths(length);
            interests.set(
                2_000_000 + length as u64,
                vec![(T, KeyRange::new((Bound::Included(&key), Bound::Included(&key))))],
            );
        });
        assert!((0..40).all(|length| interests.is_any_in(T, &lengths(length))));
        assert!(!interests.is_any_in(T, &lengths(40)));
    }

    /// It is asked under the eyes of every commit.
    #[test]
    fn of_many_ranges_few_are_looked_at() {
        let mut interests = Interests::default();
        let key = |number: u64| number.to_be_bytes();
        for number in 0..10_000u64 {
            let (from, to) = (key(10 * number), key(10 * number + 5));
            interests.set(number, vec![(T, KeyRange::new((Bound::Included(&from), Bound::Excluded(&to))))]);
        }
        let ranges = &interests.of(T).unwrap().ranges;
        fn depth(ranges: &Ranges, at: u32) -> usize {
            if at == NONE {
                0
            } else {
                1 + depth(ranges, ranges.node(at).left).max(depth(ranges, ranges.node(at).right))
            }
        }
        assert!(depth(ranges, ranges.root) < 60, "{}", depth(ranges, ranges.root));
        let mut found = Vec::new();
        interests.each(T, &key(50_003), &mut |owner| found.push(owner));
        assert_eq!(found, [5000]);
        assert!(!interests.is_any_in(T, &key(50_007)));
    }
}
