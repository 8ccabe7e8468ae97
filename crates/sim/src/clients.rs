//! The clients of a run: writers, readers, changers of the schema, and who looks after the database.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cairn_storage::io::{Create, FileSystem, OpenHow, SimDisk};
use cairn_storage::simulated::Scheduler as _;
use cairn_storage::{
    Acknowledge, Durability, Error, Losses, Patience as _, PointReader, PointWriter, Result, Session, Snapshot, Store,
    Ticket, Transaction, TreeId, WriteError,
};

use crate::company;
use crate::feed;
use crate::history::{Outcome, Txn};
use crate::hurry::Hurry;
use crate::machine;
use crate::random::Random;
use crate::rows::{Get, Noted, Point, Shared, TABLES, Table, is_expected};
use crate::run::Did;
use crate::scheduler;
use crate::shape::{Shape, is_tried};
use crate::sums;
use crate::told;
use crate::value::Register;
use crate::wakers::Given;

/// What the clients of one life share.
pub struct World {
    /// Of the whole run.
    pub history: Shared,
    /// Of the run.
    pub shape: Shape,
    /// The disk of this life.
    pub disk: SimDisk,
    /// Whether a sync failed in this life: from then on pages that were written may be gone, until it is reopened.
    pub sync_failed: machine::SyncFailed,
    /// Operations that the clients may still begin.
    pub left: Cell<u32>,
    /// Whether the disk has hardly more room than what there was when this life began.
    pub is_full: bool,
    /// Whether calls fail that name files.
    pub names_fail: bool,
    /// What was done.
    pub did: Arc<Mutex<Did>>,
}

impl World {
    /// Whether there is something left to do.
    pub fn take_turn(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0 && !self.disk.has_crashed()
    }

    /// Notes what was done.
    pub fn note(&self, note: impl FnOnce(&mut Did)) {
        note(&mut self.did.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether the error ends this life of the database. One that nothing explains ends the run.
    pub fn is_over(&self, error: &Error) -> bool {
        let has_lost = self.sync_failed.load(Ordering::Relaxed) || self.disk.fault_counts().writebacks > 0;
        let is_gone = matches!(error, Error::Corrupt { .. }) && has_lost;
        let is_old = matches!(error, Error::SnapshotTooOld) && self.shape.max_snapshot_age.is_some();
        if !is_expected(error) && !is_gone && !is_old {
            scheduler::current().fail(format!("an error that nothing explains: {error} ({error:?})"));
        }
        let ended = matches!(error, Error::OutcomeUnknown { .. } | Error::Poisoned { .. } | Error::Closed);
        ended || is_gone || self.disk.has_crashed()
    }
}

/// What a client does all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Point writes, transactions, now and then the schema.
    Writer,
    /// Snapshots and point reads.
    Reader,
    /// Checkpoints, backups, compaction, checks.
    Keeper,
    /// Closes the database at some time.
    Closer,
    /// Snapshots of many versions.
    Holder,
    /// Sessions that do nothing.
    Idler,
    /// Follows what changes.
    Watcher,
    /// Takes what is appended.
    Listener,
}

/// One client.
pub struct Client {
    pub(crate) world: Rc<World>,
    pub(crate) store: Store,
    session: Option<Session>,
    pub(crate) random: Random,
    /// Commits that were not waited for yet.
    tickets: Vec<(Txn, Ticket)>,
    /// Whether there was no slot for something of its own.
    refused: Cell<bool>,
    /// To wait with for commits.
    given: Given,
    /// Of the transaction that runs, if it does not wait for ever.
    pub(crate) hurry: Option<Arc<Hurry>>,
    /// Whether the value that it ends with has room in the log, whatever others commit.
    pub(crate) is_sure: bool,
}

/// Whether a crash may take back what was committed so, although readers saw it.
fn is_weak(mode: Durability) -> bool {
    matches!(mode, Durability::Interval | Durability::Off)
}

pub(crate) const PROMISED: Outcome = Outcome::Committed { promised: true };

/// Runs a client until there is nothing left to do, or the database is gone.
pub fn run(kind: Kind, world: Rc<World>, store: Store, seed: u64) {
    match kind {
        Kind::Closer => return company::close(&world, store, seed),
        Kind::Holder => return company::hold(&world, &store, seed),
        Kind::Idler => return company::idle(&world, &store, seed),
        Kind::Listener => return feed::listen(&world, &store, seed),
        Kind::Watcher => return company::watch(&world, &store, seed),
        _ => {}
    }
    let (random, refused) = (Random::new(seed), Cell::new(false));
    let given = Given::default();
    let (hurry, is_sure) = (None, false);
    let mut client =
        Client { world, store, session: None, random, tickets: Vec::new(), refused, given, hurry, is_sure };
    while client.take_turn() {
        let result = match kind {
            Kind::Writer => client.write(),
            Kind::Reader => client.read(),
            _ => client.keep(),
        };
        if result.is_err_and(|error| client.is_over(&error)) {
            break;
        }
        client.rest();
    }
    client.settle(0);
    client.given.are_gone(&client.world);
}

impl Client {
    fn take_turn(&self) -> bool {
        self.world.take_turn()
    }

    fn rest(&mut self) {
        if self.random.one_in(4) {
            let time = Duration::from_micros(self.random.below(2000));
            scheduler::current().sleep(time);
        }
    }

    /// Whether the error ends this life of the database. One that nothing explains ends the run.
    fn is_over(&self, error: &Error) -> bool {
        if matches!(error, Error::TooManySnapshots { .. }) && !self.refused.take() && is_tried("slots") {
            scheduler::current().fail("what needs no slot was refused for want of one".to_owned());
        }
        self.world.is_over(error)
    }

    /// Asks for what takes a slot.
    pub(crate) fn ask<T>(&self, opened: Result<T>) -> Result<T> {
        opened.inspect_err(|_| self.refused.set(true))
    }

    pub(crate) fn begin(&self, kind: &'static str, published: bool) -> Noted {
        let mut history = self.world.history.borrow_mut();
        let txn = history.begin(kind);
        history.txns[txn].published = published;
        Noted { history: self.world.history.clone(), txn }
    }

    pub(crate) fn end(&self, noted: &Noted, outcome: Outcome) {
        self.world.history.borrow_mut().end(noted.txn, outcome);
    }

    /// Notes a commit's result.
    fn told(&self, noted: &Noted, result: Result<()>, mode: Durability) -> Result<()> {
        let outcome = match &result {
            Ok(()) => Outcome::Committed { promised: !is_weak(mode) },
            Err(Error::OutcomeUnknown { .. }) => Outcome::Unknown,
            Err(_) => Outcome::Aborted,
        };
        self.end(noted, outcome);
        result
    }

    fn mode(&mut self) -> Durability {
        let strong = [Durability::Full, Durability::Full, Durability::Full, Durability::Group];
        if self.world.shape.grouped && !self.random.one_in(4) {
            return Durability::Group;
        }
        let all = [Durability::Full, Durability::Group, Durability::Interval, Durability::Off];
        self.random.pick(if self.world.shape.weak { &all } else { &strong })
    }

    fn key(&mut self) -> u32 {
        self.random.below(self.world.shape.keys.into()) as u32
    }

    fn length(&mut self) -> usize {
        match self.random.one_in(self.world.shape.long) {
            true => 150 + self.random.below(self.world.shape.sizes.value_bytes - 150) as usize,
            false => self.random.below(70) as usize,
        }
    }

    // Writing.

    fn write(&mut self) -> Result<()> {
        if self.random.one_in(3) {
            self.settle(2);
        }
        match self.random.below(20) {
            0..8 => match self.point_write() {
                Err(Error::TooLarge) => self.transaction(),
                result => result,
            },
            8..18 => self.transaction(),
            _ => self.change_schema(),
        }
    }

    fn point_write(&mut self) -> Result<()> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.ask(self.store.session())?,
        };
        let result = self.point_write_by(&mut session);
        self.session = Some(session);
        result
    }

    fn point_write_by(&mut self, session: &mut Session) -> Result<()> {
        let noted = self.begin("point write", false);
        let (table, keys) = (self.random.below(TABLES.into()) as u32, [self.key(), self.key()]);
        let keys = &keys[..1 + self.random.below(2) as usize];
        let (mode, length) = (self.mode(), self.random.below(40) as usize);
        let (only_reads, fails) = (self.random.one_in(6), self.random.one_in(6));
        let acknowledge = if self.random.one_in(5) { Acknowledge::Later } else { Acknowledge::Now(Some(mode)) };
        let (by, tallies) = (Random::new(self.random.number()), self.random.one_in(8));
        noted.history.borrow_mut().txns[noted.txn].weak =
            matches!(acknowledge, Acknowledge::Now(Some(mode)) if is_weak(mode));
        let panics = self.world.shape.company.panics && self.random.one_in(60);
        let closure = |writer: &mut PointWriter<'_>| {
            noted.history.borrow_mut().restart(noted.txn);
            let mut by = by.clone();
            let writer = &mut Point::new(writer);
            let (Some(table), _) = noted.table(writer, table)? else { return Ok(()) };
            for &key in keys {
                match only_reads {
                    true => drop(noted.read(writer, Register { tree: table.rows.0, key })?),
                    false => noted.change(writer, &table, key, length, &mut by)?,
                }
            }
            match only_reads {
                true if tallies => drop(noted.read_tallies(writer)?),
                false if tallies => noted.tally(writer).and_then(|()| noted.append(writer))?,
                _ => {}
            }
            if panics {
                // Told to nobody: it is not a failure of the run.
                resume_unwind(Box::new("on purpose"));
            }
            if fails { Err(WriteError::Caller(())) } else { Ok(()) }
        };
        match catch_unwind(AssertUnwindSafe(|| session.write(acknowledge, closure))) {
            Ok(result) => self.point_written(&noted, result, mode),
            Err(_) => {
                self.world.note(|did| did.panics += 1);
                self.end(&noted, Outcome::Aborted);
                Ok(())
            }
        }
    }

    fn point_written(
        &mut self,
        noted: &Noted,
        result: Result<((), Ticket), WriteError<()>>,
        mode: Durability,
    ) -> Result<()> {
        let has_written = |noted: &Noted| {
            let history = noted.history.borrow();
            history.txns[noted.txn].writes.iter().any(|&op| !history.writes[op as usize].undone)
        };
        match result {
            Ok(((), ticket)) if !ticket.is_durable() => {
                self.note_place(noted.txn, ticket.position());
                self.tickets.push((noted.txn, ticket));
                Ok(())
            }
            Ok(((), ticket)) if has_written(noted) => {
                self.note_place(noted.txn, ticket.position());
                self.told(noted, Ok(()), mode)
            }
            // What an answer without a change rests on is durable in every mode.
            Ok(_) | Err(WriteError::Caller(())) => {
                self.world.history.borrow_mut().undo(noted.txn, 0);
                self.world.history.borrow_mut().txns[noted.txn].rested = true;
                self.told(noted, Ok(()), Durability::Full)
            }
            Err(WriteError::Storage(error)) => self.told(noted, Err(error), mode),
        }
    }

    fn transaction(&mut self) -> Result<()> {
        let noted = self.begin("transaction", true);
        let begun = self.begin_transaction();
        let mut transaction = self.ask(begun)?;
        let company = self.world.shape.company;
        let is_huge = company.huge && self.random.one_in(30) || company.room && self.random.one_in(6);
        let mut outcome = match is_huge {
            true => self.fill_huge(&noted, &mut transaction),
            false => self.fill_transaction(&noted, &mut transaction),
        };
        if matches!(outcome, Err(Error::DiskFull { .. })) && self.random.one_in(2) {
            outcome = self.try_again(&transaction).and(outcome);
        }
        let result = self.commit(&noted, transaction, outcome);
        if is_huge { self.judge_huge(noted.txn, result) } else { result }
    }

    /// Who finds no room keeps what he has changed, and tries for a while, before he gives up: he has every frame then that new
    /// pages may have. What he writes is rolled back, so nobody notes it.
    fn try_again(&mut self, transaction: &Transaction) -> Result<()> {
        for _ in 0..self.random.below(40) {
            // Of one page each.
            match transaction.create_tree().and_then(|tree| transaction.put(tree, b"key", b"value")) {
                Err(error) if !is_expected(&error) || matches!(error, Error::GivenUp) => return Err(error),
                _ => self.rest(),
            }
        }
        scheduler::current().sleep(Duration::from_micros(self.random.below(150_000)));
        Ok(())
    }

    fn fill_transaction(&mut self, noted: &Noted, transaction: &mut Transaction) -> Result<()> {
        // Where nothing can be written, pages that were changed fill the cache.
        let is_large =
            if self.world.is_full { self.random.one_in(4) } else { self.world.shape.large && self.random.one_in(8) };
        if is_large {
            return self.fill_large(noted, transaction);
        }
        for _ in 0..1 + self.random.below(3) {
            match self.random.below(11) {
                0..5 => self.change_rows(noted, transaction, 3)?,
                5 => self.scan_part(noted, transaction)?,
                6 => self.read_sums(noted, transaction)?,
                7..9 => self.try_and_roll_back(noted, transaction)?,
                9 => self.tally(noted, transaction)?,
                _ => self.change_rows(noted, transaction, 12)?,
            }
            if self.random.one_in(8) {
                scheduler::current().sleep(Duration::from_micros(self.random.clone().below(3000)));
            }
        }
        Ok(())
    }

    /// Goes to the log in many parts, some of which are taken back; may be too large for it.
    fn fill_large(&mut self, noted: &Noted, transaction: &mut Transaction) -> Result<()> {
        let number = self.random.below(TABLES.into()) as u32;
        let (Some(table), _) = noted.table(transaction, number)? else { return Ok(()) };
        for _ in 0..1 + self.random.below(3) {
            let savepoint = self.random.one_in(3).then(|| transaction.savepoint()).transpose()?;
            let kept = self.world.history.borrow().txns[noted.txn].writes.len();
            for _ in 0..4 + self.random.below(12) {
                let (key, length) = (self.key(), 400 + self.random.below(1400) as usize);
                noted.change(transaction, &table, key, length, &mut self.random)?;
            }
            if let Some(savepoint) = savepoint.filter(|_| self.random.one_in(2)) {
                transaction.rollback_to(&savepoint)?;
                self.world.history.borrow_mut().undo(noted.txn, kept);
            }
        }
        Ok(())
    }

    fn change_rows(&mut self, noted: &Noted, transaction: &mut Transaction, most: u64) -> Result<()> {
        let table = self.random.below(TABLES.into()) as u32;
        let (Some(table), _) = noted.table(transaction, table)? else { return Ok(()) };
        if self.random.one_in(4) {
            noted.append(transaction)?;
        }
        for _ in 0..1 + self.random.below(most) {
            let (key, length) = (self.key(), self.length());
            noted.change(transaction, &table, key, length, &mut self.random)?;
        }
        Ok(())
    }

    fn scan_part(&mut self, noted: &Noted, transaction: &mut Transaction) -> Result<()> {
        let table = self.random.below(TABLES.into()) as u32;
        let (Some(table), _) = noted.table(transaction, table)? else { return Ok(()) };
        let (a, b) = (self.key(), self.key());
        let limit = if self.random.one_in(3) { 1 + self.random.below(4) as usize } else { usize::MAX };
        let range = (a.min(b), a.max(b) + 1);
        let backward = self.random.one_in(3);
        noted.scan(transaction.reader(), table.rows, range, backward, limit).map(drop)
    }

    /// Who looks at what he has added rests on what others added, and who does not is in nobody's way.
    fn tally(&mut self, noted: &Noted, transaction: &mut Transaction) -> Result<()> {
        let [before, after] = [self.random.one_in(4), self.random.one_in(2)];
        if before {
            noted.read_tallies(transaction)?;
        }
        noted.tally(transaction)?;
        if after { noted.read_tallies(transaction).map(drop) } else { Ok(()) }
    }

    /// Some of what rows come to, or all of it, beside the rows: with what the transaction wrote itself.
    fn read_sums(&mut self, noted: &Noted, transaction: &mut Transaction) -> Result<()> {
        let number = self.random.below(TABLES.into()) as u32;
        let (Some(table), _) = noted.table(transaction, number)? else { return Ok(()) };
        if self.random.one_in(4) {
            let rows = noted.scan(transaction.reader(), table.rows, (0, self.world.shape.keys), false, usize::MAX)?;
            return noted.check_sums(transaction.reader(), &table, &rows);
        }
        (0..1 + self.random.below(3)).try_for_each(|_| noted.read_sum(transaction, &table, self.key()))
    }

    fn try_and_roll_back(&mut self, noted: &Noted, transaction: &mut Transaction) -> Result<()> {
        let savepoint = transaction.savepoint()?;
        let kept = self.world.history.borrow().txns[noted.txn].writes.len();
        self.change_rows(noted, transaction, 3)?;
        if self.random.one_in(4) {
            self.tally(noted, transaction)?;
        }
        if self.random.one_in(2) {
            self.change_rows(noted, transaction, 2)?;
        }
        if !self.random.one_in(4) {
            transaction.rollback_to(&savepoint)?;
            self.world.history.borrow_mut().undo(noted.txn, kept);
        }
        Ok(())
    }

    pub(crate) fn commit(&mut self, noted: &Noted, transaction: Transaction, filled: Result<()>) -> Result<()> {
        let hurry = self.hurry.take();
        if filled.is_err() || self.random.one_in(12) {
            self.judge_hurry(hurry.as_deref(), &filled);
            transaction.rollback();
            self.end(noted, Outcome::Aborted);
            return self.ask(filled);
        }
        if hurry.is_none() && self.random.one_in(5) {
            let result = transaction.commit_async();
            return match result {
                Ok(ticket) => {
                    self.note_place(noted.txn, ticket.position());
                    self.tickets.push((noted.txn, ticket));
                    Ok(())
                }
                Err(error) => self.told(noted, Err(error), Durability::Full),
            };
        }
        let mode = self.mode();
        noted.history.borrow_mut().txns[noted.txn].weak = is_weak(mode);
        let result = match self.random.one_in(8) {
            true if hurry.is_none() => self.commit_in_order(transaction, mode),
            _ => {
                let gives_up = || hurry.as_ref().is_some_and(|hurry| hurry.is_over());
                let result = transaction.commit_or_note(Some(mode), &mut Losses::default(), &gives_up);
                self.judge_hurry(hurry.as_deref(), &result);
                result
            }
        };
        let result = result.map(|place| self.note_place(noted.txn, place.unwrap_or(0)));
        self.told(noted, result, mode)
    }

    fn commit_in_order(&mut self, transaction: Transaction, mode: Durability) -> Result<Option<u64>> {
        let panics = self.world.shape.company.panics && self.random.one_in(10);
        let mut appended = |_| {
            if panics {
                resume_unwind(Box::new("on purpose"));
            }
        };
        let commit = || transaction.commit_in_order(Some(mode), &mut Losses::default(), &|| false, &mut appended);
        match catch_unwind(AssertUnwindSafe(commit)) {
            Ok(committed) => committed,
            Err(_) => {
                self.world.note(|did| did.panics += 1);
                // Nobody was told.
                Err(Error::OutcomeUnknown { cause: "a panic".to_owned() })
            }
        }
    }

    /// Of a commit that changed something.
    fn note_place(&self, txn: Txn, place: u64) {
        if place > 0 {
            told::note(&self.world.history, &self.store, txn, place);
        }
    }

    /// Waits for pipelined commits, all but so many.
    fn settle(&mut self, kept: usize) {
        while self.tickets.len() > kept {
            let (txn, mut ticket) = self.tickets.remove(0);
            let is_task = self.world.shape.company.wakers && self.random.one_in(2);
            let told = if is_task { self.given.poll(&self.world, &mut ticket) } else { None };
            let outcome = if told.unwrap_or_else(|| ticket.wait()).is_ok() { PROMISED } else { Outcome::Unknown };
            self.world.history.borrow_mut().end(txn, outcome);
        }
    }

    fn change_schema(&mut self) -> Result<()> {
        if self.world.shape.is_narrow() && self.random.one_in(2) {
            return self.drop_when_full();
        }
        let noted = self.begin("schema change", true);
        let begun = self.begin_transaction();
        let mut transaction = self.ask(begun)?;
        let outcome = self.fill_schema_change(&noted, &mut transaction);
        self.commit(&noted, transaction, outcome)
    }

    fn fill_schema_change(&mut self, noted: &Noted, transaction: &mut Transaction) -> Result<()> {
        let number = self.random.below(TABLES.into()) as u32;
        let (table, entry) = noted.table(transaction, number)?;
        let Some(table) = table else {
            let rows = transaction.create_tree()?.0;
            let index = if self.random.one_in(2) { transaction.create_tree()?.0 } else { 0 };
            let sums = if self.random.one_in(2) { sums::create(transaction, self.random.one_in(2))?.0 } else { 0 };
            noted.set_table(transaction, number, entry.as_ref(), [rows, index, sums])?;
            return self.change_rows(noted, transaction, 8);
        };
        let [rows, index, sums] = table.trees();
        match (self.random.below(4), table.index, table.sums) {
            (0, ..) => {
                let all = [Some(table.rows), table.index, table.sums];
                all.into_iter().flatten().try_for_each(|tree| transaction.drop_tree(tree))?;
                noted.set_table(transaction, number, entry.as_ref(), [0; 3])
            }
            (1, _, Some(dropped)) => {
                transaction.drop_tree(dropped)?;
                noted.set_table(transaction, number, entry.as_ref(), [rows, index, 0])
            }
            (1, _, None) => self.add_sums(noted, transaction, table, number),
            (_, Some(dropped), _) => {
                transaction.drop_tree(dropped)?;
                noted.set_table(transaction, number, entry.as_ref(), [rows, 0, sums])
            }
            (_, None, _) => self.add_index(noted, transaction, &table, number),
        }
    }

    fn add_index(&self, noted: &Noted, transaction: &mut Transaction, table: &Table, number: u32) -> Result<()> {
        let index = transaction.create_tree()?;
        let keys = self.world.shape.keys;
        let rows = noted.scan(transaction.reader(), table.rows, (0, keys), false, usize::MAX)?;
        noted.fill_index(transaction, index, &rows)?;
        let [of_rows, _, sums] = table.trees();
        noted.set_table(transaction, number, Some(&table.entry), [of_rows, index.0, sums])
    }

    fn add_sums(&mut self, noted: &Noted, transaction: &mut Transaction, mut table: Table, number: u32) -> Result<()> {
        table.sums = Some(sums::create(transaction, self.random.one_in(2))?);
        let keys = self.world.shape.keys;
        let rows = noted.scan(transaction.reader(), table.rows, (0, keys), false, usize::MAX)?;
        noted.fill_sums(transaction, &table, &rows)?;
        noted.set_table(transaction, number, Some(&table.entry), table.trees())
    }

    // Reading.

    fn read(&mut self) -> Result<()> {
        let read = match self.random.below(4) {
            0 => self.point_read(),
            1 => self.hold_snapshot(),
            _ => self.read_snapshot(),
        };
        if matches!(read, Err(Error::DiskFull { .. })) && is_tried("full reads") {
            scheduler::current().fail("a full disk failed who only read".to_owned());
        }
        // Cursors take slots.
        self.ask(read)
    }

    fn read_snapshot(&mut self) -> Result<()> {
        let noted = self.begin("snapshot", true);
        let snapshot = self.store.snapshot()?;
        let read = noted.read_all(snapshot.reader(), self.world.shape.keys, Some(snapshot.trees()));
        self.has_read(&noted, read.map(drop))
    }

    /// What a reader saw counts also where its snapshot was ended under it.
    fn has_read(&self, noted: &Noted, read: Result<()>) -> Result<()> {
        if matches!(read, Ok(()) | Err(Error::SnapshotTooOld)) {
            self.end(noted, PROMISED);
        }
        read
    }

    /// A snapshot stays as it is, whatever happens meanwhile.
    fn hold_snapshot(&mut self) -> Result<()> {
        let noted = self.begin("long snapshot", true);
        let snapshot = self.store.snapshot()?;
        let read = self.read_again(&noted, &snapshot);
        self.has_read(&noted, read)
    }

    fn read_again(&mut self, noted: &Noted, snapshot: &Snapshot) -> Result<()> {
        let keys = self.world.shape.keys;
        let before = noted.read_all(snapshot.reader(), keys, Some(snapshot.trees()))?;
        for _ in 0..1 + self.random.below(3) {
            scheduler::current().sleep(Duration::from_micros(self.random.below(20_000)));
            let after = noted.read_all(snapshot.reader(), keys, Some(snapshot.trees()))?;
            if after != before {
                noted.must::<()>(Err("a snapshot changed".to_owned()));
            }
        }
        Ok(())
    }

    fn point_read(&mut self) -> Result<()> {
        let noted = self.begin("point read", true);
        let (table, keys) = (self.random.below(TABLES.into()) as u32, [self.key(), self.key()]);
        let panics = self.world.shape.company.panics && self.random.one_in(60);
        let mut session = self.store.session()?;
        let mut read = |reader: &PointReader<'_>| {
            noted.history.borrow_mut().txns[noted.txn].reads.clear();
            let (Some(table), _) = noted.table(reader, table)? else { return Ok(()) };
            for key in keys {
                noted.read_sum(reader, &table, key)?;
                match reader_get(&noted, reader, Register { tree: table.rows.0, key }) {
                    // A long value: this path does not read it.
                    Err(Error::TooLarge) => {}
                    result => result?,
                }
            }
            if panics {
                resume_unwind(Box::new("on purpose"));
            }
            Ok(())
        };
        let Ok(result) = catch_unwind(AssertUnwindSafe(|| session.read(&mut read))) else {
            self.world.note(|did| did.panics += 1);
            self.end(&noted, Outcome::Aborted);
            return Ok(());
        };
        match result {
            Ok(()) => {
                self.end(&noted, PROMISED);
                Ok(())
            }
            Err(WriteError::Storage(error)) => Err(error),
            Err(WriteError::Caller(())) => Ok(()),
        }
    }

    // Looking after it.

    fn keep(&mut self) -> Result<()> {
        scheduler::current().sleep(Duration::from_micros(self.random.below(8000)));
        match self.random.below(12) {
            0 if self.world.shape.backups && self.world.shape.company.twice && self.random.one_in(2) => {
                self.ask(self.back_up_twice())
            }
            0 if self.world.shape.backups => {
                let is_contended = self.random.one_in(4);
                self.ask(self.back_up(is_contended))
            }
            1 if self.world.shape.compactions => self.ask(self.store.compact().map(drop)),
            2 => {
                self.store.stats();
                Ok(())
            }
            // Takes slots.
            8 if is_tried("verify") => self.ask(self.check()),
            3..8 => self.store.checkpoint(),
            9 => self.release_memory(),
            _ => Ok(()),
        }
    }

    /// Some of the cache, or all of it.
    fn release_memory(&mut self) -> Result<()> {
        let released = self.store.release_memory(1 << self.random.below(20))?;
        self.world.note(|did| did.released += u64::from(released > 0));
        Ok(())
    }

    fn check(&self) -> Result<()> {
        match self.store.verify()?.leaked_pages {
            0 => Ok(()),
            lost => scheduler::current().fail(format!("{lost} pages are lost, beside work")),
        }
    }

    /// `is_contended`: somebody else makes a file of the same name meanwhile.
    fn back_up(&self, is_contended: bool) -> Result<()> {
        let path = Path::new("backup");
        let noted = self.begin("backup", true);
        self.remove_backup();
        let (disk, mut is_taken) = (&self.world.disk, false);
        let result = self.store.backup_to(path, &mut |_| is_taken |= is_contended && take_name(disk, path));
        let result = match is_taken {
            true => check_taken(disk, path, result),
            false => result.and_then(|()| self.read_backup(&noted, path)),
        };
        self.remove_backup();
        match result {
            Ok(()) => self.end(&noted, PROMISED),
            Err(error @ Error::LogTooSmall { .. }) => {
                scheduler::current().fail(format!("a backup has no room for what there is: {error}"))
            }
            // The copy's own failures are no business of the original's.
            Err(error) if !is_expected(&error) => return Err(error),
            Err(_) => self.end(&noted, Outcome::Aborted),
        }
        Ok(())
    }

    /// What a crash left of one, too.
    pub(crate) fn remove_backup(&self) {
        for name in ["backup", "backup-log", "backup-new"] {
            let _ = FileSystem::remove(&self.world.disk, Path::new(name));
        }
    }

    pub(crate) fn read_backup(&self, noted: &Noted, path: &Path) -> Result<()> {
        let env = machine::environment(&self.world.disk, &self.world.sync_failed);
        let copy = Store::open_with(path, self.world.shape.options(), env)?;
        let snapshot = copy.snapshot()?;
        noted.read_all(snapshot.reader(), self.world.shape.keys, Some(snapshot.trees()))?;
        drop(snapshot);
        let leaked = copy.verify()?.leaked_pages;
        if leaked != 0 {
            noted.must::<()>(Err(format!("{leaked} pages of a backup are lost")));
        }
        copy.close()
    }
}

/// Somebody else makes a file of the backup's name; whether he could. It is synced: a disk that fails to write back what
/// nobody has synced may lose it, without the backup's doing.
fn take_name(disk: &SimDisk, path: &Path) -> bool {
    let how = OpenHow { create: Create::New, read_only: false, direct: false };
    let Ok(file) = disk.open(path, how) else { return false };
    let is_made = file.write_at(OTHERS, 0).and_then(|()| file.sync()).is_ok();
    if !is_made {
        let _ = FileSystem::remove(disk, path);
    }
    is_made
}

const OTHERS: &[u8] = b"another's";

/// What another has made is there still, and the backup is not told of as made.
fn check_taken(disk: &SimDisk, path: &Path, result: Result<()>) -> Result<()> {
    match result {
        Err(error) if disk.has_crashed() || disk.snapshot(path).is_some_and(|bytes| bytes == OTHERS) => Err(error),
        result => {
            let there = disk.snapshot(path);
            scheduler::current().fail(format!("a backup took another's name: {result:?}, and {there:?} is there"))
        }
    }
}

fn reader_get(noted: &Noted, reader: &impl Get, register: Register) -> Result<()> {
    noted.read(reader, register).map(drop)
}

/// The first state: some tables, so that there is something to do from the begin.
pub fn set_up(history: &Shared, store: &Store) -> Result<()> {
    let txn = history.borrow_mut().begin("set-up");
    let noted = Noted { history: history.clone(), txn };
    let mut transaction = store.begin()?;
    history.borrow_mut().feed = Some(transaction.create_tree()?);
    for number in 0..TABLES - 1 {
        let (_, entry) = noted.table(&transaction, number)?;
        let rows = transaction.create_tree()?.0;
        let index = if number == 0 { transaction.create_tree()? } else { TreeId(0) };
        let sums = if number == 1 { transaction.create_tree()? } else { TreeId(0) };
        noted.set_table(&mut transaction, number, entry.as_ref(), [rows, index.0, sums.0])?;
    }
    let result = transaction.commit(Some(Durability::Full));
    let outcome = if result.is_ok() { PROMISED } else { Outcome::Unknown };
    history.borrow_mut().end(txn, outcome);
    result
}
