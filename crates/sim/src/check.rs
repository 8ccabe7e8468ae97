//! Is there an order of all transactions, one after the other, that explains what each of them saw?
//!
//! Every write names the one that it replaced, so the order of versions of each place is known, as with lists that only
//! grow (Elle). From it follow the dependencies: who overwrote whom, who saw whose write, who saw what somebody
//! overwrote; and who was told of a commit before another began. A cycle among them has no explanation.
//!
//! Crashes: after each recovery everything is read. A write that is not among what led to that state is *lost*. Lost
//! may be what nobody was promised, whole transactions, and nothing that anybody saw (unless weak modes were at work).

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::history::{History, Outcome, Txn};
use crate::value::{Op, Register};

/// What a crash, or a rollback, made of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Not known to be part of the database.
    Open,
    Alive,
    Lost,
}

/// Checks a whole run; what is wrong with it.
pub fn check(history: &History) -> Result<(), String> {
    let mut judge = Judge::new(history);
    for (txn, transaction) in history.txns.iter().enumerate() {
        if transaction.recovery {
            judge.recovery(txn)?;
        }
    }
    judge.settle()?;
    judge.order()
}

struct Judge<'a> {
    history: &'a History,
    fates: Vec<Fate>,
    /// Who saw a write, other than its own transaction.
    seen_by: HashMap<Op, Txn>,
    /// The writes of the catalog that name a tree. (A crash may take a tree back, and its number be given again.)
    created: HashMap<u32, Vec<Op>>,
}

impl<'a> Judge<'a> {
    fn new(history: &'a History) -> Judge<'a> {
        let mut seen_by = HashMap::new();
        for (txn, transaction) in history.txns.iter().enumerate() {
            if !transaction.published && !matches!(transaction.outcome, Outcome::Committed { .. }) {
                continue;
            }
            for (_, op) in &transaction.reads {
                seen_by.entry(*op).or_insert(txn);
            }
        }
        let mut created: HashMap<u32, Vec<Op>> = HashMap::new();
        for (op, write) in history.writes.iter().enumerate() {
            for tree in write.trees.iter().filter(|&&tree| tree != 0) {
                created.entry(*tree).or_default().push(op as Op);
            }
        }
        Judge { history, fates: vec![Fate::Open; history.writes.len()], seen_by, created }
    }

    fn describe(&self, op: Op) -> String {
        let write = &self.history.writes[op as usize];
        let txn = &self.history.txns[write.txn];
        format!(
            "write {op} to {:?} of {} {} (life {}, {:?})",
            write.register, txn.kind, write.txn, txn.life, txn.outcome
        )
    }

    /// A write that a recovery found, and all that it rests on.
    fn alive(&mut self, mut op: Op) -> Result<(), String> {
        while op != 0 && self.fates[op as usize] != Fate::Alive {
            let write = &self.history.writes[op as usize];
            if write.undone || self.history.txns[write.txn].outcome == Outcome::Aborted {
                return Err(format!("{} was taken back, and is there", self.describe(op)));
            }
            if self.fates[op as usize] == Fate::Lost {
                return Err(format!("{} was lost, and is there again", self.describe(op)));
            }
            self.fates[op as usize] = Fate::Alive;
            op = write.replaced;
        }
        Ok(())
    }

    fn recovery(&mut self, reader: Txn) -> Result<(), String> {
        let found = &self.history.txns[reader];
        for (_, op) in &found.reads {
            self.alive(*op)?;
        }
        let trees: HashSet<u32> = found.reads.iter().map(|(register, _)| register.tree).collect();
        for op in 1..self.history.writes.len() as Op {
            let write = &self.history.writes[op as usize];
            let earlier = self.history.txns[write.txn].begin < found.begin;
            if !earlier || write.undone || self.fates[op as usize] != Fate::Open {
                continue;
            }
            let judged = trees.contains(&write.register.tree) || self.was_lost(write.register);
            if judged {
                self.lost(op)?;
            }
        }
        Ok(())
    }

    /// Whether the table was never created, as far as the recovered database knows.
    fn was_lost(&self, register: Register) -> bool {
        let is_alive = |&op: &Op| self.fates[op as usize] == Fate::Alive;
        self.created.get(&register.tree).is_some_and(|ops| !ops.iter().any(is_alive))
    }

    fn lost(&mut self, op: Op) -> Result<(), String> {
        let write = &self.history.writes[op as usize];
        if self.history.txns[write.txn].outcome == (Outcome::Committed { promised: true }) {
            return Err(format!("acknowledged, then lost: {}", self.describe(op)));
        }
        let seen = self.seen_by.get(&op).filter(|_| !self.history.weak);
        if let Some(&reader) = seen {
            let kind = self.history.txns[reader].kind;
            return Err(format!("seen by {kind} {reader}, then lost: {}", self.describe(op)));
        }
        self.fates[op as usize] = Fate::Lost;
        Ok(())
    }

    /// Decides what recoveries left open, and that every transaction is there as a whole or not at all.
    fn settle(&mut self) -> Result<(), String> {
        for (op, txn) in self.seen_by.clone() {
            let is_kept = self.history.txns[txn].writes.iter().any(|&op| self.fates[op as usize] == Fate::Alive);
            if op != 0 && (self.fates[op as usize] != Fate::Lost || is_kept) {
                self.alive(op)?;
            }
        }
        for transaction in &self.history.txns {
            let of = |fate: Fate| transaction.writes.iter().copied().find(|&op| self.fates[op as usize] == fate);
            if let (Some(alive), Some(lost)) = (of(Fate::Alive), of(Fate::Lost)) {
                return Err(format!("{} is there, {} is not", self.describe(alive), self.describe(lost)));
            }
            let is_alive = of(Fate::Alive).is_some() || matches!(transaction.outcome, Outcome::Committed { .. });
            if is_alive && of(Fate::Lost).is_none() {
                let kept = transaction.writes.iter().filter(|&&op| !self.history.writes[op as usize].undone);
                kept.for_each(|&op| self.fates[op as usize] = Fate::Alive);
            }
        }
        Ok(())
    }

    /// The transactions that count: all whose writes are there, and all that read nothing that was lost.
    fn counts(&self, txn: Txn) -> bool {
        let transaction = &self.history.txns[txn];
        let kept = |op: &&Op| !self.history.writes[**op as usize].undone;
        match transaction.writes.iter().find(kept) {
            Some(&op) => self.fates[op as usize] == Fate::Alive,
            None => {
                matches!(transaction.outcome, Outcome::Committed { .. })
                    && transaction.reads.iter().all(|(_, op)| self.fates[*op as usize] != Fate::Lost)
            }
        }
    }

    fn order(&self) -> Result<(), String> {
        let mut next: HashMap<(Register, Op), Op> = HashMap::new();
        for (op, write) in self.history.writes.iter().enumerate().skip(1) {
            if self.fates[op] != Fate::Alive {
                continue;
            }
            if let Some(other) = next.insert((write.register, write.replaced), op as Op) {
                let (one, two) = (self.describe(other), self.describe(op as Op));
                return Err(format!("a lost update: {one} and {two} both replaced write {}", write.replaced));
            }
        }
        let graph = self.graph(&next)?;
        match graph.cycle() {
            None => Ok(()),
            Some(cycle) => Err(self.explain(&cycle)),
        }
    }

    fn graph(&self, next: &HashMap<(Register, Op), Op>) -> Result<Graph, String> {
        let writes = &self.history.writes;
        let mut graph = Graph::default();
        let mut moments = BTreeMap::new();
        for (txn, transaction) in self.history.txns.iter().enumerate().filter(|(txn, _)| self.counts(*txn)) {
            for &op in transaction.writes.iter().filter(|&&op| !writes[op as usize].undone) {
                if let Some(&after) = next.get(&(writes[op as usize].register, op)) {
                    graph.edge(txn, writes[after as usize].txn);
                }
            }
            for &(register, op) in &transaction.reads {
                let after = next.get(&(register, op)).copied();
                if op != 0 {
                    let writer = writes[op as usize].txn;
                    if after.is_some_and(|after| writes[after as usize].txn == writer) {
                        return Err(format!("{} {txn} saw {} before it was done", transaction.kind, self.describe(op)));
                    }
                    graph.edge(writer, txn);
                }
                if let Some(after) = after {
                    graph.edge(txn, writes[after as usize].txn);
                }
            }
            moments.insert(transaction.begin, (txn, true));
            if transaction.end != u64::MAX {
                moments.insert(transaction.end, (txn, false));
            }
        }
        graph.in_time(self.history.txns.len(), moments.into_values());
        Ok(graph)
    }

    fn explain(&self, cycle: &[usize]) -> String {
        let mut text = "no order explains what was seen:".to_owned();
        for &node in cycle.iter().filter(|&&node| node < self.history.txns.len()) {
            let txn = &self.history.txns[node];
            text += &format!("\n  {} {node} (life {}, {}..{})", txn.kind, txn.life, txn.begin, txn.end as i64);
            text += &format!(" read {:?}", txn.reads);
            for &op in &txn.writes {
                let write = &self.history.writes[op as usize];
                let undone = if write.undone { " undone" } else { "" };
                text += &format!("; wrote {op} over {} to {:?}{undone}", write.replaced, write.register);
            }
        }
        text
    }
}

#[derive(Default)]
struct Graph(BTreeMap<usize, Vec<usize>>);

impl Graph {
    fn edge(&mut self, before: usize, after: usize) {
        if before != after {
            self.0.entry(before).or_default().push(after);
        }
    }

    /// Whoever ended before another began comes before it: by way of a chain of nodes, one per end.
    fn in_time(&mut self, first: usize, moments: impl Iterator<Item = (Txn, bool)>) {
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
    fn cycle(&self) -> Option<Vec<usize>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Version;

    const A: Register = Register { tree: 2, key: 1 };
    const B: Register = Register { tree: 2, key: 2 };

    fn version(history: &History, op: Op) -> Version {
        let write = &history.writes[op as usize];
        Version { op, replaced: write.replaced, sequence: write.sequence, payload_op: op, payload: Vec::new() }
    }

    fn see(history: &mut History, txn: Txn, register: Register, op: Op) {
        let seen = (op != 0).then(|| version(history, op));
        history.saw(txn, register, seen.as_ref()).unwrap();
    }

    fn write(history: &mut History, txn: Txn, register: Register, replaced: Op) -> Op {
        see(history, txn, register, replaced);
        let old = (replaced != 0).then(|| version(history, replaced));
        history.wrote(txn, register, old.as_ref(), [0; 2])
    }

    const DONE: Outcome = Outcome::Committed { promised: true };

    #[test]
    fn one_after_the_other_is_right() {
        let mut history = History::new(false);
        let first = history.begin("one");
        let op = write(&mut history, first, A, 0);
        history.end(first, DONE);
        let second = history.begin("two");
        write(&mut history, second, A, op);
        history.end(second, DONE);
        assert_eq!(check(&history), Ok(()));
    }

    #[test]
    fn write_skew_is_a_cycle() {
        let mut history = History::new(false);
        let (first, second) = (history.begin("one"), history.begin("two"));
        see(&mut history, first, B, 0);
        see(&mut history, second, A, 0);
        write(&mut history, first, A, 0);
        write(&mut history, second, B, 0);
        history.end(first, DONE);
        history.end(second, DONE);
        assert!(check(&history).unwrap_err().contains("no order"));
    }

    #[test]
    fn a_stale_read_is_a_cycle() {
        let mut history = History::new(false);
        let first = history.begin("one");
        write(&mut history, first, A, 0);
        history.end(first, DONE);
        let second = history.begin("two");
        see(&mut history, second, A, 0);
        history.end(second, DONE);
        assert!(check(&history).unwrap_err().contains("no order"));
    }

    #[test]
    fn lost_updates_lost_commits_and_halves_are_noticed() {
        let mut history = History::new(false);
        for kind in ["one", "two"] {
            let txn = history.begin(kind);
            write(&mut history, txn, A, 0);
            history.end(txn, DONE);
        }
        assert!(check(&history).unwrap_err().contains("a lost update"));

        let mut history = History::new(false);
        let txn = history.begin("one");
        let op = write(&mut history, txn, A, 0);
        write(&mut history, txn, B, 0);
        let mut half = history.clone();
        history.end(txn, DONE);
        for (history, found, what) in [(&mut history, 0, "then lost"), (&mut half, op, "is not")] {
            let recovery = history.begin("recovery");
            history.txns[recovery].recovery = true;
            see(history, recovery, A, found);
            see(history, recovery, B, 0);
            history.end(recovery, DONE);
            assert!(check(history).unwrap_err().contains(what), "{:?}", check(history));
        }
    }
}
