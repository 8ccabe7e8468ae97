//! New values for columns of a row that is there: UPDATE, what ON CONFLICT makes of the row in the way, and what foreign
//! keys make of rows that refer.
//!
//! Only entries of indexes over assigned columns are looked at, and only foreign keys over them. A row whose bytes change
//! in one short stretch, or where they lie, is patched, so that the log carries the stretch and not the row.

mod buffers;
mod new_row;
mod patches;
mod write;

use std::sync::Arc;

use cairn_storage::TreeId;

use super::affected::{Affected, RowReturning};
use super::assign::{Assignment, Both};
use super::entry::grow;
use super::{Audience, Env, RowObserver, Rules, Stop, Stored, Target, Trees, Wanted, Way, env, look_up};
use crate::Value;
use crate::bind::Generated;
use crate::catalog::{Catalog, Index, Table, TriggerEvent};
use crate::dml::changed_by_trigger;
use crate::plan::{Columns, Expr, Held, ViewCheck};
use crate::types::key;
pub(crate) use buffers::ChangeBuffers;
use new_row::NewRow;

/// How a row changes.
#[derive(Debug)]
pub(crate) struct RowChange {
    pub(crate) rules: Rules,
    /// Rows for which it is not true stay as they are.
    filter: Option<Expr>,
    assignments: Box<[Assignment]>,
    /// By column: which assignment it is given its value by.
    by_column: Box<[Option<usize>]>,
    /// No assigned column is of variable length: the row can be patched where they lie, if there is room.
    is_fixed: bool,
    /// A column of the primary key is assigned.
    moves: bool,
    /// With BEFORE ROW triggers all columns are assigned, and none is lent.
    pub(crate) audience: Audience,
    /// The columns that the statement assigns.
    listed: Arc<[usize]>,
    /// Positions of the indexes whose entries can change.
    indexes: Box<[usize]>,
    /// Where nothing else is to be looked at, written or evaluated: the row's columns that are patched, and the columns of the
    /// row beside it that have their values.
    patched: Option<Box<[(usize, usize)]>>,
    /// Over the new row's columns, then those that the row beside has from `extra_at` on.
    returning: Option<RowReturning>,
    extra_at: usize,
}

impl RowChange {
    /// `assigned`: columns and their new values, over the old row's columns, then those of the row beside it. `returning`:
    /// with where its further columns begin in the row beside.
    pub(crate) fn new(
        target: &Arc<Target>,
        catalog: &Catalog,
        mut assigned: Vec<(usize, Expr)>,
        filter: Option<&Expr>,
        (returning, extra_at): (Option<&[Expr]>, usize),
    ) -> RowChange {
        let table = &target.table;
        let triggers = Audience::of(table, TriggerEvent::Update, false);
        let listed: Arc<[usize]> = match triggers.hears() || triggers.before {
            true => assigned.iter().map(|(column, _)| *column).collect(),
            false => Arc::default(),
        };
        if triggers.before {
            let version = table.version_column();
            for (index, column) in table.columns.iter().enumerate().filter(|(_, column)| column.generated.is_none()) {
                if !listed.contains(&index) && version != Some(index) {
                    assigned.push((index, Expr::Column { index, data_type: column.data_type }));
                }
            }
        }
        target.draw_version(&mut assigned);
        let mut by_column: Box<[Option<usize>]> = vec![None; table.columns.len()].into();
        assigned.iter().enumerate().for_each(|(at, (column, _))| by_column[*column] = Some(at));
        // What is computed from assigned columns comes behind them.
        let generated: Vec<&Generated> = target
            .bound
            .generated
            .iter()
            .filter(|generated| generated.uses(|column| by_column[column].is_some()))
            .collect();
        let behind = (assigned.len()..).zip(&generated);
        behind.for_each(|(at, generated)| by_column[generated.column] = Some(at));
        let touched = |column: usize| by_column.get(column).is_some_and(Option::is_some);
        let referrers = (0..by_column.len()).any(|column| touched(column) && is_referenced(table, column, catalog));
        let assign =
            |(column, expr): (usize, Expr)| Assignment::of(target, column, target.bound.virtuals.put_in(&expr));
        let generated = generated.into_iter().map(|generated| Assignment::of_generated(target, generated));
        let all = assigned.into_iter().map(assign).chain(generated);
        let assignments: Box<[Assignment]> =
            all.map(|assignment| if triggers.before { assignment.kept() } else { assignment }).collect();
        let layout = target.layout.row();
        let moves = table.row_key().iter().any(|part| touched(part.column));
        let can_change = |at: &usize| moves || table.index_columns(*at).any(touched);
        let is_fixed = |assignment: &Assignment| assignment.place.is_none_or(|place| !layout.is_variable(place));
        let change = RowChange {
            rules: Rules::of(target, touched),
            filter: filter.map(|filter| target.bound.virtuals.put_in(filter)),
            patched: None,
            is_fixed: assignments.iter().all(is_fixed),
            moves,
            audience: Audience { referrers, ..triggers },
            listed,
            indexes: (0..table.indexes.len()).filter(can_change).collect(),
            returning: returning.map(|exprs| RowReturning::new(target, exprs)),
            extra_at,
            assignments,
            by_column,
        };
        RowChange { patched: change.as_patches(), ..change }
    }

    /// How rows of a batch are changed, where nobody else changes rows.
    pub(crate) fn way(&self) -> Way {
        match () {
            () if self.patched.is_some() => Way::Together,
            () if self.is_evaluable(Held::Transaction)
                && self.rules.references.is_empty()
                && !self.rules.target.loses_entries =>
            {
                Way::Held
            }
            () => Way::Each,
        }
    }

    /// The same through views that look at the new row.
    pub(crate) fn through(mut self, views: &[ViewCheck]) -> crate::Result<RowChange> {
        if !views.is_empty() {
            self.patched = None;
        }
        self.rules.set_views(views)?;
        Ok(self)
    }

    /// The columns that the statement assigns, where the table has triggers for it.
    pub(crate) fn listed(&self) -> &Arc<[usize]> {
        &self.listed
    }

    /// Whether it can be done while this is held, as a point statement does it: the key stays, and what other tables refer to.
    pub(crate) fn is_evaluable(&self, held: Held) -> bool {
        !self.moves
            && !self.audience.hears()
            && self.rules.target.table.triggers.is_empty()
            && !self.changed_indexes().any(|index| index.is_inverted() || index.is_deferrable())
            && self.rules.are_evaluable(held)
            && self.filter.iter().all(|filter| held.allows(filter))
            && self.returning.as_ref().is_none_or(|returning| returning.is_evaluable(held))
            && self.assignments.iter().all(|assignment| assignment.is_evaluable(held))
    }

    fn changed_indexes(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().map(|&at| &*self.rules.target.table.indexes[at])
    }

    /// Whether no expression is evaluated.
    pub(crate) fn evaluates_nothing(&self) -> bool {
        self.filter.is_none()
            && self.returning.is_none()
            && !self.rules.are_computed()
            && self.assignments.iter().all(Assignment::evaluates_nothing)
    }

    /// Whether a new row could collide with one that the same statement has yet to move out of the way.
    pub(crate) fn changes_unique_keys(&self) -> bool {
        let table = &self.rules.target.table;
        // BEFORE ROW triggers see one row after the other.
        !self.audience.before && (self.moves || self.indexes.iter().any(|&at| table.indexes[at].unique))
    }

    /// Changes the row under `key`, alone: whether there is one, and the filter wants it changed. `returned` has what
    /// RETURNING makes of it.
    pub(crate) fn run(
        &self,
        trees: &mut dyn Trees,
        (key, beside): (&[u8], Option<&dyn Columns<Stop>>),
        env: Env<'_>,
        buffers: &mut ChangeBuffers,
        observer: &mut dyn RowObserver,
        returned: &mut Vec<Value>,
    ) -> Result<bool, Stop> {
        buffers.is_there = self.read(trees, key, buffers)?;
        if !buffers.is_there || !self.prepare(key, beside, env, buffers, (observer, &mut *returned))? {
            return Ok(false);
        }
        if self.audience.before && !is_as_it_was(trees, self.rules.target.table.tree, key, &buffers.old)? {
            return Err(changed_by_trigger("updated").into());
        }
        if self.keeps_entries() && self.rules.references.is_empty() && !self.is_looked_at() && !self.returns_after() {
            self.put_new(trees, key, buffers)?;
            return Ok(true);
        }
        self.settle_old(trees, key, env, buffers)?;
        self.refers(trees, key, buffers, observer)
            .and_then(|()| self.find_duplicate(trees, buffers, false))
            .map_err(|stop| self.worded(stop, key, beside, env, buffers))?;
        self.take_old(trees, key, buffers)?;
        self.put_new(trees, key, buffers)?;
        self.note(key, beside, env, buffers, observer)?;
        self.returning_after((key, beside), env, buffers, returned)?;
        Ok(true)
    }

    /// Whether neither the row's key nor an entry of an index can change.
    #[inline]
    fn keeps_entries(&self) -> bool {
        self.indexes.is_empty() && !self.moves
    }

    /// Whether the row that is written is looked at by somebody, be it a view.
    #[inline]
    fn is_looked_at(&self) -> bool {
        self.audience.hears() || !self.rules.views.is_empty()
    }

    /// Whether RETURNING is evaluated when the row is written, and not before.
    pub(crate) fn returns_after(&self) -> bool {
        self.returning.as_ref().is_some_and(RowReturning::is_after)
    }

    /// What RETURNING makes of the row that was written, where that has waited for it.
    pub(crate) fn returning_after(
        &self,
        (key, beside): (&[u8], Option<&dyn Columns<Stop>>),
        env: Env<'_>,
        buffers: &ChangeBuffers,
        returned: &mut Vec<Value>,
    ) -> Result<(), Stop> {
        let Some(returning) = self.returning.as_ref().filter(|returning| returning.is_after()) else { return Ok(()) };
        let old = self.as_read(key, buffers);
        self.with_new(key, beside, env, buffers, |new| {
            returning.after(&Affected { row: new, old: Some(&old), new: Some(new) }, env, returned)
        })
    }

    /// Tells of the new row's references.
    pub(crate) fn refers(
        &self,
        trees: &mut dyn Trees,
        key: &[u8],
        buffers: &ChangeBuffers,
        observer: &mut dyn RowObserver,
    ) -> Result<(), Stop> {
        match self.rules.references.is_empty() {
            true => Ok(()),
            false => observer.refers(trees, &self.rules, buffers.key_after(key), &buffers.lookups),
        }
    }

    /// Has views look at the row; tells that it is another, if somebody may refer to it; and of keys that others may have for a
    /// while.
    pub(crate) fn note(
        &self,
        key: &[u8],
        beside: Option<&dyn Columns<Stop>>,
        env: Env<'_>,
        buffers: &ChangeBuffers,
        observer: &mut dyn RowObserver,
    ) -> Result<(), Stop> {
        let target = &*self.rules.target;
        for (at, .., after) in self.changed(buffers) {
            after.guarded().map_or(Ok(()), |key| observer.guarded(&target.table, at, key))?;
        }
        if !self.rules.views.is_empty() {
            self.with_new(key, beside, env, buffers, |new| self.rules.check_views(new, env))?;
        }
        if !self.audience.hears() {
            return Ok(());
        }
        let old = target.layout.decode(key, &buffers.old)?;
        let new = self.with_new(key, beside, env, buffers, |new| {
            let columns = 0..target.table.columns.len();
            columns.map(|column| Ok(new.column(column)?.into_value())).collect::<Result<_, Stop>>()
        })?;
        observer.replaced(&target.table, old, Some(new), &self.listed);
        Ok(())
    }

    /// Reads the row under `key`; whether there is one.
    pub(crate) fn read(&self, trees: &mut dyn Trees, key: &[u8], buffers: &mut ChangeBuffers) -> Result<bool, Stop> {
        Ok(look_up(trees, self.rules.target.table.tree, key, &mut buffers.old)?)
    }

    /// The row that was read.
    pub(super) fn as_read<'a>(&'a self, key: &'a [u8], buffers: &'a ChangeBuffers) -> Stored<'a> {
        Stored { layout: &self.rules.target.layout, key, value: &buffers.old }
    }

    /// The values of expressions over the row that was read and the one beside it.
    pub(super) fn values_of_both<'e>(
        &self,
        exprs: impl Iterator<Item = &'e Expr>,
        (key, beside): (&[u8], &dyn Columns<Stop>),
        env: Env<'_>,
        buffers: &ChangeBuffers,
    ) -> Result<Vec<Value>, Stop> {
        let old = self.as_read(key, buffers);
        let both = Both { old: &old, beside: Some(beside), width: self.rules.target.table.columns.len() };
        exprs.map(|expr| Ok(env::eval(expr, &both, env)?.into_value())).collect()
    }

    /// Works out the new row from the one that was read, checks what it must satisfy by itself, and encodes all that is to
    /// be written, and looked up, for it. False: the filter leaves the row alone.
    pub(crate) fn prepare(
        &self,
        key: &[u8],
        beside: Option<&dyn Columns<Stop>>,
        env: Env<'_>,
        buffers: &mut ChangeBuffers,
        (observer, returned): (&mut dyn RowObserver, &mut Vec<Value>),
    ) -> Result<bool, Stop> {
        let ChangeBuffers { old, values, lookups, old_lookup, entries, new_key, .. } = buffers;
        let target = &*self.rules.target;
        let old = Stored { layout: &target.layout, key, value: old };
        let both = Both { old: &old, beside, width: target.table.columns.len() };
        if let Some(filter) = &self.filter
            && !env::eval(filter, &both, env)?.is_true()
        {
            return Ok(false);
        }
        if !self.compute(&both, env, values, observer)? {
            return Ok(false);
        }
        let new = NewRow { change: self, both: &both, values, env };
        self.rules.check(&new, env).map_err(|stop| env.worded(stop, target, &new))?;
        self.rules.encode_references(&new, env, lookups)?;
        // Who refers to the same row as before asks nothing new of it.
        for (&at, lookup) in self.rules.references.iter().zip(lookups) {
            target.references[at].encode(&old, env.eval, old_lookup)?;
            if *lookup == *old_lookup {
                lookup.wanted = Wanted::No;
            }
        }
        if let Some(returning) = &self.returning {
            returning.before(&Affected { row: &new, old: Some(&old), new: Some(&new) }, env, returned)?;
        }
        if self.moves {
            new_key.clear();
            for (column, data_type) in target.layout.key_columns() {
                key::encode_ref(new.column(column)?.get(), data_type, false, false, new_key);
            }
        }
        let moved = self.moves && new_key != key;
        grow(entries, self.indexes.len());
        for (&at, (before, after)) in self.indexes.iter().zip(entries) {
            before.encode(target.kept_index(at), &old, key, env)?;
            after.encode(target.index(at), &new, if moved { new_key } else { key }, env)?;
        }
        self.encode(key, beside, env, buffers, moved)?;
        Ok(true)
    }

    /// Fills in the values that are not lent.
    fn compute(
        &self,
        both: &Both<'_>,
        env: Env<'_>,
        values: &mut Vec<Value>,
        observer: &mut dyn RowObserver,
    ) -> Result<bool, Stop> {
        values.clear();
        let mut is_asked = !self.audience.before;
        for assignment in &self.assignments {
            if !is_asked && assignment.is_generated() {
                is_asked = true;
                if !self.ask_triggers(both, values, observer)? {
                    return Ok(false);
                }
            }
            let value = assignment.compute(both, &NewRow { change: self, both, values, env }, env)?;
            values.push(value);
        }
        Ok(is_asked || self.ask_triggers(both, values, observer)?)
    }

    /// BEFORE ROW triggers say what becomes of the values so far, those of all columns that are not generated; false:
    /// nothing.
    fn ask_triggers(
        &self,
        both: &Both<'_>,
        values: &mut [Value],
        observer: &mut dyn RowObserver,
    ) -> Result<bool, Stop> {
        let table = &self.rules.target.table;
        let columns = 0..table.columns.len();
        let old: Vec<Value> =
            columns.clone().map(|column| Ok(both.old.column(column)?.into_value())).collect::<Result<_, Stop>>()?;
        let assigned = |column: usize| self.by_column[column].filter(|at| *at < values.len());
        // Generated columns have no values yet.
        let value = |column: usize| match assigned(column) {
            Some(at) => values[at].clone(),
            None if table.columns[column].generated.is_some() => Value::Null,
            None => old[column].clone(),
        };
        let new: Vec<Value> = columns.map(value).collect();
        let Some(new) = observer.before(table, TriggerEvent::Update, Some(old), Some(new), &self.listed)? else {
            return Ok(false);
        };
        // Nobody says a version.
        let version = table.version_column();
        for (column, value) in new.into_iter().enumerate().filter(|(column, _)| version != Some(*column)) {
            if let Some(at) = self.by_column[column].filter(|at| *at < values.len()) {
                values[at] = value;
            }
        }
        Ok(true)
    }
}

/// Whether the row under `key` has these bytes.
pub(super) fn is_as_it_was(trees: &mut dyn Trees, tree: TreeId, key: &[u8], old: &[u8]) -> Result<bool, Stop> {
    let mut now = Vec::new();
    Ok(look_up(trees, tree, key, &mut now)? && now == old)
}

/// Whether another table's reference looks at the column.
fn is_referenced(table: &Table, column: usize, catalog: &Catalog) -> bool {
    let referenced = |&(child, position): &(_, usize)| {
        let foreign_key = catalog.table_by_id(child).and_then(|child| child.foreign_keys.get(position));
        foreign_key.is_none_or(|foreign_key| foreign_key.referenced_columns.contains(&column))
    };
    table.referenced_by.iter().any(referenced)
}
