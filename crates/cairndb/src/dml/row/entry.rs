//! Index entries.

use super::violation::named_key;
use super::{Env, Stop, Stored, env};
use crate::bind::bind_index;
use crate::catalog::{Catalog, Index, Table, TableLayout};
use crate::exec::{Columns, Datum, ExecContext};
use crate::plan::BoundIndex;
use crate::types::{DataType, key};
use crate::{Error, Result, Value};

/// An index entry.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(super) key: Vec<u8>,
    /// Unique and without NULL: its value is the row's key, and it must not be there yet.
    pub(super) exclusive: bool,
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
        // Buffers are used for whatever table comes next.
        self.absent = false;
        self.key.clear();
        self.exclusive = of.index.encode_entry_with(row_key, &mut self.key, |part, out| {
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
        Indexed { table, index, .. }: Indexed<'_>,
        bound: &BoundIndex,
        row: &dyn Columns<Stop>,
        row_key: &[u8],
        env: Env<'_>,
    ) -> Result<(), Stop> {
        self.key.clear();
        self.absent = match &bound.predicate {
            Some(predicate) => !env::eval(predicate, row, env)?.is_true(),
            None => false,
        };
        self.exclusive = false;
        if self.absent {
            return Ok(());
        }
        self.exclusive = index.encode_entry_with(row_key, &mut self.key, |part, out| {
            let expression = bound.expressions.iter().find(|(column, _)| *column == part.column);
            let (value, data_type) = match expression {
                Some((_, expr)) => (env::eval(expr, row, env)?, expr.data_type()),
                None => (row.column(part.column)?, type_of(table, part.column)?),
            };
            key::encode_ref(value.get(), data_type, part.descending, part.nulls_first, out);
            Ok::<_, Stop>(value.is_null())
        })?;
        Ok(())
    }

    /// The entry's value.
    pub(super) fn value<'k>(&self, row_key: &'k [u8]) -> &'k [u8] {
        if self.exclusive { row_key } else { &[] }
    }
}

/// A row of whatever kind.
struct Lent<'a, R: ?Sized>(&'a R);

impl<R: Columns<Stop> + ?Sized> Columns<Stop> for Lent<'_, R> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        self.0.column(index)
    }
}

fn type_of(table: &Table, column: usize) -> Result<DataType> {
    table.key_type(column).ok_or_else(|| Error::internal("no such column in a key"))
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

    /// The key of the row's entry and its value; `None`: it has none.
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
        let row = Stored { layout: &self.layout, key, value };
        let expression = |column: usize| {
            let all = self.index.expressions.iter().zip(self.bound.iter().flat_map(|bound| &bound.expressions));
            all.into_iter().find(|(key, _)| key.column == column)
        };
        let name = |column: usize| match expression(column) {
            Some((key, _)) => key.shown(),
            None => self.table.key_name(column),
        };
        let value = |column: usize| match expression(column) {
            Some((_, (_, expr))) => Ok::<_, Stop>(env::eval(expr, &row, Env::of(context))?.into_value()),
            None => Ok(row.column(column)?.into_value()),
        };
        let columns = || self.index.columns.iter().map(|part| part.column);
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
