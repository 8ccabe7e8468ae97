//! Who must come before whom: a cycle means that no order of all transactions explains what they saw.

use std::collections::HashMap;

use crate::history::Txn;

/// Edges from each node to those that come after it.
#[derive(Default)]
pub(crate) struct Graph(Vec<Vec<usize>>);

impl Graph {
    pub(crate) fn edge(&mut self, before: usize, after: usize) {
        if before != after {
            if self.0.len() <= before.max(after) {
                self.0.resize_with(before.max(after) + 1, Vec::new);
            }
            self.0[before].push(after);
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
        let mut before = vec![0_usize; self.0.len()];
        self.0.iter().flatten().for_each(|&after| before[after] += 1);
        let mut free: Vec<usize> = (0..before.len()).filter(|&node| before[node] == 0).collect();
        let mut left = before.len();
        while let Some(node) = free.pop() {
            left -= 1;
            for &after in &self.0[node] {
                before[after] -= 1;
                if before[after] == 0 {
                    free.push(after);
                }
            }
        }
        if left == 0 {
            return None;
        }
        let stuck = (0..before.len()).filter(|&node| before[node] > 0);
        stuck.take(200).filter_map(|node| self.way_back(node)).min_by_key(Vec::len)
    }

    /// The shortest way from a node to itself.
    fn way_back(&self, node: usize) -> Option<Vec<usize>> {
        let mut from: HashMap<usize, usize> = HashMap::new();
        let mut queue = std::collections::VecDeque::from([node]);
        while let Some(at) = queue.pop_front() {
            for &after in &self.0[at] {
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
