//! The log's commits, applied to what was saved: up to where the log is damaged. What lies behind the damage is handed
//! over apart, for nobody knows what the lost commits between did to the same rows.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::report::{Doubt, Lost};
use super::rescue::Rescue;
use super::source::WholeSegments;
use super::target::UncertainEntry;
use crate::engine::meta::Meta;
use crate::engine::{AppendKey, Deltas, Op, OpStream, Ops, Sum};
use crate::env::Environment;
use crate::io::{Create, File, OpenHow};
use crate::log::format::{BLOCK, LogIdentity, read_record};
use crate::log::{self, Epoch, Pieces, RecordKind, Scan, Visited, log_path};
use crate::page::PageRef;
use crate::{Error, Result, TreeId};

/// No log gets so far: what says so is forged.
const POSITION_MAX: u64 = 1 << 60;

/// A log that belongs to the database.
struct FoundLog {
    file: Arc<dyn File>,
    identity: LogIdentity,
    epochs: Vec<Epoch>,
}

impl Rescue<'_, '_> {
    /// Applies the log beside `from`, if the database needs one.
    pub(super) fn log(&mut self, from: &Path, env: &Environment) -> Result<()> {
        let state = self.state;
        let path = log_path(from);
        let exists = env.files.exists(&path).unwrap_or(false);
        let Some(meta) = &state.meta else {
            if exists {
                self.report.notes.push(format!(
                    "the log \"{}\" was not used: without a meta page it is not known where to begin in it",
                    path.display()
                ));
            }
            return Ok(());
        };
        if meta.clean && !(state.meta_lost && exists) {
            return Ok(());
        }
        let found = match exists {
            true => self.open(&path, meta, env),
            false => Err(format!("the log \"{}\" is missing", path.display())),
        };
        match found {
            Ok(log) => self.apply(meta, &log),
            Err(_) if meta.clean => Ok(()),
            Err(why) => {
                self.report.notes.push(format!(
                    "{why}: what was committed after the last checkpoint is lost, and what was deleted since is there again"
                ));
                Ok(())
            }
        }
    }

    fn open(&mut self, path: &Path, meta: &Meta, env: &Environment) -> Result<FoundLog, String> {
        let told = |error: std::io::Error| format!("the log \"{}\" can not be read ({error})", path.display());
        let how = OpenHow { create: Create::Never, read_only: true, direct: false };
        let file = env.files.open(path, how).map_err(told)?;
        let length = file.len().map_err(told)?;
        let mut block = [0; BLOCK];
        let read = file.read_at(&mut block, 0).ok().and_then(|()| LogIdentity::decode(&block).ok().flatten());
        if let Some(identity) = read
            && identity.database != meta.database
        {
            return Err(format!("the log \"{}\" belongs to another database", path.display()));
        }
        // Its header is damaged: the meta page knows what was in it.
        let identity = read.unwrap_or(LogIdentity { database: meta.database, segment_bytes: meta.log_segment_bytes });
        let segment = u64::from(identity.segment_bytes);
        if !identity.segment_bytes.is_power_of_two() || segment < BLOCK as u64 || segment > 1 << 30 {
            return Err(format!("the log \"{}\" is damaged", path.display()));
        }
        let positions = meta.epochs.iter().flat_map(|epoch| [epoch.start, epoch.end]).filter(|&at| at != Epoch::OPEN);
        if positions.chain([meta.needed_from, meta.position]).any(|at| at > POSITION_MAX) {
            return Err(format!("the meta page names no place in the log \"{}\"", path.display()));
        }
        let whole = BLOCK as u64 + length.saturating_sub(BLOCK as u64).next_multiple_of(segment);
        let file: Arc<dyn File> = Arc::new(WholeSegments { file, length: whole });
        let mut epochs = meta.epochs.clone();
        let later = log::later_epochs(&file, identity, &epochs).map_err(|error| error.to_string())?;
        match self.state.meta_lost {
            true => epochs.extend(later),
            false if !later.is_empty() => self.report.notes.push(format!(
                "the log \"{}\" holds commits that this file does not know of: it is an older copy of the database",
                path.display()
            )),
            false => {}
        }
        Ok(FoundLog { file, identity, epochs })
    }

    fn apply(&mut self, meta: &Meta, log: &FoundLog) -> Result<()> {
        let FoundLog { file, identity, epochs } = log;
        let scan = Scan { file, identity: *identity, epochs, from: meta.needed_from, must_reach: meta.position };
        let mut commits = Commits { parts: HashMap::default(), epoch: usize::MAX, position: meta.position };
        let mut behind = Commits { parts: HashMap::default(), epoch: usize::MAX, position: 0 };
        let this = std::cell::RefCell::new(&mut *self);
        let found = log::scan_damaged(
            &scan,
            &mut |batch| commits.batch(file, &batch, &mut |op| this.borrow_mut().redo(op)),
            &mut |batch| behind.batch(file, &batch, &mut |op| this.borrow_mut().set_apart(op)),
        );
        let damage = match found {
            Ok((_, damage)) => damage,
            Err(error @ Error::Corrupt { .. }) => Some(error),
            Err(error) => return Err(error),
        };
        if let Some(damage) = damage {
            self.report.notes.push(format!(
                "{damage}; the new database is as it was before them, and rows that whole commits behind the damage changed are among the uncertain ones"
            ));
        }
        Ok(())
    }

    /// Does again what a commit did.
    fn redo(&mut self, op: Op<'_>) -> Result<()> {
        let tree = op.tree();
        match op {
            Op::Create { .. } => return self.target.ensure_tree(tree),
            Op::Drop { .. } => {
                self.holes.retain(|hole| hole.tree != tree);
                self.report.losses.retain(|loss| loss.tree != tree);
                return self.target.drop_tree(tree);
            }
            _ if tree.is_derived() => return Ok(()),
            _ => {}
        }
        if self.state.trees.is_none() {
            self.target.ensure_tree(tree)?;
        }
        let done = match op {
            Op::Put { key, value, .. } => self.target.put(tree, key, value),
            Op::Delete { key, .. } => self.target.delete(tree, key).map(drop),
            Op::Patch { key, offset, bytes, .. } => self.target.patch(tree, key, offset, bytes),
            Op::Add { key, front, deltas, .. } => self.redo_add(tree, key, front, deltas),
            Op::Append { .. } | Op::Create { .. } | Op::Drop { .. } => Ok(()),
        };
        match done {
            // The row that it changes is among those lost.
            Err(Error::BadPatch | Error::NoSuchTree(_) | Error::KeyTooLong { .. }) => Ok(()),
            result => result,
        }
    }

    /// An entry that may be among those lost is not begun anew: nobody could tell what comes of it from a whole sum.
    fn redo_add(&mut self, tree: TreeId, key: &[u8], front: &[u8], deltas: &[u8]) -> Result<()> {
        let old = self.target.get(tree, key)?;
        let may_be_lost = || self.state.trees.is_none() || self.report.losses.iter().any(|loss| loss.covers(tree, key));
        if old.is_none() && may_be_lost() {
            return Ok(());
        }
        match sum_of(tree, old.as_deref(), front, deltas) {
            Ok(Some(value)) => self.target.put(tree, key, &value),
            Ok(None) => self.target.delete(tree, key).map(drop),
            Err(error) => {
                self.report.lost(tree, Lost::Entry(key.to_vec()), error.to_string());
                Ok(())
            }
        }
    }

    /// Hands over what a commit behind the damage did.
    fn set_apart(&mut self, op: Op<'_>) -> Result<()> {
        let tree = op.tree();
        if tree.is_derived() {
            return Ok(());
        }
        let (key, value, doubt) = match op {
            Op::Put { key, value, .. } => (key, Some(value.to_vec()), Doubt::WrittenLater),
            Op::Delete { key, .. } => (key, self.target.get(tree, key)?, Doubt::DeletedLater),
            Op::Patch { key, offset, bytes, .. } => {
                let mut value = self.target.get(tree, key)?;
                if let Some(value) = &mut value {
                    let part = value.get_mut(offset..).and_then(|rest| rest.get_mut(..bytes.len()));
                    part.into_iter().for_each(|part| part.copy_from_slice(bytes));
                }
                (key, value, Doubt::ChangedLater)
            }
            Op::Add { key, front, deltas, .. } => match self.target.get(tree, key)? {
                // The lost commits may have begun it: what it comes to is not known.
                None => return Ok(()),
                Some(old) => match sum_of(tree, Some(&old), front, deltas) {
                    Ok(None) => (key, Some(old), Doubt::DeletedLater),
                    sum => (key, sum.unwrap_or_default(), Doubt::ChangedLater),
                },
            },
            Op::Append { .. } | Op::Create { .. } | Op::Drop { .. } => return Ok(()),
        };
        let Some(value) = value else { return Ok(()) };
        self.doubt(UncertainEntry { tree, key: key.to_vec(), value, doubt, page: PageRef::NONE })
    }
}

/// What an entry of counters comes to with something added; `None`: it goes.
fn sum_of(tree: TreeId, old: Option<&[u8]>, front: &[u8], deltas: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut sum = Sum::new();
    sum.add(tree, old, front, Deltas::Encoded(deltas))?;
    Ok(sum.value().map(<[u8]>::to_vec))
}

/// Puts transactions together from the log's records.
struct Commits {
    parts: HashMap<u64, Pieces>,
    epoch: usize,
    /// Commits whose record ends before this are in the checkpoint.
    position: u64,
}

impl Commits {
    fn batch(
        &mut self,
        file: &Arc<dyn File>,
        batch: &Visited<'_>,
        each: &mut dyn FnMut(Op<'_>) -> Result<()>,
    ) -> Result<()> {
        if batch.epoch != self.epoch {
            // What an earlier run left uncommitted stays so.
            self.parts.clear();
            self.epoch = batch.epoch;
        }
        let start = batch.position + log::format::BATCH_HEADER as u64;
        let mut records = batch.records;
        while let Some((kind, operations)) = read_record(&mut records) {
            let read = (batch.records.len() - records.len()) as u64;
            let end = start + read;
            let is_new = end > self.position;
            let each = &mut |op: Op<'_>| {
                let mut key = AppendKey::default();
                each(op.at(end, &mut key))
            };
            match kind {
                RecordKind::Part { transaction, at } => {
                    let offset = batch.offset + read - operations.len() as u64;
                    let _complete = self.parts.entry(transaction).or_default().push(at, offset, operations);
                }
                RecordKind::Commit if is_new => Ops::new(operations).map_while(Result::ok).try_for_each(&mut *each)?,
                RecordKind::CommitParts { transaction, at } => {
                    let mut pieces = self.parts.remove(&transaction).unwrap_or_default();
                    pieces.cut(at);
                    if is_new && pieces.length() == at {
                        let (mut stream, mut buffer) = (OpStream::default(), Vec::new());
                        pieces.read(file, pieces.length(), &mut buffer, |bytes| stream.read(bytes, &mut *each))?;
                        buffer.extend_from_slice(operations);
                        stream.read(&mut buffer, &mut *each)?;
                    }
                }
                RecordKind::Commit => {}
            }
        }
        Ok(())
    }
}
