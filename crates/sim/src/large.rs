//! Values that take much of the log, as the last that a transaction does, beside whatever others commit; and backups that two make at
//! once under one name.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use cairn_storage::simulated::Scheduler as _;
use cairn_storage::{Error, Result, Transaction};

use crate::clients::{Client, PROMISED};
use crate::history::{Outcome, Txn};
use crate::rows::{Noted, TABLES, is_expected};
use crate::scheduler;
use crate::shape::Faults;

/// Keys that may have such a value: all of them would not fit into the file.
const KEYS: u64 = 2;

impl Client {
    /// A few changes, then the large value, and its commit at once.
    pub(crate) fn fill_huge(&mut self, noted: &Noted, transaction: &mut Transaction) -> Result<()> {
        let number = self.random.below(TABLES.into()) as u32;
        let (Some(table), _) = noted.table(transaction, number)? else { return Ok(()) };
        let others = u64::from(self.world.shape.keys) - KEYS;
        for _ in 0..self.random.below(4) {
            let (key, length) = ((KEYS + self.random.below(others)) as u32, self.random.below(70) as usize);
            noted.change(transaction, &table, key, length, &mut self.random)?;
        }
        let sizes = self.world.shape.sizes;
        // Batches that share no block fill it less well.
        let most = if self.world.shape.separate_blocks { 4 } else { 8 };
        let log = sizes.segment * sizes.segments as usize;
        // More than that is stored or not, with whatever is there beside it.
        let drawn = if self.world.shape.company.room && self.random.one_in(3) { 15 } else { most };
        let share = 1 + self.random.below(drawn);
        self.is_sure = share <= most;
        let (key, length) = (self.random.below(KEYS) as u32, log / 16 * share as usize);
        // Replaced, not patched: what is there may be larger than the log of this life.
        let mut by = self.random.clone();
        while by.clone().one_in(3) {
            by.number();
        }
        noted.change(transaction, &table, key, length.min(MOST), &mut by)
    }

    /// What fits in the log is stored, whatever others commit.
    pub(crate) fn judge_huge(&self, txn: Txn, result: Result<()>) -> Result<()> {
        let world = &self.world;
        let is_done = matches!(world.history.borrow().txns[txn].outcome, Outcome::Committed { .. });
        let has_room = world.shape.faults == Faults::default() && !world.disk.has_crashed();
        match &result {
            Ok(()) => world.note(|did| did.huge += u64::from(is_done)),
            Err(error) if has_room && self.is_sure && is_of_log(error) => {
                scheduler::current().fail(format!("a value that fits in the log was refused: {error}"))
            }
            Err(_) => {}
        }
        result
    }

    /// One of them makes it, and the other is told so.
    pub(crate) fn back_up_twice(&self) -> Result<()> {
        let path = Path::new("backup");
        let noted = self.begin("backup", true);
        self.remove_backup();
        let other = Rc::new(RefCell::new(None));
        let (told, store, late) = (other.clone(), self.store.clone(), self.random.clone().below(4000));
        let work = move || {
            scheduler::current().sleep(Duration::from_micros(late));
            told.replace(Some(store.backup_to(path, &mut |_| {})));
        };
        let thread = scheduler::current().spawn("backup", Box::new(work));
        let made = self.store.backup_to(path, &mut |_| {});
        scheduler::current().join(thread);
        let other = other.take().unwrap_or(Err(Error::Ended));
        self.world.note(|did| did.twice += 1);
        for told in [&made, &other] {
            self.check_backup(told);
        }
        let result = if made.is_ok() { made } else { other };
        let result = result.and_then(|()| self.read_backup(&noted, path));
        self.remove_backup();
        match result {
            Ok(()) => self.end(&noted, PROMISED),
            Err(error) if !is_expected(&error) && !matches!(error, Error::Busy { .. }) => return Err(error),
            Err(_) => self.end(&noted, Outcome::Aborted),
        }
        Ok(())
    }

    /// Who did not make it came second.
    fn check_backup(&self, told: &Result<()>) {
        let Err(error) = told else { return };
        let is_second = match error {
            Error::CannotOpen { error, .. } => error.kind() == ErrorKind::AlreadyExists,
            error => !matches!(error, Error::Io { .. } | Error::Corrupt { .. }),
        };
        if !is_second
            && self.world.shape.faults == Faults::default()
            && !self.world.names_fail
            && !self.world.disk.has_crashed()
        {
            scheduler::current().fail(format!("of two backups at once: {error} ({error:?})"));
        }
    }
}

/// Whether it is told that there is no room in the log.
fn is_of_log(error: &Error) -> bool {
    match error {
        Error::OutlivedLog | Error::LogTooSmall { .. } => true,
        Error::DiskFull { what, .. } => what.starts_with("extend the log"),
        _ => false,
    }
}

/// Bytes of such a value: it lies in pages of the file, too, of which there are so many.
const MOST: usize = 160 << 10;
