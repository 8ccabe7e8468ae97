//! A row that is read where it lies.

use super::join::{Rows, Step};
use super::select::{Output, PointSelect};
use crate::catalog::ColumnPlace;
use crate::exec::Stored;
use crate::result::Row;
use crate::types::row::{decode_raw, integer_from_raw};
use crate::types::{DataType, EnumValue, FromValue, Params, ValueRef};
use crate::{Error, Result, Value};

/// A row lent for the duration of a call: see [`Statement::query_point`](crate::Statement::query_point). The getters
/// that return an `Option` give `None` for NULL and where the column is of another type.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script("CREATE TABLE t (id int PRIMARY KEY, name text, size float8, ok boolean, raw bytea, left_out int)")?;
/// conn.execute("INSERT INTO t VALUES (1, 'one', 1.5, true, '\\x00ff', NULL)", ())?;
/// let mut statement = conn.prepare("SELECT id, name, size, ok, raw, left_out FROM t WHERE id = $1")?;
/// let length = statement.query_point((1,), |row| {
///     assert_eq!((row.get_i64(0), row.get_f64(2), row.get_bool(3)), (Some(1), Some(1.5), Some(true)));
///     assert_eq!(row.get_bytes(4), Some(&[0, 255][..]));
///     assert!(row.is_null(5));
///     row.get_str(1).map(str::len)
/// })?;
/// assert_eq!(length, Some(Some(3)));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct RowRef<'a>(Inner<'a>);

#[derive(Clone, Copy)]
enum Inner<'a> {
    Values(Row<'a>),
    Stored(StoredRow<'a>),
}

/// Rows as their trees have them, and what was computed from them.
#[derive(Clone, Copy)]
pub(super) struct StoredRow<'a> {
    pub(super) plan: &'a PointSelect,
    pub(super) rows: &'a Rows<'a>,
    pub(super) computed: &'a [Value],
    pub(super) params: &'a dyn Params,
}

/// Where a column's value is.
enum Place<'a> {
    Null,
    /// The row's bytes of the column.
    Raw(&'a [u8], DataType),
    /// The column at this position of the primary key of the row that a step read.
    Key(&'a Stored<'a>, &'a Step, usize, DataType),
    Computed(&'a Value),
    Missing,
}

impl<'a> StoredRow<'a> {
    #[inline]
    fn place(&self, output: usize) -> Place<'a> {
        let (step, place, data_type) = match self.plan.outputs.get(output) {
            Some(&Output::Stored { step, place, data_type }) => (step, place, data_type),
            Some(&Output::Computed(at)) => return self.computed.get(at).map_or(Place::Missing, Place::Computed),
            None => return Place::Missing,
        };
        let Some(row) = &self.rows[step] else { return Place::Null };
        match place {
            ColumnPlace::Key(at) => Place::Key(row, &self.plan.steps[step], at, data_type),
            ColumnPlace::Row(at) => match row.layout.raw_column(row.value, at) {
                Ok(Some(raw)) => Place::Raw(raw, data_type),
                Ok(None) => Place::Null,
                Err(_) => Place::Missing,
            },
        }
    }

    fn value(&self, output: usize) -> Result<Value> {
        match self.place(output) {
            Place::Null => Ok(Value::Null),
            Place::Raw(raw, data_type) => decode_raw(raw, data_type),
            Place::Key(row, _, at, _) => row.key_value(at),
            Place::Computed(value) => Ok(value.clone()),
            Place::Missing if output < self.plan.outputs.len() => {
                Err(Error::new(crate::SqlState::DATA_CORRUPTED, "a row is damaged"))
            }
            Place::Missing => Err(Error::new(
                crate::SqlState::UNDEFINED_COLUMN,
                format!("there is no column at index {output}: the row has {}", self.plan.outputs.len()),
            )),
        }
    }
}

fn array<const N: usize>(raw: &[u8]) -> Option<[u8; N]> {
    raw.try_into().ok()
}

impl<'a> From<Row<'a>> for RowRef<'a> {
    fn from(row: Row<'a>) -> RowRef<'a> {
        RowRef::values(row)
    }
}

impl<'a> RowRef<'a> {
    pub(crate) fn values(row: Row<'a>) -> RowRef<'a> {
        RowRef(Inner::Values(row))
    }

    pub(super) fn stored(row: StoredRow<'a>) -> RowRef<'a> {
        RowRef(Inner::Stored(row))
    }

    /// Whether the column is NULL.
    pub fn is_null(&self, index: usize) -> bool {
        match self.0 {
            Inner::Values(row) => row.value(index).is_null(),
            Inner::Stored(row) => match row.place(index) {
                Place::Computed(value) => value.is_null(),
                place => matches!(place, Place::Null),
            },
        }
    }

    /// An integer column of any width.
    #[inline]
    pub fn get_i64(&self, index: usize) -> Option<i64> {
        let row = match self.0 {
            Inner::Values(row) => return row.value(index).as_i64(),
            Inner::Stored(row) => row,
        };
        match row.place(index) {
            Place::Raw(raw, data_type @ (DataType::BigInt | DataType::Integer | DataType::SmallInt)) => {
                integer_from_raw(raw, data_type).ok()
            }
            Place::Key(row, _, at, DataType::BigInt | DataType::Integer | DataType::SmallInt) => {
                row.key_value(at).ok()?.as_i64()
            }
            Place::Computed(value) => value.as_i64(),
            _ => None,
        }
    }

    /// A floating-point column of either width.
    #[inline]
    pub fn get_f64(&self, index: usize) -> Option<f64> {
        let row = match self.0 {
            Inner::Values(row) => return row.get::<f64>(index).ok(),
            Inner::Stored(row) => row,
        };
        match row.place(index) {
            Place::Raw(raw, DataType::Double) => array(raw).map(f64::from_le_bytes),
            Place::Raw(raw, DataType::Real) => array(raw).map(|raw| f32::from_le_bytes(raw).into()),
            Place::Computed(Value::Double(value)) => Some(*value),
            Place::Computed(Value::Real(value)) => Some((*value).into()),
            _ => None,
        }
    }

    /// A boolean column.
    pub fn get_bool(&self, index: usize) -> Option<bool> {
        match self.value(index) {
            Ok(Value::Boolean(value)) => Some(value),
            _ => None,
        }
    }

    /// A text column, or an enum's label, borrowed.
    #[inline]
    pub fn get_str(&self, index: usize) -> Option<&'a str> {
        let row = match self.0 {
            Inner::Values(row) => return row.get_str(index),
            Inner::Stored(row) => row,
        };
        match row.place(index) {
            Place::Raw(raw, DataType::Text | DataType::Varchar(_) | DataType::Char(_) | DataType::Json) => {
                std::str::from_utf8(raw).ok()
            }
            Place::Raw(raw, data_type @ DataType::Enum(of)) => {
                of.value_of_key(integer_from_raw(raw, data_type).ok()?).map(EnumValue::label)
            }
            Place::Key(row, _, at, DataType::Enum(_)) => match row.key_value(at) {
                Ok(Value::Enum(value)) => Some(value.label()),
                _ => None,
            },
            Place::Key(_, step, at, DataType::Text | DataType::Varchar(_)) => match step.key_operand(at, row.params) {
                Some(ValueRef::Text(text)) => Some(text),
                _ => None,
            },
            Place::Computed(Value::Text(text) | Value::Json(text)) => Some(text),
            Place::Computed(Value::Enum(value)) => Some(value.label()),
            _ => None,
        }
    }

    /// A BYTEA column, borrowed.
    pub fn get_bytes(&self, index: usize) -> Option<&'a [u8]> {
        match self.0 {
            Inner::Values(row) => match row.value(index) {
                Value::Bytea(bytes) => Some(bytes),
                _ => None,
            },
            Inner::Stored(row) => match row.place(index) {
                Place::Raw(raw, DataType::Bytea) => Some(raw),
                Place::Computed(Value::Bytea(bytes)) => Some(bytes),
                _ => None,
            },
        }
    }

    /// Any column as an owned value.
    pub fn value(&self, index: usize) -> Result<Value> {
        match self.0 {
            Inner::Values(row) => row.get(index),
            Inner::Stored(row) => row.value(index),
        }
    }

    /// Any column, converted.
    pub fn get<T: FromValue>(&self, index: usize) -> Result<T> {
        T::from_value(&self.value(index)?)
    }
}
