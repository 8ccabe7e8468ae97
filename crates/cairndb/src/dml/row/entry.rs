//! Index entries.

use super::violation::named_key;
use super::{Env, Stop, Stored, Trees, env};
use crate::bind::bind_index;
use crate::catalog::{Apart, Catalog, Index, Table, TableLayout};
use crate::exec::ExecContext;
use crate::inverted::{ITEM_BYTES, add_items, note_key};
use crate::plan::{BoundIndex, Columns, Datum, Expr};
use crate::types::{DataType, key};
use crate::{Error, Result, Value};

/// An index entry; of an inverted index, one for each of the row's items.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Of an inverted index: the items, ascending, each once.
    pub(super) key: Vec<u8>,
    /// [`Apart::AtOnce`]: its value is the row's key, and it must not be there yet.
    pub(super) apart: Apart,
    /// The index has none of the row.
    pub(super) absent: bool,
}

/// An index as entries are made for it.
#[derive(Clone, Copy)]
pub(super) struct Indexed<'a> {
    pub(super) table: &'a Table,
    pub(super) index: &'a Index,
    /// What it rests on besides columns.
    pub(super) bound: Option<&'a BoundIndex>,
}

impl Entry {
    /// Writes the entry of a row over this one.
    #[inline]
    pub(super) fn encode(
        &mut self,
        of: Indexed<'_>,
        row: &(impl Columns<Stop> + ?Sized),
        row_key: &[u8],
        env: Env<'_>,
    ) -> Result<(), Stop> {
        if let Some(bound) = of.bound {
            return self.encode_bound(of, bound, &Lent(row), row_key, env);
        }
        if of.index.is_inverted() {
            return self.encode_items(of, &Lent(row), env);
        }
        // Buffers are used for whatever table comes next.
        self.absent = false;
        self.key.clear();
        self.apart = of.index.encode_entry_with(row_key, &mut self.key, |part, out| {
            let value = row.column(part.column)?;
            let data_type = of.table.columns[part.column].data_type;
            key::encode_ref(value.get(), data_type, part.descending, part.nulls_first, out);
            Ok::<_, Stop>(value.is_null())
        })?;
        Ok(())
    }

    /// Of an index with expressions.
    #[cold]
    fn encode_bound(
        &mut self,
        of: Indexed<'_>,
        bound: &BoundIndex,
        row: &dyn Columns<Stop>,
        row_key: &[u8],
        env: Env<'_>,
    ) -> Result<(), Stop> {
        self.key.clear();
        self.absent = match &bound.predicate {
            Some(predicate) => !env::eval(predicate, row, env.stored())?.is_true(),
            None => false,
        };
        self.apart = Apart::Never;
        if self.absent {
            return Ok(());
        }
        if of.index.is_inverted() {
            return self.encode_items(of, row, env);
        }
        self.apart = of.index.encode_entry_with(row_key, &mut self.key, |part, out| {
            let (value, data_type) = (of.key_value(part.column, row, env)?, of.key_type(part.column)?);
            key::encode_ref(value.get(), data_type, part.descending, part.nulls_first, out);
            Ok::<_, Stop>(value.is_null())
        })?;
        Ok(())
    }

    /// Of an inverted index.
    #[cold]
    fn encode_items(&mut self, of: Indexed<'_>, row: &dyn Columns<Stop>, env: Env<'_>) -> Result<(), Stop> {
        self.key.clear();
        (self.apart, self.absent) = (Apart::Never, false);
        let mut items = Vec::new();
        let classes = of.index.inverted.iter().flat_map(|inverted| &inverted.classes);
        for ((at, part), class) in of.index.columns.iter().enumerate().zip(classes) {
            let (value, data_type) = (of.key_value(part.column, row, env)?.into_value(), of.key_type(part.column)?);
            add_items(*class, at, (&value, data_type), &mut items)?;
        }
        items.sort_unstable();
        items.dedup();
        items.iter().for_each(|item| self.key.extend_from_slice(&item.to_be_bytes()));
        Ok(())
    }

    /// Unique and without NULL: it must not be there yet.
    #[inline]
    pub(super) fn is_exclusive(&self) -> bool {
        self.apart == Apart::AtOnce
    }

    /// Its columns, where no other row may have the same in the end.
    #[inline]
    pub(super) fn guarded(&self) -> Option<&[u8]> {
        match self.apart {
            Apart::Later(length) if !self.absent => self.key.get(..length),
            _ => None,
        }
    }

    fn items(&self) -> impl Iterator<Item = &[u8]> {
        self.key.chunks_exact(ITEM_BYTES)
    }

    /// Writes the entry of a row. `before`: what the same row had in the index, which of an inverted one stays where it is.
    pub(super) fn put(
        &self,
        trees: &mut dyn Trees,
        index: &Index,
        row_key: &[u8],
        before: Option<&Entry>,
    ) -> Result<(), Stop> {
        match index.is_inverted() {
            true => self.note(trees, index, row_key, (true, before)),
            false => Ok(trees.put(index.tree, &self.key, self.value(row_key))?),
        }
    }

    /// Takes away the entry of a row. `after`: what the same row will have in the index.
    pub(super) fn take(
        &self,
        trees: &mut dyn Trees,
        index: &Index,
        row_key: &[u8],
        after: Option<&Entry>,
    ) -> Result<(), Stop> {
        match index.is_inverted() {
            true => self.note(trees, index, row_key, (false, after)),
            false => Ok(trees.delete(index.tree, &self.key).map(drop)?),
        }
    }

    /// Sees to it that this is the entry that a row of the index has. Functions that say they are IMMUTABLE and are not may give
    /// something else than they gave when the row was written. Then its entry is looked for among all, before anything is changed, so
    /// that none stays that leads to no row, or to another one.
    #[cold]
    pub(super) fn settle(
        &mut self,
        trees: &mut dyn Trees,
        of: Indexed<'_>,
        row_key: &[u8],
        env: Env<'_>,
    ) -> Result<(), Stop> {
        // (Items' notes say what a row has not, whether it had it or not.)
        if self.absent || of.index.is_inverted() || of.bound.is_none_or(|bound| !bound.of_users) {
            return Ok(());
        }
        let mut is_it = false;
        let value = self.value(row_key);
        trees.get(of.index.tree, &self.key, &mut |found| is_it = found == value)?;
        if is_it {
            return Ok(());
        }
        let is_of_row = |key: &[u8], value: &[u8]| Ok(of.index.row_key(of.table, key, value)? == row_key);
        match trees.find(of.index.tree, &is_of_row, &|| env.check())? {
            Some(key) => self.key = key,
            None => self.absent = true,
        }
        Ok(())
    }

    /// Notes of each item, but those of another entry, that the row has it, or that it has not.
    #[cold]
    fn note(
        &self,
        trees: &mut dyn Trees,
        index: &Index,
        row_key: &[u8],
        (has, other): (bool, Option<&Entry>),
    ) -> Result<(), Stop> {
        let mut others = other.filter(|other| !other.absent).map(|other| other.items().peekable());
        let (mut key, mut count) = (Vec::new(), 0);
        for item in self.items() {
            let is_other = others.as_mut().is_some_and(|others| {
                while others.next_if(|other| *other < item).is_some() {}
                others.peek().is_some_and(|other| *other == item)
            });
            if !is_other {
                let value = note_key(item, row_key, has, &mut key);
                trees.put(index.tree, &key, value)?;
                count += 1;
            }
        }
        index.inverted.iter().for_each(|inverted| inverted.unsettled.add(count));
        Ok(())
    }

    /// The entry's value.
    pub(super) fn value<'k>(&self, row_key: &'k [u8]) -> &'k [u8] {
        if self.is_exclusive() { row_key } else { &[] }
    }
}

/// A row of whatever kind.
struct Lent<'a, R: ?Sized>(&'a R);

impl<R: Columns<Stop> + ?Sized> Columns<Stop> for Lent<'_, R> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        self.0.column(index)
    }
}

impl<'a> Indexed<'a> {
    /// The expression that stands for this column of the key.
    fn expression(self, column: usize) -> Option<&'a Expr> {
        let all = self.bound.into_iter().flat_map(|bound| &bound.expressions);
        all.into_iter().find(|(key, _)| *key == column).map(|(_, expr)| expr)
    }

    /// What a row has in a column of the key.
    pub(super) fn key_value<'v>(
        self,
        column: usize,
        row: &'v dyn Columns<Stop>,
        env: Env<'v>,
    ) -> Result<Datum<'v>, Stop>
    where
        'a: 'v,
    {
        match self.expression(column) {
            Some(expr) => env::eval(expr, row, env.stored()),
            None => row.column(column),
        }
    }

    fn key_type(self, column: usize) -> Result<DataType> {
        let data_type = self.expression(column).map(Expr::data_type).or_else(|| self.table.key_type(column));
        data_type.ok_or_else(|| Error::internal("no such column in a key"))
    }
}

/// Makes an index's entries of stored rows.
pub(crate) struct Entries<'a> {
    table: &'a Table,
    index: &'a Index,
    layout: TableLayout,
    bound: Option<BoundIndex>,
    entry: Entry,
}

impl<'a> Entries<'a> {
    pub(crate) fn of(table: &'a Table, index: &'a Index, catalog: &Catalog) -> Result<Entries<'a>> {
        let bound = if index.is_plain() { None } else { Some(bind_index(index, table, catalog)?) };
        Ok(Entries { table, index, layout: TableLayout::new(table), bound, entry: Entry::default() })
    }

    /// The same, of rows that have their entries.
    pub(crate) fn kept(table: &'a Table, index: &'a Index, catalog: &Catalog) -> Result<Entries<'a>> {
        let Entries { layout, bound, entry, .. } = Entries::of(table, index, catalog)?;
        Ok(Entries { table, index, layout, bound: bound.as_ref().map(BoundIndex::kept), entry })
    }

    /// Calls `each` with the key and the value of every entry of the row: of an inverted index, its items and the row's key.
    pub(crate) fn each_of_row(
        &mut self,
        key: &[u8],
        value: &[u8],
        context: &ExecContext,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let is_inverted = self.index.is_inverted();
        match self.of_row(key, value, context)? {
            None => Ok(()),
            Some((items, _)) if is_inverted => items.chunks_exact(ITEM_BYTES).try_for_each(|item| each(item, key)),
            Some((entry, row_key)) => each(entry, row_key),
        }
    }

    /// The key of the row's entry and its value; `None`: it has none. Of an inverted index, its items.
    pub(crate) fn of_row<'k>(
        &mut self,
        key: &'k [u8],
        value: &[u8],
        context: &ExecContext,
    ) -> Result<Option<(&[u8], &'k [u8])>> {
        let Entries { table, index, layout, bound, entry } = self;
        let row = Stored { layout, key, value };
        entry.encode(Indexed { table, index, bound: bound.as_ref() }, &row, key, Env::of(context))?;
        Ok((!entry.absent).then(|| (&*entry.key, entry.value(key))))
    }

    /// `Key (a, lower(b))=(1, x)` of a stored row.
    pub(crate) fn key_detail(&self, key: &[u8], value: &[u8], context: &ExecContext) -> Result<String> {
        let Entries { table, index, layout, bound, .. } = self;
        let (row, of) = (Stored { layout, key, value }, Indexed { table, index, bound: bound.as_ref() });
        let name = |column: usize| match index.expressions.iter().find(|key| key.column == column) {
            Some(key) => key.shown(),
            // The index need not be in the table yet.
            None => table.key_name(column),
        };
        let value = |column: usize| Ok(of.key_value(column, &row, Env::of(context))?.into_value());
        let columns = || index.positions();
        let values: Vec<Value> = columns().map(value).collect::<Result<_, Stop>>()?;
        Ok(named_key(columns().map(name), values.iter(), &context.eval))
    }
}

/// Makes room for `count`; what there is beyond stays, with its memory, for who needs more.
#[inline]
pub(super) fn grow<T: Default>(buffers: &mut Vec<T>, count: usize) {
    if buffers.len() < count {
        buffers.resize_with(count, T::default);
    }
}
