//! Who must come before whom: a cycle means that no order of all transactions explains what they saw.

use std::collections::{BTreeMap, HashMap};

use crate::history::Txn;

/// Edges from each node to those that come after it.
#[derive(Default)]
pub(crate) struct Graph(BTreeMap<usize, Vec<usize>>);

impl Graph {
    pub(crate) fn edge(&mut self, before: usize, after: usize) {
        if before != after {
            self.0.entry(before).or_default().push(after);
        }
    }

    /// Whoever ended before another began comes before it: by way of a chain of nodes, one per end.
    pub(crate) fn in_time(&mut self, first: usize, moments: impl Iterator<Item = (Txn, bool)>) {
        let mut moment = first;
        for (txn, begins) in moments {
            if begins {
                self.edge(moment, txn);
            } else {
                self.edge(moment, moment + 1);
                moment += 1;
                self.edge(txn, moment);
            }
        }
    }

    /// A cycle, if there is one: the shortest through some node that no order can place.
    pub(crate) fn cycle(&self) -> Option<Vec<usize>> {
        let mut before: HashMap<usize, usize> = HashMap::new();
        for (&node, edges) in &self.0 {
            before.entry(node).or_default();
            edges.iter().for_each(|&after| *before.entry(after).or_default() += 1);
        }
        let mut free: Vec<usize> = before.iter().filter(|(_, count)| **count == 0).map(|(node, _)| *node).collect();
        while let Some(node) = free.pop() {
            before.remove(&node);
            for after in self.0.get(&node).into_iter().flatten() {
                let count = before.get_mut(after).expect("every node was counted");
                *count -= 1;
                if *count == 0 {
                    free.push(*after);
                }
            }
        }
        let mut left: Vec<usize> = before.keys().copied().collect();
        left.sort_unstable();
        left.iter().take(200).filter_map(|&node| self.way_back(node)).min_by_key(Vec::len)
    }

    /// The shortest way from a node to itself.
    fn way_back(&self, node: usize) -> Option<Vec<usize>> {
        let mut from: HashMap<usize, usize> = HashMap::new();
        let mut queue = std::collections::VecDeque::from([node]);
        while let Some(at) = queue.pop_front() {
            for &after in self.0.get(&at).into_iter().flatten() {
                if after == node {
                    let mut way = vec![at];
                    while let Some(&before) = from.get(way.last().expect("not empty")) {
                        way.push(before);
                    }
                    way.reverse();
                    return Some(way);
                }
                if after != node && !from.contains_key(&after) {
                    from.insert(after, at);
                    queue.push_back(after);
                }
            }
        }
        None
    }
}
