//! What every transaction of a run did, saw, and was told.

use std::collections::BTreeMap;

use cairn_storage::TreeId;

use crate::told::Told;
use crate::value::{Op, Register, Version};

/// Number of a transaction.
pub type Txn = usize;

/// What a transaction was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It committed; durably, if `promised`.
    Committed {
        /// The acknowledgement promised that no crash takes it back.
        promised: bool,
    },
    /// It left no trace.
    Aborted,
    /// Nobody was told, or that the outcome is unknown.
    Unknown,
}

/// One transaction: of writes and reads, or of reads alone.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// What kind of client ran it.
    pub kind: &'static str,
    /// Which opening of the database it ran in.
    pub life: u32,
    /// When it began, and when it was told its outcome, on one clock for the whole run.
    pub begin: u64,
    /// `u64::MAX`: never.
    pub end: u64,
    /// What it was told.
    pub outcome: Outcome,
    /// Each place with the write that was seen there, of others.
    pub reads: Vec<(Register, Op)>,
    /// Its writes, those undone again included.
    pub writes: Vec<Op>,
    /// Whether it read the whole database, first after a recovery.
    pub recovery: bool,
    /// Whether it reads a published state: then what it saw is durable whatever becomes of it, except what weak
    /// modes wrote.
    pub published: bool,
    /// Whether it was to commit in a mode that may lose it, and shows it before it is durable.
    pub weak: bool,
    /// Whether its answer promised that what it saw is durable, whoever wrote that.
    pub rested: bool,
    /// Of a recovery: a bit of its log had flipped.
    pub damaged: bool,
}

impl Transaction {
    /// Whether the acknowledgement promised that no crash takes it back.
    pub fn is_promised(&self) -> bool {
        self.outcome == Outcome::Committed { promised: true }
    }
}

/// One write.
#[derive(Clone, Debug)]
pub struct Write {
    /// By whom.
    pub txn: Txn,
    /// Where.
    pub register: Register,
    /// The write that was there.
    pub replaced: Op,
    /// How many came before.
    pub sequence: u32,
    /// Rolled back, or of an attempt that was begun again.
    pub undone: bool,
    /// Trees that this write of a catalog entry names: the table's.
    pub trees: [u32; 3],
}

/// All of a run.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// By number.
    pub txns: Vec<Transaction>,
    /// By number; the first stands for what was there before.
    pub writes: Vec<Write>,
    /// Which opening of the database this is.
    pub life: u32,
    /// The most bytes of a key.
    pub key_bytes: usize,
    /// What is read was salvaged: without what is derived.
    pub is_salvaged: bool,
    /// Where commits append to.
    pub feed: Option<TreeId>,
    /// How often somebody began to open it.
    pub(crate) openings: u32,
    /// What commits were told of where they are.
    pub(crate) told: Vec<Told>,
    /// Additions to tallies, in the order of their bits.
    additions: Vec<Op>,
    /// What was appended, by number.
    appended: Vec<Op>,
    /// Where it was first seen: position and ordinal.
    places: BTreeMap<u32, (u64, u32)>,
    clock: u64,
    latest: BTreeMap<(Txn, Register), Op>,
}

impl History {
    /// Nothing yet.
    pub fn new() -> History {
        let nothing = Write {
            txn: usize::MAX,
            register: Register { tree: 0, key: 0 },
            replaced: 0,
            sequence: 0,
            undone: false,
            trees: [0; 3],
        };
        History { writes: vec![nothing], ..History::default() }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// A transaction begins.
    pub fn begin(&mut self, kind: &'static str) -> Txn {
        let begin = self.tick();
        self.txns.push(Transaction {
            kind,
            life: self.life,
            begin,
            end: u64::MAX,
            outcome: Outcome::Unknown,
            reads: Vec::new(),
            writes: Vec::new(),
            recovery: false,
            published: true,
            weak: false,
            rested: false,
            damaged: false,
        });
        self.txns.len() - 1
    }

    /// A transaction is told its outcome.
    pub fn end(&mut self, txn: Txn, outcome: Outcome) {
        let History { txns, writes, latest, .. } = self;
        txns[txn].outcome = outcome;
        // It reads no more.
        for &op in &txns[txn].writes {
            latest.remove(&(txn, writes[op as usize].register));
        }
        if outcome != Outcome::Unknown {
            self.txns[txn].end = self.tick();
        }
    }

    /// Closing made everything durable that was committed when it began.
    pub fn closed(&mut self, began: u64) {
        let life = self.life;
        for txn in self.txns.iter_mut().rev().take_while(|txn| txn.life == life) {
            if txn.end < began && matches!(txn.outcome, Outcome::Committed { .. }) {
                txn.outcome = Outcome::Committed { promised: true };
            }
        }
    }

    /// A history that knows all writes, and as yet no transaction, for who reads a copy of the database.
    pub fn for_reading(&self) -> History {
        let History { writes, additions, appended, places, .. } = self;
        History {
            writes: writes.clone(),
            additions: additions.clone(),
            appended: appended.clone(),
            places: places.clone(),
            life: self.life,
            key_bytes: self.key_bytes,
            feed: self.feed,
            clock: self.clock,
            ..History::default()
        }
    }

    /// A moment on the run's clock.
    pub fn now(&mut self) -> u64 {
        self.tick()
    }

    /// What a transaction saw; what is wrong with that at once.
    pub fn saw(&mut self, txn: Txn, register: Register, version: Option<&Version>) -> Result<(), String> {
        let op = version.map_or(0, |version| version.op);
        if let Some(version) = version {
            let write = self.writes.get(op as usize).ok_or_else(|| format!("write {op}, which nobody did"))?;
            let told = (write.register, write.replaced, write.sequence);
            if op == 0 || told != (register, version.replaced, version.sequence) {
                return Err(format!("write {op} under {register:?} is not as it was written"));
            }
        }
        self.saw_write(txn, register, op)
    }

    /// A transaction learned which write stands in a place; what is wrong with that at once.
    pub fn saw_write(&mut self, txn: Txn, register: Register, op: Op) -> Result<(), String> {
        match self.latest.get(&(txn, register)) {
            Some(&own) if own == op => Ok(()),
            Some(own) => Err(format!("a transaction wrote {own} to {register:?} and then saw {op}")),
            None => {
                self.txns[txn].reads.push((register, op));
                Ok(())
            }
        }
    }

    /// A transaction writes; the write's number.
    pub fn wrote(&mut self, txn: Txn, register: Register, old: Option<&Version>, trees: [u32; 3]) -> Op {
        let op = self.writes.len() as Op;
        let replaced = old.map_or(0, |old| old.op);
        let sequence = old.map_or(0, |old| old.sequence + 1);
        self.writes.push(Write { txn, register, replaced, sequence, undone: false, trees });
        self.txns[txn].writes.push(op);
        self.latest.insert((txn, register), op);
        op
    }

    /// A transaction adds to a tally; which bit is its own.
    pub fn added(&mut self, txn: Txn, place: impl Fn(u32) -> Register) -> u32 {
        let bit = self.additions.len() as u32;
        let op = self.wrote(txn, place(bit), None, [0; 3]);
        self.additions.push(op);
        bit
    }

    /// A transaction appends; the entry's number.
    pub fn appended(&mut self, txn: Txn) -> u32 {
        let number = self.appended.len() as u32;
        let register = Register { tree: self.feed.map_or(0, |feed| feed.0), key: number };
        let op = self.wrote(txn, register, None, [0; 3]);
        // Its transaction does not see it.
        self.latest.remove(&(txn, register));
        self.appended.push(op);
        number
    }

    /// All that was appended, by number.
    pub fn all_appended(&self) -> &[Op] {
        &self.appended
    }

    /// An entry was seen somewhere: its write; what is wrong with that.
    pub fn placed(&mut self, number: u32, at: (u64, u32)) -> Result<Op, String> {
        let op = *self.appended.get(number as usize).ok_or_else(|| format!("nobody appended {number}"))?;
        match *self.places.entry(number).or_insert(at) {
            before if before == at => Ok(op),
            before => Err(format!("what was appended at {before:?} is at {at:?} now")),
        }
    }

    /// All additions there were, in the order of their bits.
    pub fn additions(&self) -> &[Op] {
        &self.additions
    }

    /// Takes back all but the first `kept` writes. What was read stays read.
    pub fn undo(&mut self, txn: Txn, kept: usize) {
        let History { txns, writes, latest, .. } = self;
        for &op in &txns[txn].writes[kept..] {
            writes[op as usize].undone = true;
            latest.remove(&(txn, writes[op as usize].register));
        }
        for &op in txns[txn].writes.iter().filter(|&&op| !writes[op as usize].undone) {
            latest.insert((txn, writes[op as usize].register), op);
        }
    }

    /// As if the transaction had not done anything yet: it begins again.
    pub fn restart(&mut self, txn: Txn) {
        self.undo(txn, 0);
        self.txns[txn].reads.clear();
        self.txns[txn].begin = self.tick();
    }
}
