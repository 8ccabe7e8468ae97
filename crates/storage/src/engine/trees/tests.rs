//! The list beside a plain map, with versions that are held and let go of, marks, and states gone back to.

use std::collections::BTreeMap;

use super::*;
use crate::{PageRef, TreeId};

/// A version that is not published any more, and what it is to have.
struct Retired {
    number: u64,
    trees: Trees,
    nodes: DeadNodes,
    model: BTreeMap<u32, u64>,
    is_held: bool,
}

/// As the writer: what was cut, and what is kept for it.
struct Versions {
    latest: LatestTrees,
    stamp: u64,
    model: BTreeMap<u32, u64>,
    /// Ascending.
    retired: Vec<Retired>,
    published: (u64, Trees, BTreeMap<u32, u64>),
}

fn root(n: u64) -> PageRef {
    PageRef { id: n as u32 | 1, birth: n }
}

/// # Safety
/// As of `Trees::copy_from`.
unsafe fn copy(trees: &Trees) -> Trees {
    let mut copy = Trees::default();
    // SAFETY: by the caller's promise.
    unsafe { copy.copy_from(trees) };
    copy
}

impl Versions {
    fn new(trees: impl IntoIterator<Item = u32>) -> Versions {
        let model: BTreeMap<u32, u64> = trees.into_iter().map(|tree| (tree, u64::from(tree))).collect();
        let mut list = TreeList::default();
        model.iter().for_each(|(&tree, &n)| list.set(TreeId(tree), root(n)));
        let latest = LatestTrees::new(&list, 1, 2);
        // SAFETY: read before it is let go of.
        let published = (1, unsafe { copy(&latest) }, model.clone());
        Versions { latest, stamp: 2, model, retired: Vec::new(), published }
    }

    fn set(&mut self, tree: u32, n: u64) {
        self.latest.set(TreeId(tree), root(n));
        self.model.insert(tree, n);
    }

    fn remove(&mut self, tree: u32) {
        assert_eq!(self.latest.remove(TreeId(tree)), self.model.remove(&tree).map(root));
    }

    fn publish(&mut self, is_held: bool) {
        let mut nodes = DeadNodes::default();
        // SAFETY: read before it is let go of.
        let cut = (self.stamp, unsafe { copy(self.latest.cut(self.stamp + 1)) }, self.model.clone());
        self.stamp += 1;
        let (number, trees, model) = std::mem::replace(&mut self.published, cut);
        // SAFETY: it was published until now.
        unsafe { self.latest.bury(number, &mut nodes) };
        self.retired.push(Retired { number, trees, nodes, model, is_held });
    }

    /// Lets go of those that nobody holds.
    fn look(&mut self) {
        let mut kept: Vec<Retired> = Vec::new();
        for retired in self.retired.drain(..) {
            match retired.is_held {
                true => kept.push(retired),
                false => {
                    let older = kept.last_mut().map(|older| (older.number, &mut older.nodes));
                    // SAFETY: nobody reads it any more.
                    unsafe { self.latest.let_go(retired.nodes, older) };
                }
            }
        }
        self.retired = kept;
    }

    /// Neighbours are joined that fit into half a node: on average one has an eighth of what it could have, at least. (The few slots that
    /// nodes have in a simulation, with which this crate is built beside one, say less: a node for each tree, those above included.)
    fn has_few_nodes(&self) {
        let ((all, spare), trees) = (self.latest.node_counts(), self.model.len());
        assert!(all - spare <= 3 + trees / (node::FAN / 8), "{} nodes of {trees} trees", all - spare);
    }

    /// Everything that is held is as it was.
    fn check(&self) {
        let agrees = |trees: &Trees, model: &BTreeMap<u32, u64>| {
            let list = trees.list();
            assert_eq!(list.entries().len(), model.len());
            for (entry, (&tree, &n)) in list.entries().iter().zip(model) {
                assert_eq!((entry.id, entry.root), (TreeId(tree), root(n)));
                assert_eq!(trees.root(entry.id), Some(root(n)));
            }
            for absent in [0, 3, 77, 1 << 31, u32::MAX] {
                assert_eq!(trees.root(TreeId(absent)), model.get(&absent).copied().map(root));
            }
        };
        agrees(&self.latest, &self.model);
        agrees(&self.published.1, &self.published.2);
        self.retired.iter().filter(|held| held.is_held).for_each(|held| agrees(&held.trees, &held.model));
    }
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn lists_of_every_size_around_those_of_nodes_are_what_was_put() {
    let fan = node::FAN as u32;
    let sizes = [0, 1, 2, fan - 1, fan, fan + 1, 2 * fan, fan * fan - 1, fan * fan, fan * fan + 1, 5 * fan * fan];
    for size in sizes {
        for stride in [1, 2, 7] {
            let mut versions = Versions::new((0..size).map(|n| 1 + n * stride));
            versions.check();
            (0..size).rev().step_by(3).for_each(|n| versions.set(1 + n * stride, 7));
            versions.publish(true);
            versions.check();
            (0..size).step_by(2).for_each(|n| versions.remove(1 + n * stride));
            // Behind all, and before all.
            versions.set((1 << 31) | size, 9);
            versions.set(1, 10);
            versions.publish(true);
            versions.check();
            let plain: Vec<u32> = versions.model.keys().copied().filter(|tree| *tree < 1 << 31).collect();
            plain.into_iter().for_each(|tree| versions.remove(tree));
            versions.check();
        }
    }
}

fn a_history(seed: u64) {
    let mut state = seed;
    let mut versions = Versions::new((1..random(&mut state) as u32 % 3000).collect::<Vec<_>>());
    let width = 1 + random(&mut state) as u32 % 5000;
    for step in 0..400 {
        for _ in 0..random(&mut state) % 40 {
            let tree = (random(&mut state) as u32 % width) | ((random(&mut state) as u32 % 2) << 31);
            match random(&mut state) % 3 {
                0 => versions.remove(tree),
                _ => versions.set(tree, step * 1000 + random(&mut state) % 1000),
            }
        }
        if random(&mut state).is_multiple_of(8) {
            // What a commit that fails halfway does.
            let model = versions.model.clone();
            versions.stamp += 1;
            let marked = versions.latest.mark(versions.stamp);
            for _ in 0..random(&mut state) % 200 {
                let tree = random(&mut state) as u32 % width;
                if random(&mut state).is_multiple_of(2) { versions.remove(tree) } else { versions.set(tree, step) }
            }
            versions.latest.undo(marked);
            versions.model = model;
        }
        versions.publish(random(&mut state).is_multiple_of(4));
        if random(&mut state).is_multiple_of(5) {
            versions.retired.iter_mut().for_each(|held| held.is_held &= !random(&mut state).is_multiple_of(3));
            versions.look();
        }
        if random(&mut state).is_multiple_of(10) {
            versions.check();
        }
    }
    versions.check();
    // Nothing stays but what there is.
    versions.retired.iter_mut().for_each(|held| held.is_held = false);
    versions.look();
    versions.has_few_nodes();
}

#[test]
fn what_is_held_stays_as_it_is_whatever_changes() {
    (0..30).for_each(a_history);
}

/// Each leaf lost all but one of its trees: as many nodes as trees would stay.
#[test]
fn nodes_of_few_trees_are_joined() {
    let mut versions = Versions::new(1..20_000);
    (1..20_000).filter(|tree| tree % 64 != 0).for_each(|tree| versions.remove(tree));
    versions.publish(false);
    versions.look();
    versions.check();
    let (all, spare) = versions.latest.node_counts();
    versions.has_few_nodes();
    assert!(spare <= 64.max(all / 2), "{spare} spare nodes are kept beside {}", all - spare);
}

/// (Of one level below the top: whatever is used again is a leaf then, so that what is read is wrong, and nothing worse.)
fn a_change_under_a_snapshot() {
    let mut versions = Versions::new(1..=3 * node::FAN as u32);
    versions.publish(true);
    for n in 0..10 {
        (1..=3 * node::FAN as u32).step_by(node::FAN).for_each(|tree| versions.set(tree, 1000 + n));
        versions.publish(false);
        versions.look();
    }
    versions.check();
}

#[test]
fn what_a_snapshot_has_and_is_used_again_is_noticed() {
    a_change_under_a_snapshot();
    crate::broken::must_be_caught(crate::broken::Broken::TreesUnderSnapshot, a_change_under_a_snapshot);
}
