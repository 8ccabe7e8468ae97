//! Is there an order of all transactions, one after the other, that explains what each of them saw?
//!
//! Every write names the one that it replaced, so the order of versions of each place is known, as with lists that only
//! grow (Elle). From it follow the dependencies: who overwrote whom, who saw whose write, who saw what somebody
//! overwrote; and who was told of a commit before another began. A cycle among them has no explanation.
//!
//! Crashes: after each recovery everything is read. A write that is not among what led to that state is *lost*. Lost
//! may be what nobody was promised, and whole transactions only; nothing that anybody saw, unless a weak mode wrote it;
//! nothing that anything rests on that is still there, or that was acknowledged before anything began that is still there;
//! and nothing that an answer rests on which promised to be durable. Where a bit of the log had flipped, the last batch
//! may be lost: commits of which none was acknowledged before another of them began.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::graph::Graph;
use crate::history::{History, Outcome, Transaction, Txn};
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
    judge.survivors()?;
    judge.torn()?;
    judge.order()
}

/// Whether one was told its outcome before the other began.
fn is_before(one: &Transaction, other: &Transaction) -> bool {
    one.end < other.begin
}

/// Which write replaced which.
struct Successors {
    of_nothing: HashMap<Register, Op>,
    /// By number; 0: nothing replaced it.
    of: Vec<Op>,
}

impl Successors {
    /// Returns what had replaced it before.
    fn insert(&mut self, register: Register, replaced: Op, by: Op) -> Option<Op> {
        match replaced {
            0 => self.of_nothing.insert(register, by),
            _ => Some(std::mem::replace(&mut self.of[replaced as usize], by)).filter(|&other| other != 0),
        }
    }

    fn get(&self, register: Register, op: Op) -> Option<Op> {
        match op {
            0 => self.of_nothing.get(&register).copied(),
            _ => Some(self.of[op as usize]).filter(|&by| by != 0),
        }
    }
}

struct Judge<'a> {
    history: &'a History,
    fates: Vec<Fate>,
    /// Who saw a write, other than its own transaction.
    seen_by: Vec<Option<Txn>>,
    /// What a flipped bit of the log took.
    torn: HashSet<Op>,
    /// The writes of the catalog that name a tree. (A crash may take a tree back, and its number be given again.)
    created: HashMap<u32, Vec<Op>>,
}

impl<'a> Judge<'a> {
    fn new(history: &'a History) -> Judge<'a> {
        let mut seen_by = vec![None; history.writes.len()];
        for (txn, transaction) in history.txns.iter().enumerate() {
            if !transaction.published && !matches!(transaction.outcome, Outcome::Committed { .. }) {
                continue;
            }
            for (_, op) in &transaction.reads {
                seen_by[*op as usize].get_or_insert(txn);
            }
        }
        let mut created: HashMap<u32, Vec<Op>> = HashMap::new();
        for (op, write) in history.writes.iter().enumerate() {
            for tree in write.trees.iter().filter(|&&tree| tree != 0) {
                created.entry(*tree).or_default().push(op as Op);
            }
        }
        Judge { history, fates: vec![Fate::Open; history.writes.len()], seen_by, torn: HashSet::new(), created }
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
                self.lost(op, found.damaged)?;
            }
        }
        Ok(())
    }

    /// Whether the table was never created, as far as the recovered database knows.
    fn was_lost(&self, register: Register) -> bool {
        let is_alive = |&op: &Op| self.fates[op as usize] == Fate::Alive;
        self.created.get(&register.tree).is_some_and(|ops| !ops.iter().any(is_alive))
    }

    fn lost(&mut self, op: Op, is_torn: bool) -> Result<(), String> {
        let writer = &self.history.txns[self.history.writes[op as usize].txn];
        self.fates[op as usize] = Fate::Lost;
        if is_torn {
            self.torn.insert(op);
            return Ok(());
        }
        if writer.is_promised() {
            return Err(format!("acknowledged, then lost: {}", self.describe(op)));
        }
        match self.seen_by[op as usize].filter(|_| !writer.weak) {
            Some(reader) => Err(format!("seen by {}, then lost: {}", self.name(reader), self.describe(op))),
            None => Ok(()),
        }
    }

    /// Decides what recoveries left open, and that every transaction is there as a whole or not at all.
    fn settle(&mut self) -> Result<(), String> {
        for op in 1..self.seen_by.len() as Op {
            let Some(txn) = self.seen_by[op as usize] else { continue };
            let is_kept = self.history.txns[txn].writes.iter().any(|&op| self.fates[op as usize] == Fate::Alive);
            if self.fates[op as usize] != Fate::Lost || is_kept {
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

    /// What survives a crash is all that was committed up to some moment.
    fn survivors(&self) -> Result<(), String> {
        let fate = |txn: &Transaction| txn.writes.iter().map(|&op| self.fates[op as usize]).find(|f| *f != Fate::Open);
        let mut first_lost: HashMap<u32, Txn> = HashMap::new();
        for (txn, transaction) in self.history.txns.iter().enumerate() {
            let is_told = matches!(transaction.outcome, Outcome::Committed { .. });
            if is_told && fate(transaction) == Some(Fate::Lost) {
                let first = first_lost.entry(transaction.life).or_insert(txn);
                if transaction.end < self.history.txns[*first].end {
                    *first = txn;
                }
            }
        }
        for (txn, transaction) in self.history.txns.iter().enumerate() {
            let is_there = fate(transaction) == Some(Fate::Alive);
            let is_lost = |op: Op| self.fates[op as usize] == Fate::Lost;
            let missed = transaction.reads.iter().map(|(_, op)| *op).find(|&op| is_lost(op));
            match missed {
                Some(op) if is_there => {
                    return Err(format!(
                        "{} is there, and rests on what is lost: {}",
                        self.name(txn),
                        self.describe(op)
                    ));
                }
                Some(op) if transaction.rested && !self.torn.contains(&op) => {
                    return Err(format!(
                        "the answer of {} rests on what is lost: {}",
                        self.name(txn),
                        self.describe(op)
                    ));
                }
                _ => {}
            }
            let lost = first_lost
                .get(&transaction.life)
                .filter(|&&lost| is_there && is_before(&self.history.txns[lost], transaction));
            if let Some(&lost) = lost {
                return Err(format!(
                    "{} is there, and {}, acknowledged before, is lost",
                    self.name(txn),
                    self.name(lost)
                ));
            }
        }
        Ok(())
    }

    /// A flipped bit takes one batch at most: nobody in it can have begun after another of it was acknowledged as durable.
    fn torn(&self) -> Result<(), String> {
        let writers: HashSet<Txn> = self.torn.iter().map(|&op| self.history.writes[op as usize].txn).collect();
        let promised = || writers.iter().copied().filter(|&txn| self.history.txns[txn].is_promised());
        let first = promised().min_by_key(|&txn| self.history.txns[txn].end);
        let last = promised().max_by_key(|&txn| self.history.txns[txn].begin);
        match first.zip(last) {
            Some((first, last)) if is_before(&self.history.txns[first], &self.history.txns[last]) => {
                Err(format!("more than a batch is lost: {} and {}", self.name(first), self.name(last)))
            }
            _ => Ok(()),
        }
    }

    fn name(&self, txn: Txn) -> String {
        let transaction = &self.history.txns[txn];
        let Transaction { kind, life, begin, end, outcome, .. } = transaction;
        format!("{kind} {txn} (life {life}, {begin}..{}, {outcome:?})", *end as i64)
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
        let mut next = Successors { of_nothing: HashMap::new(), of: vec![0; self.history.writes.len()] };
        for (op, write) in self.history.writes.iter().enumerate().skip(1) {
            if self.fates[op] != Fate::Alive {
                continue;
            }
            if let Some(other) = next.insert(write.register, write.replaced, op as Op) {
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

    fn graph(&self, next: &Successors) -> Result<Graph, String> {
        let writes = &self.history.writes;
        let mut graph = Graph::default();
        let mut moments = BTreeMap::new();
        for (txn, transaction) in self.history.txns.iter().enumerate().filter(|(txn, _)| self.counts(*txn)) {
            for &op in transaction.writes.iter().filter(|&&op| !writes[op as usize].undone) {
                if let Some(after) = next.get(writes[op as usize].register, op) {
                    graph.edge(txn, writes[after as usize].txn);
                }
            }
            for &(register, op) in &transaction.reads {
                let after = next.get(register, op);
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
        history.wrote(txn, register, old.as_ref(), [0; 3])
    }

    const DONE: Outcome = Outcome::Committed { promised: true };

    #[test]
    fn one_after_the_other_is_right() {
        let mut history = History::new();
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
        let mut history = History::new();
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
        let mut history = History::new();
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
        let mut history = History::new();
        for kind in ["one", "two"] {
            let txn = history.begin(kind);
            write(&mut history, txn, A, 0);
            history.end(txn, DONE);
        }
        assert!(check(&history).unwrap_err().contains("a lost update"));

        let mut history = History::new();
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

    const WEAK: Outcome = Outcome::Committed { promised: false };

    /// Two writers, one after the other, and a recovery that finds what is given, under A and B.
    fn two_and_a_recovery(outcomes: [Outcome; 2], found: [bool; 2]) -> (History, [Txn; 3]) {
        let mut history = History::new();
        let mut writer = |register, outcome| {
            let txn = history.begin("writer");
            history.txns[txn].weak = outcome == WEAK;
            let op = write(&mut history, txn, register, 0);
            history.end(txn, outcome);
            (txn, op)
        };
        let ((one, a), (two, b)) = (writer(A, outcomes[0]), writer(B, outcomes[1]));
        let recovery = history.begin("recovery");
        history.txns[recovery].recovery = true;
        see(&mut history, recovery, A, if found[0] { a } else { 0 });
        see(&mut history, recovery, B, if found[1] { b } else { 0 });
        history.end(recovery, DONE);
        (history, [one, two, recovery])
    }

    #[test]
    fn of_weak_commits_a_beginning_survives() {
        for (found, right) in
            [([true, true], true), ([true, false], true), ([false, false], true), ([false, true], false)]
        {
            let (history, _) = two_and_a_recovery([WEAK, WEAK], found);
            let checked = check(&history);
            assert_eq!(checked.is_ok(), right, "{found:?}: {checked:?}");
            assert!(checked.err().is_none_or(|what| what.contains("acknowledged before, is lost")));
        }
        let (history, _) = two_and_a_recovery([WEAK, DONE], [false, true]);
        assert!(check(&history).unwrap_err().contains("acknowledged before, is lost"));
    }

    #[test]
    fn a_reader_may_have_seen_only_weak_commits_that_are_lost() {
        for (outcome, right) in [(WEAK, true), (Outcome::Unknown, false)] {
            let (mut history, [one, ..]) = two_and_a_recovery([outcome, WEAK], [false, false]);
            let op = history.txns[one].writes[0];
            history.txns.insert(one + 1, history.txns[one].clone());
            history.txns[one + 1] =
                Transaction { writes: vec![], reads: vec![(A, op)], weak: false, ..history.txns[one].clone() };
            history.writes[2].txn = 2;
            assert_eq!(check(&history).is_ok(), right, "{:?}", check(&history));
            history.txns[one + 1].rested = true;
            assert!(check(&history).is_err());
        }
    }

    #[test]
    fn a_flipped_bit_of_the_log_takes_one_batch_at_most() {
        let (mut history, [one, two, recovery]) = two_and_a_recovery([DONE, DONE], [false, false]);
        assert!(check(&history).unwrap_err().contains("acknowledged, then lost"));
        history.txns[recovery].damaged = true;
        assert!(check(&history).unwrap_err().contains("more than a batch"));
        // At the same time.
        history.txns[two].begin = history.txns[one].begin;
        assert_eq!(check(&history), Ok(()));
        let (mut history, [.., recovery]) = two_and_a_recovery([DONE, DONE], [true, false]);
        history.txns[recovery].damaged = true;
        assert_eq!(check(&history), Ok(()));
    }
}
