//! New values for columns of a row that is there: UPDATE, what ON CONFLICT makes of the row in the way, and what foreign
//! keys make of rows that refer.
//!
//! Only entries of indexes over assigned columns are looked at, and only foreign keys over them. A row whose bytes change
//! in one short stretch, or where they lie, is patched, so that the log carries the stretch and not the row.

use std::ops::Range;
use std::sync::Arc;

use cairn_storage::{Patches, TreeId};

use super::affected::{Affected, RowReturning};
use super::assign::{Assignment, Both};
use super::derive::derive;
use super::entry::{Entry, grow};
use super::{
    Env, Lookup, NewColumn, RowObserver, Rules, Stop, Stored, Target, Trees, Violation, Wanted, env, exists, look_up,
};
use crate::Value;
use crate::bind::Generated;
use crate::catalog::{Catalog, Index, Table, Timing, TriggerEvent};
use crate::columns::Vector;
use crate::dml::{changed_by_trigger, has_trigger, is_told};
use crate::plan::{Columns, Datum, Expr, Held, ViewCheck};
use crate::types::key;
use crate::types::row::{RowLayout, encode_value_raw};

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
    /// A column that other tables refer to is assigned, or a trigger is to see the row.
    is_told: bool,
    /// Or a view is to look at it.
    is_noted: bool,
    /// BEFORE ROW triggers say what the row becomes: all columns are assigned, none is lent.
    has_before: bool,
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

/// What is worked out of one row's change.
#[derive(Debug, Default)]
pub(crate) struct ChangeBuffers {
    /// The row as it was.
    old: Vec<u8>,
    /// One per assignment; NULL where the value is lent.
    values: Vec<Value>,
    /// The new values' bytes as rows have them, one after the other.
    bytes: Vec<u8>,
    /// Where each assignment's lie; `None`: NULL.
    ranges: Vec<Option<Range<usize>>>,
    /// Where in the row which of them go, for patching.
    patches: Vec<(usize, Range<usize>)>,
    row: Vec<u8>,
    /// The row's key from now on, where that can change.
    new_key: Vec<u8>,
    write: RowWrite,
    /// Old and new entries, at least one per index that the change looks at.
    entries: Vec<(Entry, Entry)>,
    /// At least one per reference that the change looks at, and the old row's.
    pub(crate) lookups: Vec<Lookup>,
    old_lookup: Lookup,
}

impl ChangeBuffers {
    /// About how many bytes it takes beside itself.
    pub(crate) fn memory_bytes(&self) -> usize {
        let entries = self.entries.len() * size_of::<(Entry, Entry)>();
        let values = self.values.len() * size_of::<Value>();
        entries + values + self.old.len() + self.bytes.len() + self.row.len() + self.new_key.len()
    }
}

/// How the row's bytes are to be changed.
#[derive(Debug, Default)]
enum RowWrite {
    /// Write every value at its place.
    Patch,
    /// Write this stretch of the new row.
    Stretch(Range<usize>),
    /// Write the new row.
    #[default]
    Replace,
    /// Write the new row, under the new key.
    Move,
}

/// See [`RowChange::patches`].
pub(crate) struct RowPatches<'c> {
    layout: &'c RowLayout,
    /// The places in the row, and their new values.
    columns: Vec<(usize, NewColumn<'c>)>,
}

impl RowPatches<'_> {
    /// The patches that make the old row the new one of this number; false: it takes more than patching, or may be wrong.
    #[inline]
    pub(crate) fn patch(&self, old: &[u8], row: usize, patches: &mut Patches) -> Result<bool, Stop> {
        for (place, column) in &self.columns {
            let patched = match column.integer(row) {
                Some(number) => self.layout.patch_integer(old, *place, number, patches.bytes())?,
                None => self.layout.patch(old, *place, column.value(row), patches.bytes())?,
            };
            match patched {
                Some(offset) => patches.place(offset),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
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
        let (has_after, has_before) =
            (is_told(table, TriggerEvent::Update), has_trigger(table, TriggerEvent::Update, Timing::Before, true));
        let listed: Arc<[usize]> = match has_after || has_before {
            true => assigned.iter().map(|(column, _)| *column).collect(),
            false => Arc::default(),
        };
        if has_before {
            for (index, column) in table.columns.iter().enumerate().filter(|(_, column)| column.generated.is_none()) {
                if !listed.contains(&index) {
                    assigned.push((index, Expr::Column { index, data_type: column.data_type }));
                }
            }
        }
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
        let is_referenced = (0..by_column.len()).any(|column| touched(column) && is_referenced(table, column, catalog));
        let assign =
            |(column, expr): (usize, Expr)| Assignment::of(target, column, target.bound.virtuals.put_in(&expr));
        let generated = generated.into_iter().map(|generated| Assignment::of_generated(target, generated));
        let all = assigned.into_iter().map(assign).chain(generated);
        let assignments: Box<[Assignment]> =
            all.map(|assignment| if has_before { assignment.kept() } else { assignment }).collect();
        let layout = target.layout.row();
        let moves = table.primary_key.iter().any(|&column| touched(column));
        let can_change = |at: &usize| moves || table.index_columns(*at).any(touched);
        let is_fixed = |assignment: &Assignment| assignment.place.is_none_or(|place| !layout.is_variable(place));
        let change = RowChange {
            rules: Rules::of(target, touched),
            filter: filter.map(|filter| target.bound.virtuals.put_in(filter)),
            patched: None,
            is_fixed: assignments.iter().all(is_fixed),
            moves,
            is_told: is_referenced || has_after,
            is_noted: is_referenced || has_after,
            has_before,
            listed,
            indexes: (0..table.indexes.len()).filter(can_change).collect(),
            returning: returning.map(|exprs| RowReturning::new(target, exprs)),
            extra_at,
            assignments,
            by_column,
        };
        RowChange { patched: change.as_patches(is_referenced), ..change }
    }

    fn as_patches(&self, is_referenced: bool) -> Option<Box<[(usize, usize)]>> {
        let table = &self.rules.target.table;
        // Triggers that see all rows are told of each by itself, and so are rows that others may refer to.
        let tells_all = table.triggers.iter().any(|trigger| trigger.sees_tables());
        // What they see of virtual columns is made of each row by itself, too.
        let is_each = tells_all || !table.referenced_by.is_empty() || table.has_virtual();
        let is_told = is_referenced || self.is_told && is_each;
        let is_derived_from = table.is_derived_from();
        let is_more =
            !self.is_row_only() || !self.rules.references.is_empty() || self.has_before || is_told || is_derived_from;
        let patch = |assignment: &Assignment| Some((assignment.place?, assignment.as_beside()?));
        let patches = self.assignments.iter().map(patch);
        if is_more || !self.is_fixed || !self.is_plain() { None } else { patches.collect() }
    }

    /// Whether most rows can be changed with [`RowPatches::patch`].
    pub(crate) fn is_patch(&self) -> bool {
        self.patched.is_some()
    }

    /// What rows are patched with whose new values are in these columns of the rows beside them; `None`: they are not only patched.
    pub(crate) fn patches<'c>(&'c self, beside: &'c [Arc<Vector>]) -> Option<RowPatches<'c>> {
        let (patched, layout) = (self.patched.as_deref()?, self.rules.target.layout.row());
        let column = |&(place, column): &(usize, usize)| {
            let vector = beside.get(column)?;
            Some((place, NewColumn::of(vector, layout.types()[place], vector.len())?))
        };
        Some(RowPatches { layout, columns: patched.iter().map(column).collect::<Option<_>>()? })
    }

    /// The columns of rows of a batch as they are once it is changed: `beside` has the columns of the rows as they were, then
    /// those of the new values.
    pub(crate) fn columns_after(&self, beside: &[Arc<Vector>]) -> Option<Vec<Arc<Vector>>> {
        let of = |(column, at): (usize, &Option<usize>)| match at {
            Some(at) => beside.get(self.assignments[*at].as_beside()?).cloned(),
            None => beside.get(column).cloned(),
        };
        self.by_column.iter().enumerate().map(of).collect()
    }

    /// Whether AFTER ROW triggers are to see the row.
    pub(crate) fn is_told(&self) -> bool {
        self.is_told
    }

    /// The same through views that look at the new row.
    pub(crate) fn through(mut self, views: &[ViewCheck]) -> crate::Result<RowChange> {
        if !views.is_empty() {
            self.is_noted = true;
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
            && !self.is_told
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

    /// Whether nothing is looked at for it but the row itself and its entries.
    pub(crate) fn is_alone(&self) -> bool {
        self.is_evaluable(Held::Transaction) && self.rules.references.is_empty() && !self.rules.target.loses_entries
    }

    /// Nothing is evaluated.
    pub(crate) fn is_plain(&self) -> bool {
        self.filter.is_none()
            && self.returning.is_none()
            && !self.rules.are_computed()
            && self.assignments.iter().all(Assignment::is_plain)
    }

    /// Whether a new row could collide with one that the same statement has yet to move out of the way.
    pub(crate) fn changes_unique_keys(&self) -> bool {
        let table = &self.rules.target.table;
        // BEFORE ROW triggers see one row after the other.
        !self.has_before && (self.moves || self.indexes.iter().any(|&at| table.indexes[at].unique))
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
        if !self.read(trees, key, buffers)? || !self.prepare(key, beside, env, buffers, (observer, &mut *returned))? {
            return Ok(false);
        }
        if self.has_before && !is_as_it_was(trees, self.rules.target.table.tree, key, &buffers.old)? {
            return Err(changed_by_trigger("updated").into());
        }
        if self.is_row_only() && self.rules.references.is_empty() && !self.is_noted && !self.returns_after() {
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
        let old = Stored { layout: &self.rules.target.layout, key, value: &buffers.old };
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
        if !self.is_told {
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

    /// The values of expressions over the row that was read and the one beside it.
    pub(super) fn values_of_both<'e>(
        &self,
        exprs: impl Iterator<Item = &'e Expr>,
        (key, beside): (&[u8], &dyn Columns<Stop>),
        env: Env<'_>,
        buffers: &ChangeBuffers,
    ) -> Result<Vec<Value>, Stop> {
        let target = &*self.rules.target;
        let old = Stored { layout: &target.layout, key, value: &buffers.old };
        let both = Both { old: &old, beside: Some(beside), width: target.table.columns.len() };
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
            for (&column, &data_type) in target.table.primary_key.iter().zip(target.layout.key_types()) {
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
        let mut is_asked = !self.has_before;
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
        for (column, value) in new.into_iter().enumerate() {
            if let Some(at) = self.by_column[column].filter(|at| *at < values.len()) {
                values[at] = value;
            }
        }
        Ok(true)
    }

    /// The new values' bytes, and the new row where patching in place will not do.
    fn encode(
        &self,
        key: &[u8],
        beside: Option<&dyn Columns<Stop>>,
        env: Env<'_>,
        buffers: &mut ChangeBuffers,
        moved: bool,
    ) -> Result<(), Stop> {
        let ChangeBuffers { old, values, bytes, ranges, patches, row, write, .. } = buffers;
        let target = &*self.rules.target;
        let stored = Stored { layout: &target.layout, key, value: old };
        let both = Both { old: &stored, beside, width: target.table.columns.len() };
        let new = NewRow { change: self, both: &both, values, env };
        let layout = target.layout.row();
        bytes.clear();
        ranges.clear();
        patches.clear();
        let mut patch = self.is_fixed && !moved;
        for (at, assignment) in self.assignments.iter().enumerate() {
            let Some(place) = assignment.place else {
                ranges.push(None);
                continue;
            };
            let start = bytes.len();
            let value = new.value(at)?;
            match if patch { layout.patch(old, place, value.get(), bytes)? } else { None } {
                Some(offset) => patches.push((offset, start..bytes.len())),
                None => {
                    patch = false;
                    encode_value_raw(value.get(), bytes);
                }
            }
            ranges.push((!value.is_null()).then_some(start..bytes.len()));
        }
        if patch {
            *write = RowWrite::Patch;
            return Ok(());
        }
        // A damaged row must be noticed, not rewritten with NULLs.
        for place in 0..layout.types().len() {
            target.layout.raw_column(old, place)?;
        }
        row.clear();
        let stored_columns = target.layout.stored_columns();
        layout.encode_raw(
            |place| match self.by_column[stored_columns[place]] {
                Some(at) => ranges[at].clone().map(|range| &bytes[range]),
                None => target.layout.raw_column(old, place).ok().flatten(),
            },
            row,
        );
        *write = match changed_stretch(old, row) {
            _ if moved => RowWrite::Move,
            Some(stretch) if stretch.len() * 2 <= row.len() => RowWrite::Stretch(stretch),
            _ => RowWrite::Replace,
        };
        Ok(())
    }

    /// The entries that change.
    fn changed<'a>(
        &'a self,
        buffers: &'a ChangeBuffers,
    ) -> impl Iterator<Item = (usize, &'a Index, &'a Entry, &'a Entry)> {
        let entries = self.indexes.iter().zip(&buffers.entries);
        let changed = entries.filter(|(_, (before, after))| before != after || buffers.write.is_move());
        changed.map(|(&at, (before, after))| (at, &*self.rules.target.table.indexes[at], before, after))
    }

    /// Whether nothing but the row itself can change.
    #[inline]
    fn is_row_only(&self) -> bool {
        self.indexes.is_empty() && !self.moves
    }

    /// Sees to it that the old row's entries are those that it has.
    #[inline]
    pub(crate) fn settle_old(
        &self,
        trees: &mut dyn Trees,
        key: &[u8],
        env: Env<'_>,
        buffers: &mut ChangeBuffers,
    ) -> Result<(), Stop> {
        let target = &*self.rules.target;
        if !target.loses_entries {
            return Ok(());
        }
        let mut entries = self.indexes.iter().zip(&mut buffers.entries);
        entries.try_for_each(|(&at, (before, _))| before.settle(trees, target.kept_index(at), key, env))
    }

    /// Finds what is in the new row's way. `taken`: the old row's entries are not there any more.
    pub(crate) fn find_duplicate(
        &self,
        trees: &mut dyn Trees,
        buffers: &ChangeBuffers,
        taken: bool,
    ) -> Result<(), Stop> {
        let tree = self.rules.target.table.tree;
        if buffers.write.is_move() && exists(trees, tree, &buffers.new_key)? {
            return Err(Violation::Duplicate(None).into());
        }
        for (at, index, before, after) in self.changed(buffers) {
            let is_own = !taken && !before.absent && before.key == after.key;
            if after.is_exclusive() && !is_own && exists(trees, index.tree, &after.key)? {
                return Err(Violation::Duplicate(Some(at)).into());
            }
        }
        Ok(())
    }

    /// Takes away what of the old row would be in the way of new keys: its entries that change, and the row itself where
    /// its key does. [`RowChange::put_new`] must follow.
    pub(crate) fn take_old(&self, trees: &mut dyn Trees, key: &[u8], buffers: &ChangeBuffers) -> Result<(), Stop> {
        if buffers.write.is_move() {
            trees.delete(self.rules.target.table.tree, key)?;
            // A row under another key goes, and comes: others may take its key, and it another's, in between.
            derive(trees, &self.rules.target, Some((key, &buffers.old)), None)?;
        }
        let stays = !buffers.write.is_move();
        for (_, index, before, after) in self.changed(buffers).filter(|(.., before, _)| !before.absent) {
            before.take(trees, index, key, stays.then_some(after))?;
        }
        Ok(())
    }

    /// Writes the new row and its changed entries, in whose way nothing is.
    pub(crate) fn put_new(&self, trees: &mut dyn Trees, key: &[u8], buffers: &ChangeBuffers) -> Result<(), Stop> {
        let (tree, old_key) = (self.rules.target.table.tree, key);
        let key = buffers.key_after(key);
        let stays = !buffers.write.is_move();
        for (_, index, before, after) in self.changed(buffers).filter(|(.., after)| !after.absent) {
            after.put(trees, index, key, stays.then_some(before))?;
        }
        match &buffers.write {
            RowWrite::Patch => {
                for (offset, range) in &buffers.patches {
                    trees.patch(tree, key, *offset, &buffers.bytes[range.clone()])?;
                }
            }
            RowWrite::Stretch(stretch) if stretch.is_empty() => {}
            RowWrite::Stretch(stretch) => trees.patch(tree, key, stretch.start, &buffers.row[stretch.clone()])?,
            RowWrite::Replace | RowWrite::Move => trees.put(tree, key, &buffers.row)?,
        }
        match self.rules.target.table.is_derived_from() {
            false => Ok(()),
            true => self.derive(trees, (old_key, key), buffers),
        }
    }

    #[cold]
    fn derive(&self, trees: &mut dyn Trees, (old, new): (&[u8], &[u8]), buffers: &ChangeBuffers) -> Result<(), Stop> {
        let mut patched = Vec::new();
        let row = match buffers.write {
            RowWrite::Patch => {
                patched.extend_from_slice(&buffers.old);
                for (offset, range) in &buffers.patches {
                    let bytes = &buffers.bytes[range.clone()];
                    patched[*offset..][..bytes.len()].copy_from_slice(bytes);
                }
                &patched
            }
            _ => &buffers.row,
        };
        let old = (!buffers.write.is_move()).then_some((old, &buffers.old[..]));
        derive(trees, &self.rules.target, old, Some((new, row)))
    }

    /// What the new row violates, in words.
    pub(crate) fn worded(
        &self,
        stop: Stop,
        key: &[u8],
        beside: Option<&dyn Columns<Stop>>,
        env: Env<'_>,
        buffers: &ChangeBuffers,
    ) -> Stop {
        self.with_new(key, beside, env, buffers, |new| env.worded(stop, &self.rules.target, new))
    }

    fn with_new<R>(
        &self,
        key: &[u8],
        beside: Option<&dyn Columns<Stop>>,
        env: Env<'_>,
        buffers: &ChangeBuffers,
        read: impl FnOnce(&NewRow<'_>) -> R,
    ) -> R {
        let target = &*self.rules.target;
        let old = Stored { layout: &target.layout, key, value: &buffers.old };
        let both = Both { old: &old, beside, width: target.table.columns.len() };
        read(&NewRow { change: self, both: &both, values: &buffers.values, env })
    }
}

impl RowWrite {
    fn is_move(&self) -> bool {
        matches!(self, RowWrite::Move)
    }
}

impl ChangeBuffers {
    /// The row's key once it is changed.
    pub(crate) fn key_after<'k>(&'k self, key: &'k [u8]) -> &'k [u8] {
        if self.write.is_move() { &self.new_key } else { key }
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

/// The bytes of `new` that differ, from the first to the last; `None`: the lengths differ.
fn changed_stretch(old: &[u8], new: &[u8]) -> Option<Range<usize>> {
    if old.len() != new.len() {
        return None;
    }
    let Some(first) = old.iter().zip(new).position(|(a, b)| a != b) else { return Some(0..0) };
    let last = old.iter().zip(new).rposition(|(a, b)| a != b).unwrap_or(first);
    Some(first..last + 1)
}

/// The row as it will be, then what RETURNING sees beside it.
struct NewRow<'a> {
    change: &'a RowChange,
    both: &'a Both<'a>,
    /// Once computed.
    values: &'a [Value],
    env: Env<'a>,
}

impl NewRow<'_> {
    /// The new value of an assignment, lent.
    fn value(&self, at: usize) -> Result<Datum<'_>, Stop> {
        self.change.assignments[at].value(&self.values[at], self.both, self.env)
    }
}

impl Columns<Stop> for NewRow<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        match self.change.by_column.get(index) {
            Some(Some(at)) => self.value(*at),
            Some(None) => self.both.old.column(index),
            None => self.both.beside(self.change.extra_at + index - self.change.by_column.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::changed_stretch;

    #[test]
    fn the_changed_stretch_spans_first_to_last_difference() {
        assert_eq!(changed_stretch(b"abcdef", b"abXdYf"), Some(2..5));
        assert_eq!(changed_stretch(b"abc", b"abc"), Some(0..0));
        assert_eq!(changed_stretch(b"abc", b"ab"), None);
    }
}
