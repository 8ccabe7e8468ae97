//! New rows whose values lie side by side in columns, encoded straight from there: what nothing has to be made of, and nobody
//! looks at but for NULLs, is not gathered into a row first.

use std::borrow::Cow;

use cairn_storage::KeyList;

use super::RowInsert;
use super::fit::is_limited;
use crate::Value;
use crate::exec::{Bitmap, Data, Vector};
use crate::types::row::{RowLayout, RowValues, integer_of};
use crate::types::{DataType, ValueRef, key};

/// Fewer rows are not worth a look at their columns first, which takes as long as to gather one or two.
const MANY: usize = 4;

/// What the rows have in a column.
#[derive(Clone, Copy)]
pub(crate) enum Given<'c> {
    /// All the same.
    Value(&'c Value),
    Each(&'c Vector),
}

/// Rows that may be encoded as they are.
pub(crate) struct NewRows<'c> {
    layout: &'c RowLayout,
    /// The primary key's columns.
    key: Vec<(NewColumn<'c>, DataType)>,
    /// The columns that rows store.
    stored: Vec<NewColumn<'c>>,
    count: usize,
}

/// A column of rows.
pub(super) enum NewColumn<'c> {
    Constant(ValueRef<'c>),
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

impl<'c> Given<'c> {
    /// As [`Vector::value_ref_or`].
    #[inline]
    pub(crate) fn value_ref_or(self, row: usize, bad_text: impl FnOnce() -> ValueRef<'c>) -> ValueRef<'c> {
        match self {
            Given::Value(value) => value.into(),
            Given::Each(vector) => vector.value_ref_or(row, bad_text),
        }
    }

    pub(crate) fn value(self, row: usize) -> Value {
        match self {
            Given::Value(value) => value.clone(),
            Given::Each(vector) => vector.value(row),
        }
    }

    /// How many of so many rows come before the first that has NULL.
    fn rows_before_null(self, rows: usize) -> usize {
        match self {
            Given::Value(Value::Null) => 0,
            Given::Value(_) => rows,
            Given::Each(vector) => match vector.validity() {
                Some(bits) => (0..rows).find(|&row| !bits.get(row)).unwrap_or(rows),
                None => rows,
            },
        }
    }
}

impl<'c> NewRows<'c> {
    /// So many rows of which each column is `given`. `None`: a value has to be made or fitted, or looked at, or they are few.
    pub(crate) fn of(
        program: &'c RowInsert,
        given: impl Fn(usize) -> Option<Given<'c>>,
        rows: usize,
    ) -> Option<NewRows<'c>> {
        let target = &*program.rules.target;
        let (table, layout) = (&target.table, &target.layout);
        let is_limited = table.columns.iter().any(|column| is_limited(column.data_type));
        if rows < MANY
            || program.rules.are_computed()
            || !target.bound.generated.is_empty()
            || layout.has_row_numbers()
            || is_limited
        {
            return None;
        }
        let column = |at: usize| NewColumn::of(given(at)?, table.columns[at].data_type, rows);
        let key = |(&at, &data_type): (&usize, &DataType)| Some((column(at)?, data_type));
        let before_null = |&at: &usize| given(at).map_or(0, |given| given.rows_before_null(rows));
        Some(NewRows {
            layout: layout.row(),
            key: table.primary_key.iter().zip(layout.key_types()).map(key).collect::<Option<_>>()?,
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

impl<'c> NewColumn<'c> {
    /// `None`: it is not what columns of this type are held as, or not known to be text.
    pub(super) fn of(given: Given<'c>, data_type: DataType, rows: usize) -> Option<NewColumn<'c>> {
        let vector = match given {
            Given::Value(value) => return Some(NewColumn::Constant(value.into())),
            Given::Each(vector) => vector,
        };
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
            NewColumn::Constant(value) => value,
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
