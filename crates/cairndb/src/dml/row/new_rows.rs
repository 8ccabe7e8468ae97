//! New rows whose values lie side by side in columns, encoded straight from there: what nothing has to be made of, and nobody
//! looks at but for NULLs, is not gathered into a row first.

use std::borrow::Cow;
use std::sync::Arc;

use cairn_storage::KeyList;

use super::fit::{all_fit, is_limited};
use super::{Numbers, RowInsert};
use crate::Result;
use crate::catalog::Column;
use crate::columns::{Bitmap, Data, Vector};
use crate::state::row_number_key;
use crate::types::row::{RowLayout, RowValues, integer_of};
use crate::types::{DataType, ValueRef, key};

/// Fewer rows are not worth a look at their columns first, which takes as long as to gather one or two.
const MANY: usize = 4;

/// Rows that may be encoded as they are.
pub(crate) struct NewRows<'c> {
    layout: &'c RowLayout,
    /// The first one's number, where they have numbers for keys.
    number: Option<u64>,
    /// The primary key's columns.
    key: Vec<(NewColumn<'c>, DataType)>,
    /// The columns that rows store.
    stored: Vec<NewColumn<'c>>,
    count: usize,
}

/// A column of rows.
pub(super) enum NewColumn<'c> {
    /// Kept as integers; the bits are those that are not NULL.
    Integers {
        all: Cow<'c, [i64]>,
        validity: Option<&'c Bitmap>,
        vector: &'c Vector,
    },
    Other(&'c Vector),
}

/// One of the rows.
struct NewRow<'r, 'c> {
    columns: &'r [NewColumn<'c>],
    row: usize,
}

impl<'c> NewRows<'c> {
    /// So many rows of these columns. `None`: a value has to be made or fitted, or looked at, or they are few. `numbers`: where they
    /// get theirs, if they have numbers for keys.
    pub(crate) fn of(
        program: &'c RowInsert,
        columns: &'c [Arc<Vector>],
        rows: usize,
        (store, numbers): Numbers<'_>,
    ) -> Result<Option<NewRows<'c>>> {
        let Some(mut new) = NewRows::as_they_are(program, columns, rows) else { return Ok(None) };
        if program.rules.target.layout.has_row_numbers() {
            new.number = Some(numbers.take(store, program.rules.target.table.tree, new.count as u64)?);
        }
        Ok(Some(new))
    }

    fn as_they_are(program: &'c RowInsert, columns: &'c [Arc<Vector>], rows: usize) -> Option<NewRows<'c>> {
        let target = &*program.rules.target;
        let (table, layout) = (&target.table, &target.layout);
        let fit = |(column, of): (&Arc<Vector>, &Column)| !is_limited(of.data_type) || all_fit(column, of.data_type);
        if rows < MANY
            || program.rules.are_computed()
            || !target.bound.generated.is_empty()
            || !columns.iter().zip(&table.columns).all(fit)
        {
            return None;
        }
        let column = |at: usize| NewColumn::of(columns.get(at)?, table.columns[at].data_type, rows);
        let key = |(at, data_type)| Some((column(at)?, data_type));
        let before_null = |&at: &usize| columns.get(at).map_or(0, |column| rows_before_null(column, rows));
        Some(NewRows {
            layout: layout.row(),
            number: None,
            key: layout.key_columns().map(key).collect::<Option<_>>()?,
            stored: layout.stored_columns().iter().map(|&at| column(at)).collect::<Option<_>>()?,
            count: program.rules.not_null().iter().map(before_null).min().unwrap_or(rows),
        })
    }

    /// How many they are: those before the first that has a NULL where none may be.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Appends the key of a row, and what is stored of it.
    #[inline]
    pub(crate) fn encode(&self, row: usize, keys: &mut KeyList, rows: &mut KeyList) {
        keys.push_with(|out| {
            if let Some(first) = self.number {
                out.extend_from_slice(&row_number_key(first + row as u64));
            }
            for (column, data_type) in &self.key {
                match column {
                    NewColumn::Integers { all, validity: None, .. } => key::encode_integer(all[row], out),
                    other => key::encode_ref(other.value(row), *data_type, false, false, out),
                }
            }
        });
        rows.push_with(|out| self.layout.encode_values(&NewRow { columns: &self.stored, row }, out));
    }
}

/// How many of so many rows come before the first that has NULL.
fn rows_before_null(column: &Vector, rows: usize) -> usize {
    column.validity().and_then(|bits| (0..rows).find(|&row| !bits.get(row))).unwrap_or(rows)
}

impl<'c> NewColumn<'c> {
    /// `None`: it is not what columns of this type are held as, or not known to be text.
    pub(super) fn of(vector: &'c Vector, data_type: DataType, rows: usize) -> Option<NewColumn<'c>> {
        if vector.len() < rows || vector.data_type().physical() != data_type.physical() {
            return None;
        }
        let all = match vector.data() {
            Data::I64(all) => Cow::Borrowed(&all[..]),
            Data::I32(all) => all.iter().map(|&number| i64::from(number)).collect(),
            Data::I16(all) => all.iter().map(|&number| i64::from(number)).collect(),
            Data::Bytes(strings) if data_type != DataType::Bytea && !strings.are_text() => return None,
            _ => return Some(NewColumn::Other(vector)),
        };
        Some(NewColumn::Integers { all, validity: vector.validity(), vector })
    }

    #[inline]
    pub(super) fn value(&self, row: usize) -> ValueRef<'c> {
        match *self {
            // (Text is known to be text.)
            NewColumn::Integers { vector, .. } | NewColumn::Other(vector) => {
                vector.value_ref_or(row, || ValueRef::Null)
            }
        }
    }

    /// What rows keep of a value that is kept as an integer; `None`: it is none, or NULL.
    #[inline]
    pub(super) fn integer(&self, row: usize) -> Option<i64> {
        match self {
            NewColumn::Integers { all, validity: None, .. } => Some(all[row]),
            NewColumn::Integers { all, validity: Some(bits), .. } => bits.get(row).then(|| all[row]),
            other => integer_of(other.value(row)),
        }
    }
}

impl<'c> RowValues<'c> for NewRow<'_, 'c> {
    #[inline]
    fn value(&self, column: usize) -> ValueRef<'c> {
        self.columns[column].value(self.row)
    }

    #[inline]
    fn integer(&self, column: usize) -> Option<i64> {
        self.columns[column].integer(self.row)
    }
}
