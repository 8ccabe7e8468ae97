//! Random work, and the oracle: every committed state in order, with the disk operations around its commit.

use std::collections::BTreeMap;
use std::ops::Bound;

use cairn_storage::io::{Recording, SimDisk};
use cairn_storage::{
    Acknowledge, AppendKey, Durability, Error, Losses, Options, Position, Result, Store, Transaction, TreeId,
    WriteError, counters,
};

use super::machine::{self, Rng};

pub type Model = BTreeMap<u32, BTreeMap<Vec<u8>, Vec<u8>>>;

/// A state in 64 bits, eight bytes at a time: half the time of a crash test would go to a hash made for enemies.
#[derive(Default)]
struct Digest(u64);

impl Digest {
    fn number(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    /// The length comes first, so that no two lists of bytes look like one another's concatenation.
    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.number(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.number(u64::from_le_bytes(last));
    }
}

/// The digest of an empty database and of any other state.
pub fn digest_model(model: &Model) -> u64 {
    let mut digest = Digest::default();
    for (tree, entries) in model {
        digest.number((*tree).into());
        for (key, value) in entries {
            digest.bytes(key);
            digest.bytes(value);
        }
    }
    digest.0
}

pub fn digest_store(store: &Store) -> Result<u64> {
    let snapshot = store.snapshot()?;
    let mut digest = Digest::default();
    for tree in snapshot.trees() {
        digest.number(tree.0.into());
        let mut cursor = snapshot.reader().cursor(tree, Bound::Unbounded, Bound::Unbounded)?;
        while let Some((key, value)) = cursor.next()? {
            digest.bytes(key);
            digest.bytes(value);
        }
    }
    Ok(digest.0)
}

/// One state of the database, and when a crash may or must leave at least it.
#[derive(Clone, Copy, Debug)]
pub struct State {
    pub digest: u64,
    /// Number of the first disk operation that the commit may have begun.
    pub begun: u64,
    /// A crash at this operation or later must not take it; `u64::MAX`: nobody was promised that.
    pub durable: u64,
    /// Where the commit stands, as it was told, and before which disk operation.
    pub told: Option<(Position, u64)>,
}

/// All states, in the order of commits.
#[derive(Clone, Debug, Default)]
pub struct History(pub Vec<State>);

impl History {
    pub fn committed(&mut self, digest: u64, begun: u64, durable: bool, now: u64) {
        self.0.push(State { digest, begun, durable: u64::MAX, told: None });
        if durable {
            self.all_durable(now);
        }
    }

    pub fn all_durable(&mut self, now: u64) {
        for state in self.0.iter_mut().rev().take_while(|state| state.durable == u64::MAX) {
            state.durable = now;
        }
    }

    /// Whether positions of commits that a crash took are refused, and those of commits that it left are known, where a crash at
    /// operation `at` left the state.
    pub fn judge_positions(&self, at: u64, digest: u64, store: &Store) -> Result<(), String> {
        let may = self.0.iter().rposition(|state| state.begun <= at).unwrap_or(0);
        let found = || (0..self.0.len()).filter(|&i| i <= may && self.0[i].digest == digest);
        let (Some(first), Some(last)) = (found().next(), found().next_back()) else { return Ok(()) };
        for (number, state) in self.0.iter().enumerate() {
            let Some((told, _)) = state.told.as_ref().filter(|(_, then)| *then <= at) else { continue };
            match store.place_of(told) {
                Ok(_) if number > last => return Err(format!("state {number} is lost, and its position is reached")),
                Err(error) if number <= first => return Err(format!("state {number} is there: {error}")),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a crash at operation `at` may leave the state; an explanation if not.
    pub fn admits(&self, at: u64, digest: u64) -> Result<(), String> {
        let must = self.0.iter().rposition(|state| state.durable <= at).unwrap_or(0);
        let may = self.0.iter().rposition(|state| state.begun <= at).unwrap_or(0);
        let found: Vec<usize> = (0..self.0.len()).filter(|&i| self.0[i].digest == digest).collect();
        match found.iter().any(|&i| must <= i && i <= may) {
            true => Ok(()),
            false => Err(format!("found state {found:?}, expected one of {must}..={may}")),
        }
    }
}

/// What a run did.
pub struct Run {
    pub recording: Recording,
    pub history: History,
    pub options: Options,
    pub seed: u64,
}

/// How a workload leans.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub page_size: usize,
    pub steps: usize,
    /// Keys per tree.
    pub keys: usize,
    /// One in so many values is long.
    pub long: usize,
    pub weak_modes: bool,
    pub separate_blocks: bool,
    pub method: cairn_storage::SyncMethod,
    /// Some commits append. Where one's outcome may be unknown, so is what it appended: not with faults.
    pub appends: bool,
    /// Some add to entries of counters.
    pub adds: bool,
}

impl Shape {
    pub fn of(seed: u64) -> Shape {
        use cairn_storage::SyncMethod::{Auto, Dsync, WriteSync};
        let mut rng = Rng(seed);
        Shape {
            page_size: [512, 512, 1024][rng.below(3)],
            steps: 90,
            keys: [20, 60, 150][rng.below(3)],
            long: [6, 12, 40][rng.below(3)],
            weak_modes: rng.one_in(2),
            separate_blocks: rng.one_in(4),
            method: [Auto, Auto, Auto, Dsync, WriteSync][rng.below(5)],
            appends: rng.one_in(2),
            adds: rng.one_in(2),
        }
    }

    pub fn options(&self) -> Options {
        let mut options = machine::options(self.page_size);
        options.separate_blocks = self.separate_blocks;
        options.sync_method = self.method;
        options
    }
}

pub struct Worker<'d> {
    pub disk: &'d SimDisk,
    pub shape: Shape,
    pub options: Options,
    pub rng: Rng,
    pub model: Model,
    pub history: History,
    pub store: Option<Store>,
    /// What the transaction appended, and how often it did.
    pub appended: (Vec<Appended>, u32),
}

/// An entry whose key is still to be given: ordinal, tree and value.
type Appended = (u32, u32, Vec<u8>);

/// A key, and what is added to its counters.
type Addition = (Vec<u8>, [i128; 2]);

fn add_to(entries: &mut BTreeMap<Vec<u8>, Vec<u8>>, key: Vec<u8>, deltas: [i128; 2]) {
    let old = entries.get(&key).map_or(vec![0; 2], |old| counters(old, 0).expect("counters").collect());
    let sums: Vec<i128> = old.iter().zip(deltas).map(|(old, delta)| old + delta).collect();
    match sums[0] {
        0 => drop(entries.remove(&key)),
        _ => drop(entries.insert(key, sums.iter().flat_map(|sum| sum.to_le_bytes()).collect())),
    }
}

/// Runs a workload of this seed on a new disk, recording it from the very beginning.
pub fn run(seed: u64, shape: Shape) -> Run {
    let disk = SimDisk::new(seed);
    disk.start_recording();
    let mut worker = Worker::new(&disk, seed, shape);
    for _ in 0..shape.steps {
        worker.step().unwrap_or_else(|error| panic!("workload {seed}: {error}"));
    }
    let (history, options) = (std::mem::take(&mut worker.history), worker.options.clone());
    let recording = disk.take_recording();
    drop(worker);
    Run { recording, history, options, seed }
}

impl<'d> Worker<'d> {
    pub fn new(disk: &'d SimDisk, seed: u64, shape: Shape) -> Worker<'d> {
        let model = Model::from([(TreeId::CATALOG.0, BTreeMap::new())]);
        let options = shape.options();
        let mut history = History::default();
        history.committed(digest_model(&model), 0, true, 0);
        let store = machine::open(disk, &options, seed).expect("a new database opens");
        Worker { disk, shape, options, rng: Rng(!seed), model, history, store: Some(store), appended: (Vec::new(), 0) }
    }

    pub fn now(&self) -> u64 {
        self.disk.operation_count()
    }

    pub fn store(&self) -> &Store {
        self.store.as_ref().expect("open")
    }

    pub fn step(&mut self) -> Result<()> {
        match self.rng.below(40) {
            0 => self.reopen(),
            1 => self.store().compact().map(drop).map(|()| self.all_durable()),
            2..5 => self.store().checkpoint().map(|()| self.all_durable()),
            5 => self.verify(),
            6..16 => self.point(),
            _ => self.transaction(),
        }
    }

    fn verify(&mut self) -> Result<()> {
        let found = self.store().verify()?;
        assert_eq!(found.leaked_pages, 0, "pages belong to nothing: {found:?}");
        self.all_durable();
        assert_eq!(digest_store(self.store())?, digest_model(&self.model));
        Ok(())
    }

    fn all_durable(&mut self) {
        let now = self.now();
        self.history.all_durable(now);
    }

    fn reopen(&mut self) -> Result<()> {
        if let Some(store) = self.store.take() {
            store.close()?;
        }
        self.all_durable();
        let seed = self.rng.next();
        self.store = Some(machine::open(self.disk, &self.options, seed)?);
        Ok(())
    }

    fn mode(&mut self) -> Durability {
        match self.rng.below(if self.shape.weak_modes { 6 } else { 3 }) {
            0 | 1 => Durability::Full,
            2 => Durability::Group,
            3 | 4 => Durability::Off,
            _ => Durability::Interval,
        }
    }

    fn committed(&mut self, model: Model, begun: u64, mode: Durability) {
        let durable = matches!(mode, Durability::Full | Durability::Group);
        let now = self.now();
        self.history.committed(digest_model(&model), begun, durable, now);
        if std::env::var_os("CAIRN_CRASH_TRACE").is_some() {
            println!("state {}: {mode:?} {begun}..{now}", self.history.0.len() - 1);
        }
        self.model = model;
    }

    /// A point write: some failing on purpose, some acknowledged later.
    fn point(&mut self) -> Result<()> {
        let (mut model, mode) = (self.model.clone(), self.mode());
        let tree = self.tree(&model);
        let (key, value) = (self.key(), self.value(60));
        let (fails, later) = (self.rng.one_in(5), self.rng.one_in(4));
        let appends = self.shape.appends && self.rng.one_in(2);
        let addition = (self.shape.adds && self.rng.one_in(2)).then(|| self.addition(&model, tree));
        let begun = self.now();
        let mut session = self.store().session()?;
        let acknowledge = if later { Acknowledge::Later } else { Acknowledge::Now(Some(mode)) };
        let result = session.write(acknowledge, |writer| {
            if writer.get(TreeId(tree), &key).is_ok_and(|old| old.is_some()) {
                writer.delete(TreeId(tree), &key)?;
            }
            writer.put(TreeId(tree), &key, &value)?;
            if appends {
                writer.append(TreeId(tree), &value)?;
            }
            if let Some((key, deltas)) = &addition {
                writer.add(TreeId(tree), key, &[], deltas)?;
            }
            if fails { Err(WriteError::Caller(())) } else { Ok(()) }
        });
        let result = result.map(|((), ticket)| ticket);
        drop(session);
        if let Some((key, deltas)) = addition {
            add_to(model.entry(tree).or_default(), key, deltas);
        }
        match result {
            Ok(ticket) => {
                if appends {
                    let key = AppendKey::new(ticket.position(), 0);
                    model.entry(tree).or_default().insert(key.bytes().to_vec(), value.clone());
                }
                model.entry(tree).or_default().insert(key, value);
                let position = ticket.position();
                let waited = ticket.wait();
                let outcome = self.outcome(waited, model, begun, if later { Durability::Full } else { mode });
                self.tell(position, outcome.is_ok());
                outcome
            }
            // The old value is a long one.
            Err(WriteError::Caller(()) | WriteError::Storage(Error::TooLarge)) => Ok(()),
            Err(WriteError::Storage(error)) => {
                // Also a failure rests on what it saw, which may be lost.
                if !fails {
                    model.entry(tree).or_default().insert(key, value);
                    return self.outcome(Err(error), model, begun, mode);
                }
                Err(error)
            }
        }
    }

    /// What the last commit's position is told as; 0: it has none, for it changed nothing.
    fn tell(&mut self, position: u64, is_committed: bool) {
        if position > 0 && is_committed {
            let told = (self.store().told(position), self.now());
            self.history.0.last_mut().expect("it was committed").told = Some(told);
        }
    }

    /// What became of a commit.
    fn outcome(&mut self, result: Result<()>, model: Model, begun: u64, mode: Durability) -> Result<()> {
        match &result {
            Ok(()) => self.committed(model, begun, mode),
            Err(Error::OutcomeUnknown { .. }) => {
                self.history.committed(digest_model(&model), begun, false, 0);
            }
            Err(_) => {}
        }
        result
    }

    fn transaction(&mut self) -> Result<()> {
        let store = self.store().clone();
        let transaction = store.begin()?;
        let mut model = self.model.clone();
        self.appended = (Vec::new(), 0);
        if self.rng.one_in(6) {
            let tree =
                if self.rng.one_in(2) { transaction.create_tree()? } else { transaction.create_derived_tree()? };
            model.insert(tree.0, BTreeMap::new());
        }
        if self.rng.one_in(10) && model.len() > 3 {
            let tree = *model.keys().nth(1 + self.rng.below(model.len() - 1)).expect("in range");
            transaction.drop_tree(TreeId(tree))?;
            model.remove(&tree);
        }
        // Now and then more than one log record holds.
        let changes = if self.rng.one_in(12) { 60 } else { 1 + self.rng.below(8) };
        for _ in 0..changes {
            self.change(&transaction, &mut model)?;
        }
        if self.rng.one_in(4) {
            let (before, savepoint) = (model.clone(), transaction.savepoint()?);
            let appended = self.appended.0.len();
            let changes = if self.rng.one_in(6) { 60 } else { self.rng.below(10) };
            for _ in 0..changes {
                self.change(&transaction, &mut model)?;
            }
            if self.rng.one_in(2) {
                transaction.rollback_to(&savepoint)?;
                model = before;
                self.appended.0.truncate(appended);
            }
        }
        if self.rng.one_in(10) {
            transaction.rollback();
            return Ok(());
        }
        self.commit(transaction, model)
    }

    fn commit(&mut self, transaction: Transaction, mut model: Model) -> Result<()> {
        let (begun, mode) = (self.now(), self.mode());
        // A commit of nothing promises nothing, in any mode.
        let mode = if transaction.has_changes() { mode } else { Durability::Off };
        let pipelined = self.rng.one_in(8) && mode != Durability::Off;
        let mut position = None;
        let result = match pipelined {
            true => transaction.commit_async().and_then(|ticket| {
                position = Some(ticket.position());
                ticket.wait()
            }),
            false => transaction
                .commit_or_note(Some(mode), &mut Losses::default(), &|| false)
                .map(|committed| position = committed),
        };
        for (ordinal, tree, value) in self.appended.0.drain(..) {
            let key = AppendKey::new(position.unwrap_or_default(), ordinal);
            model.entry(tree).or_default().insert(key.bytes().to_vec(), value);
        }
        let outcome = self.outcome(result, model, begun, if pipelined { Durability::Full } else { mode });
        self.tell(position.unwrap_or_default(), outcome.is_ok());
        match outcome {
            // It was too large for what log there is, or dropped a tree whose pages an undone point write changed:
            // nothing of it stays.
            Err(Error::DiskFull { .. } | Error::Conflict) => Ok(()),
            result => result,
        }
    }

    fn tree(&mut self, model: &Model) -> u32 {
        *model.keys().nth(self.rng.below(model.len())).expect("there is always a tree")
    }

    fn key(&mut self) -> Vec<u8> {
        let n = self.rng.below(self.shape.keys);
        match n % 3 {
            0 => (n as u16).to_be_bytes().to_vec(),
            _ => format!("shared/prefix/{n}").into_bytes(),
        }
    }

    fn value(&mut self, longest: usize) -> Vec<u8> {
        let (length, byte) = (self.rng.below(longest), self.rng.next() as u8);
        (0..length).map(|i| byte.wrapping_add(i as u8)).collect()
    }

    /// What is added to which entry: it may come with it, and go.
    fn addition(&mut self, model: &Model, tree: u32) -> Addition {
        let key = format!("sum/{}", self.rng.below(5)).into_bytes();
        let old = model.get(&tree).and_then(|entries| entries.get(&key));
        let count = old.map_or(0, |old| counters(old, 0).expect("counters").next().expect("a count"));
        let count = if self.rng.one_in(4) { -count } else { 1 + self.rng.below(3) as i128 };
        (key, [count, (self.rng.next() as i128) << self.rng.below(50)])
    }

    fn change(&mut self, transaction: &Transaction, model: &mut Model) -> Result<()> {
        let tree = self.tree(model);
        if self.shape.adds && self.rng.one_in(4) {
            let (key, deltas) = self.addition(model, tree);
            transaction.add(TreeId(tree), &key, &[], &deltas)?;
            add_to(model.get_mut(&tree).expect("the tree is there"), key, deltas);
            return Ok(());
        }
        let key = self.key();
        let entries = model.get_mut(&tree).expect("the tree is there");
        let tree = TreeId(tree);
        match self.rng.below(if self.shape.appends { 7 } else { 5 }) {
            5 | 6 => {
                let long = self.rng.one_in(self.shape.long);
                let value = self.value(if long { self.shape.page_size * 6 } else { 50 });
                transaction.append(tree, &value)?;
                self.appended.0.push((self.appended.1, tree.0, value));
                self.appended.1 += 1;
            }
            0 => {
                let found = transaction.delete(tree, &key)?;
                assert_eq!(found, entries.remove(&key).is_some());
            }
            1 if entries.get(&key).is_some_and(|value| !value.is_empty()) => {
                let value = entries.get_mut(&key).expect("just seen");
                let at = self.rng.below(value.len());
                let bytes: Vec<u8> = (at..value.len().min(at + 9)).map(|_| self.rng.next() as u8).collect();
                transaction.patch(tree, &key, at, &bytes)?;
                value[at..at + bytes.len()].copy_from_slice(&bytes);
            }
            _ => {
                let long = self.rng.one_in(self.shape.long);
                let value = self.value(if long { self.shape.page_size * 6 } else { 50 });
                transaction.put(tree, &key, &value)?;
                entries.insert(key, value);
            }
        }
        Ok(())
    }
}
