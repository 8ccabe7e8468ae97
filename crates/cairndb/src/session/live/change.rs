//! What is told of a live query's result: rows that came, went, and are others now.

use std::collections::HashMap;
use std::sync::Arc;

use super::result::{FEW, RowBytes, RowForm, Weights};
use crate::plan::Field;
use crate::session::{Position, Row};
use crate::{Result, Value};

/// What changed in a live query's result, from one state of the database to a newer one.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 10), (2, 20)")?;
/// let mut live = conn.live("SELECT id, n FROM t", ())?;
/// assert!(live.next_change()?.expect("the result").is_first());
/// conn.execute_script("BEGIN; UPDATE t SET n = 11 WHERE id = 1; DELETE FROM t WHERE id = 2; COMMIT")?;
/// let change = live.next_change()?.expect("a change");
/// let (old, new) = change.updated().next().expect("a row is another");
/// assert_eq!((old.get::<i32>("n")?, new.get::<i32>("n")?), (10, 11));
/// let gone: Vec<i32> = change.removed().map(|row| row.get("id")).collect::<Result<_, _>>()?;
/// assert_eq!((gone, change.added().count()), (vec![2], 0));
/// assert_eq!(Some(change.position()), conn.position());
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LiveChange {
    fields: Arc<[Field]>,
    position: Position,
    is_first: bool,
    rows: ChangedRows,
}

impl LiveChange {
    pub(super) fn new(fields: Arc<[Field]>, position: Position, is_first: bool, rows: ChangedRows) -> LiveChange {
        LiveChange { fields, position, is_first, rows }
    }

    /// The position of the state that the result is now of: greater from change to change.
    pub fn position(&self) -> Position {
        self.position
    }

    /// This is the whole result, and all its rows are [added](LiveChange::added), in the query's order.
    pub fn is_first(&self) -> bool {
        self.is_first
    }

    /// Rows that came.
    pub fn added(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.rows.added).map(|at| self.row(at))
    }

    /// Rows that went.
    pub fn removed(&self) -> impl Iterator<Item = Row<'_>> {
        (self.rows.added..self.rows.first_updated()).map(|at| self.row(at))
    }

    /// Rows that are others now, each as it was and as it is; by the result's [key](crate::LiveQuery::key). Where it has none,
    /// such rows are removed and added.
    pub fn updated(&self) -> impl Iterator<Item = (Row<'_>, Row<'_>)> {
        let first = self.rows.first_updated();
        (0..self.rows.updated).map(move |at| (self.row(first + 2 * at), self.row(first + 2 * at + 1)))
    }

    fn row(&self, at: usize) -> Row<'_> {
        Row::new(&self.fields, self.values(at))
    }

    fn values(&self, at: usize) -> &[Value] {
        let width = self.fields.len();
        &self.rows.values[at * width..][..width]
    }

    /// Its rows one by one, and what became of each: those that went, those that are others, those that came.
    pub(super) fn told(&self, at: usize) -> Option<(&'static str, &[Value])> {
        let ChangedRows { added, removed, updated, .. } = self.rows;
        let told = match at.checked_sub(removed) {
            None => return Some(("delete", self.values(added + at))),
            Some(at) if at < 2 * updated => {
                let what = if at.is_multiple_of(2) { "update_old" } else { "update_new" };
                return Some((what, self.values(added + removed + at)));
            }
            Some(at) => at - 2 * updated,
        };
        (told < added).then(|| ("insert", self.values(told)))
    }
}

/// The values of rows in one piece: of those that came, those that went, and of those that are others each as it was and as it is.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangedRows {
    values: Vec<Value>,
    added: usize,
    removed: usize,
    updated: usize,
}

impl ChangedRows {
    /// A whole result.
    pub(super) fn all(rows: &[RowBytes], form: &RowForm) -> Result<ChangedRows> {
        let mut values = Vec::with_capacity(rows.len() * form.width());
        rows.iter().try_for_each(|row| form.decode_into(row, &mut values))?;
        Ok(ChangedRows { values, added: rows.len(), ..ChangedRows::default() })
    }

    /// `key`: by which rows are others rather than gone and come.
    pub(super) fn of(change: &Weights, form: &RowForm, key: Option<&[usize]>) -> Result<ChangedRows> {
        // Most changes are of one row: as it was and as it is.
        if let (Some(key), Some((old, new))) = (key, change.as_pair()) {
            let mut values = Vec::with_capacity(2 * form.width());
            form.decode_into(old, &mut values)?;
            form.decode_into(new, &mut values)?;
            let (old, new) = values.split_at(form.width());
            if key.iter().all(|&at| old[at] == new[at]) {
                return Ok(ChangedRows { values, updated: 1, ..ChangedRows::default() });
            }
        }
        let (mut added, mut removed, mut updated) = (vec![], vec![], vec![]);
        for (row, weight) in change.in_order() {
            let into = if weight > 0 { &mut added } else { &mut removed };
            let row = form.decode(row)?;
            into.extend(std::iter::repeat_n(row, usize::try_from(weight.unsigned_abs()).unwrap_or(usize::MAX)));
        }
        if let Some(key) = key {
            pair(key, &mut added, &mut removed, &mut updated);
        }
        let counts = (added.len(), removed.len(), updated.len());
        let updated = updated.into_iter().flat_map(|(old, new)| [old, new]);
        let values = added.into_iter().chain(removed).chain(updated).flatten().collect();
        Ok(ChangedRows { values, added: counts.0, removed: counts.1, updated: counts.2 })
    }

    fn first_updated(&self) -> usize {
        self.added + self.removed
    }
}

/// Rows that went and rows that came of the same key are rows that changed.
#[expect(clippy::mutable_key_type, reason = "a path's pattern has caches, which its hash does not look at")]
fn pair(
    key: &[usize],
    added: &mut Vec<Vec<Value>>,
    removed: &mut Vec<Vec<Value>>,
    updated: &mut Vec<(Vec<Value>, Vec<Value>)>,
) {
    if added.is_empty() || removed.is_empty() {
        return;
    }
    if removed.len() <= FEW {
        added.retain_mut(|row| {
            let same = removed.iter().position(|old| key.iter().all(|&at| old[at] == row[at]));
            let Some(at) = same else { return true };
            updated.push((removed.remove(at), std::mem::take(row)));
            false
        });
        return;
    }
    let key_of = |row: &[Value]| key.iter().map(|&at| row[at].clone()).collect::<Vec<Value>>();
    let mut gone: HashMap<Vec<Value>, Vec<Value>> = removed.drain(..).map(|row| (key_of(&row), row)).collect();
    added.retain_mut(|row| match gone.remove(&key_of(row)) {
        Some(old) => {
            updated.push((old, std::mem::take(row)));
            false
        }
        None => true,
    });
    removed.extend(gone.into_values());
}
