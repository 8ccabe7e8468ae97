//! ON CONFLICT: which row is in the way of a new one, and what becomes of it.

use std::collections::HashSet;
use std::sync::Arc;

use super::asked::{Answered, Asked, Viewed};
use super::{
    ChangeBuffers, Env, InsertBuffers, Proposed, RowChange, RowObserver, Stop, Target, Trees, exists, look_up,
};
use crate::catalog::Catalog;
use crate::plan::{Arbiter, Columns, ConflictAction, Expr, Held, OnConflict, ViewCheck};
use crate::{Error, Result, SqlState, Value};

/// Whether others have touched the row of a key.
pub(crate) type ByOthers<'a> = dyn Fn(&[u8]) -> Result<bool> + 'a;

/// Which rows a statement with ON CONFLICT DO UPDATE has inserted or updated: none of them is updated.
pub(crate) struct Touched<'a> {
    pub(crate) keys: &'a mut HashSet<Vec<u8>>,
    /// Whether another part of the statement, or a function that it calls, did that to the row of a key.
    pub(crate) by_others: Option<&'a ByOthers<'a>>,
}

impl Touched<'_> {
    pub(super) fn insert(&mut self, key: Vec<u8>) {
        self.keys.insert(key);
    }

    fn has(&self, key: &[u8]) -> Result<bool> {
        Ok(self.keys.contains(key) || self.by_others.as_ref().map_or(Ok(false), |touched| touched(key))?)
    }
}

/// A conflict that the statement did not name is an error as ever: the insertion that follows comes to it.
#[derive(Debug)]
pub(crate) struct Conflict {
    arbiter: Arbiter,
    /// `None`: DO NOTHING.
    pub(super) update: Option<Box<RowChange>>,
    /// What the update asks by subqueries.
    asked: Option<Asked>,
    /// What views show: the row in the way is updated only where it is among it.
    shown: Box<[Viewed]>,
}

impl Conflict {
    pub(crate) fn new(
        target: &Arc<Target>,
        bound: &OnConflict,
        returning: Option<&[Expr]>,
        catalog: &Catalog,
    ) -> Result<Conflict> {
        let (mut asked, mut seen) = (None, Box::default());
        let update = match &bound.action {
            ConflictAction::Nothing => None,
            ConflictAction::Update { assignments, filter, query, shown } => {
                seen = shown.iter().map(|check| Viewed::of(check, target)).collect::<Result<_>>()?;
                // RETURNING sees the table's columns only.
                let behind = (returning, 0);
                let width = target.table.columns.len();
                // Of the row that is proposed, too.
                let over_stored = |expr: &Expr| {
                    let mut expr = expr.clone();
                    target.bound.virtuals.put_from(width, &mut expr);
                    expr
                };
                asked = query.as_ref().map(|query| Asked::of(target, query)).transpose()?;
                let assigned = assignments.iter().map(|(column, value)| (*column, over_stored(value)));
                let mut assigned: Vec<(usize, Expr)> = assigned.collect();
                if let Some(version) = target.unversioned(&assigned) {
                    let data_type = target.table.columns[version].data_type;
                    assigned.push((version, Expr::Column { index: width + version, data_type }));
                }
                let filter = filter.as_ref().map(over_stored);
                Some(Box::new(RowChange::new(target, catalog, assigned, filter.as_ref(), behind)))
            }
        };
        Ok(Conflict { arbiter: bound.arbiter.clone(), update, asked, shown: seen })
    }

    pub(super) fn through(self, views: &[ViewCheck]) -> Result<Conflict> {
        let update = self.update.map(|change| change.through(views).map(Box::new)).transpose()?;
        Ok(Conflict { update, ..self })
    }

    pub(super) fn is_evaluable(&self, held: Held) -> bool {
        let allows = |seen: &Viewed| seen.plain().is_some_and(|condition| held.allows(condition));
        self.asked.is_none()
            && self.update.as_ref().is_none_or(|change| change.is_evaluable(held))
            && self.shown.iter().all(allows)
    }

    /// Whether it asks subqueries.
    pub(super) fn asks_queries(&self) -> bool {
        self.asked.is_some() || self.shown.iter().any(|seen| seen.plain().is_none())
    }

    pub(super) fn evaluates_nothing(&self) -> bool {
        self.asked.is_none()
            && self.shown.is_empty()
            && self.update.as_ref().is_none_or(|change| change.evaluates_nothing())
    }

    /// Leaves or updates the row under `existing`; whether it was updated.
    pub(super) fn settle(
        &self,
        trees: &mut dyn Trees,
        (existing, proposed): (&[u8], &Proposed<'_>),
        env: Env<'_>,
        buffers: &mut ChangeBuffers,
        (observer, touched): (&mut dyn RowObserver, Option<&mut Touched<'_>>),
        returned: &mut Vec<Value>,
    ) -> Result<bool, Stop> {
        let Some(change) = &self.update else { return Ok(false) };
        if let Some(touched) = &touched
            && touched.has(existing)?
        {
            return Err(affected_twice().into());
        }
        if !self.shown.is_empty() && change.read(trees, existing, buffers)? {
            self.must_be_shown(&change.as_read(existing, buffers), env)?;
        }
        let changed = match &self.asked {
            None => change.run(trees, (existing, Some(proposed)), env, buffers, observer, returned)?,
            Some(asked) => {
                let Some(answers) = asked.answers(trees, change, (existing, proposed), env, buffers)? else {
                    return Ok(false);
                };
                let width = change.rules.target.table.columns.len();
                let beside = Answered { proposed, width, answers: &answers };
                change.run(trees, (existing, Some(&beside)), env, buffers, observer, returned)?
            }
        };
        if let (true, Some(touched)) = (changed, touched) {
            touched.insert(buffers.key_after(existing).to_vec());
        }
        Ok(changed)
    }

    /// SQLSTATE 55000 where a view does not show the row in the way.
    fn must_be_shown(&self, row: &dyn Columns<Stop>, env: Env<'_>) -> Result<(), Stop> {
        for seen in &self.shown {
            if !seen.is_true(row, env)? {
                let message = format!("conflicting row is not visible through view \"{}\"", seen.view);
                return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).into());
            }
        }
        Ok(())
    }

    /// Whether there is a row in the way of the one that is prepared; leaves its key in `existing`.
    pub(super) fn find(
        &self,
        trees: &mut dyn Trees,
        target: &Target,
        buffers: &mut InsertBuffers,
    ) -> Result<bool, Stop> {
        let InsertBuffers { key, entries, existing, .. } = buffers;
        let table = &target.table;
        let by_key = match &self.arbiter {
            Arbiter::Any => !target.layout.has_row_numbers(),
            Arbiter::Keys { primary_key, .. } => *primary_key,
        };
        if by_key && exists(trees, table.tree, key)? {
            existing.clone_from(key);
            return Ok(true);
        }
        for (at, (index, entry)) in table.indexes.iter().zip(entries).enumerate() {
            let named = match &self.arbiter {
                Arbiter::Any => true,
                Arbiter::Keys { indexes, .. } => indexes.contains(&at),
            };
            if named && entry.is_exclusive() && look_up(trees, index.tree, &entry.key, existing)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn affected_twice() -> Error {
    Error::new(SqlState::CARDINALITY_VIOLATION, "ON CONFLICT DO UPDATE command cannot affect row a second time")
        .with_hint(
            "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
        )
}
