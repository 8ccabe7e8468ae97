//! What one transaction of a follower writes.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::ops::Bound;
use std::sync::Arc;

use crate::catalog::{ObjectId, followed_tree_of};
use crate::dml::row::{DeleteBuffers, Env, ObservedAtOnce, RowDelete, RowPlaces};
use crate::dml::{DmlContext, Target};
use crate::exec::Stored;
use crate::session::live::result::{RowBytes, Weights};
use crate::session::live::subscriber::{Taken, TakenRows};
use crate::session::live::subscription::Subscription;
use crate::{Error, Result};

/// Rows that one transaction changes, at most, when a view begins to follow; what comes by commits is one transaction's each.
const STEP: usize = 10_000;

/// What came of writing.
pub(super) enum Written {
    All,
    /// And there is more.
    Some,
    /// A row that goes is not there: the view is not what it was taken for.
    Differs,
    /// There is no such view.
    Gone,
}

/// What is to be written.
pub(super) enum Work {
    /// The whole result: how often each row is to be there; and the position of its state.
    First(HashMap<RowBytes, u64>, u64),
    Change(Arc<Weights>, u64),
}

impl Work {
    pub(super) fn of(taken: Taken) -> Work {
        match taken.rows {
            TakenRows::First(all) => {
                let mut rows = HashMap::new();
                all.iter().for_each(|row| *rows.entry(row.clone()).or_insert(0) += 1);
                Work::First(rows, taken.position)
            }
            TakenRows::Change(change) => Work::Change(change, taken.position),
        }
    }

    pub(super) fn position(&self) -> u64 {
        match self {
            Work::First(_, position) | Work::Change(_, position) => *position,
        }
    }
}

/// One transaction's.
pub(super) struct Writing<'a> {
    pub(super) dml: &'a DmlContext<'a>,
    pub(super) target: Arc<Target>,
    pub(super) subscription: &'a Subscription,
}

impl Writing<'_> {
    /// A row of the result as the view has it.
    fn row(&self, row: &[u8]) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(row.len());
        self.target.layout.encode_row(&self.subscription.form.decode(row)?, &mut bytes);
        Ok(bytes)
    }

    pub(super) fn change(&self, change: &Weights) -> Result<Written> {
        let mut going: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for (row, weight) in change.in_order().filter(|(_, weight)| *weight < 0) {
            *going.entry(self.row(row)?).or_insert(0) += weight.unsigned_abs();
        }
        for (row, count) in going {
            if !self.remove(&row, usize::try_from(count).unwrap_or(usize::MAX))? {
                return Ok(Written::Differs);
            }
        }
        for (row, weight) in change.in_order().filter(|(_, weight)| *weight > 0) {
            let row = self.row(row)?;
            (0..weight).try_for_each(|_| self.put(&row))?;
        }
        Ok(Written::All)
    }

    /// Has the view be the result, step by step.
    pub(super) fn bring(&self, rows: &HashMap<RowBytes, u64>) -> Result<Written> {
        let mut wanted: HashMap<Vec<u8>, u64> = HashMap::with_capacity(rows.len());
        for (row, count) in rows {
            self.dml.exec.check()?;
            *wanted.entry(self.row(row)?).or_insert(0) += count;
        }
        let (tree, reader) = (self.target.table.tree, &self.dml.exec.reader);
        let mut going = Vec::new();
        let mut cursor = reader.cursor(tree, Bound::Unbounded, Bound::Unbounded)?;
        while let Some((key, row)) = cursor.next()? {
            self.dml.exec.check()?;
            match wanted.get_mut(row) {
                Some(count) if *count > 0 => *count -= 1,
                _ => going.push((key.to_vec(), row.to_vec())),
            }
        }
        drop(cursor);
        let coming = || wanted.iter().flat_map(|(row, count)| (0..*count).map(move |_| row));
        let all = going.len() + coming().count();
        going.iter().take(STEP).try_for_each(|(key, row)| self.delete(key, row))?;
        coming().take(STEP.saturating_sub(going.len())).try_for_each(|row| self.put(row))?;
        Ok(if all <= STEP { Written::All } else { Written::Some })
    }

    /// Takes away so many rows of these bytes; false: there are not so many.
    fn remove(&self, row: &[u8], count: usize) -> Result<bool> {
        let places = RowPlaces::of(row);
        let (first, last) = (places.first(), places.last());
        let reader = &self.dml.exec.reader;
        let mut keys = Vec::with_capacity(count);
        let mut cursor = reader.cursor(self.target.table.tree, Bound::Included(&first), Bound::Included(&last))?;
        while keys.len() < count
            && let Some((key, found)) = cursor.next()?
        {
            if found == row {
                keys.push(key.to_vec());
            }
        }
        drop(cursor);
        keys.iter().try_for_each(|key| self.delete(key, row))?;
        Ok(keys.len() == count)
    }

    fn delete(&self, key: &[u8], row: &[u8]) -> Result<()> {
        let (program, mut buffers) = (RowDelete::new(&self.target, None, None), DeleteBuffers::default());
        let stored = Stored { layout: &self.target.layout, key, value: row };
        let env = Env::of(self.dml.exec);
        let mut tx = self.dml.tx;
        program.run(&mut tx, (key, &stored), env, &mut buffers, &mut ObservedAtOnce, &mut Vec::new())?;
        Ok(())
    }

    /// Puts a row where there is room for it.
    fn put(&self, row: &[u8]) -> Result<()> {
        let (places, tree) = (RowPlaces::of(row), self.target.table.tree);
        let mut nth = 0;
        while self.dml.tx.reader().get_with(tree, &places.nth(nth), |_| ())?.is_some() {
            nth = RandomState::new().hash_one(nth) as u32;
        }
        let env = Env::of(self.dml.exec);
        let mut tx = self.dml.tx;
        Ok(self.target.put_row(&mut tx, (&places.nth(nth), row), env)?)
    }

    pub(super) fn put_position(&self, view: ObjectId, position: u64) -> Result<()> {
        let followed = followed_tree_of(self.dml.tx.reader().database())?;
        let followed = followed.ok_or_else(|| Error::internal("no place for the positions of views"))?;
        Ok(self.dml.tx.put(followed, &view.0.to_be_bytes(), &position.to_le_bytes())?)
    }
}
