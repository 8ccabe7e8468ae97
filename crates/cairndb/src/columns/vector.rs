//! A column of values of one type, as the machine likes it: fixed-width values in one array, text and bytes in one
//! arena, and a validity bitmap only where there are NULLs.
//!
//! Invariants: the data and the bitmap have the same length; the representation follows from the type alone
//! ([`DataType::physical`]). The slot of a NULL holds some value of the type: kernels compute it along with the others, and
//! nobody may look at it.

use std::sync::Arc;

use super::bitmap::Bitmap;
use super::byte_strings::ByteStrings;
use super::decimals::Decimals;
pub use crate::types::Physical as Representation;
use crate::types::{Array, DataType, Interval, RegValue, Value, ValueRef};
use crate::{Error, Result};

/// Stands for "no row" among row numbers: of [`Vector::gather`], and the missing side of an outer join.
pub const NO_ROW: u32 = u32::MAX;

/// The values of a vector, and whatever stands where NULLs are: how they lie follows from the type ([`DataType`]).
///
/// ```
/// use cairndb::{Data, DataType, Vector};
///
/// let days = Vector::from_data(DataType::Date, Data::I32(vec![0, 59]), None)?;
/// let Data::I32(items) = days.data() else { panic!("dates are days since 2000-01-01") };
/// assert_eq!(items, &[0, 59]);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Data {
    /// `boolean`
    Bool(Vec<bool>),
    /// `smallint`
    I16(Vec<i16>),
    /// `integer`; `date`: days since 2000-01-01, the infinities at both ends.
    I32(Vec<i32>),
    /// `bigint`, `oid`; times, in microseconds since midnight; timestamps, in microseconds since 2000-01-01 00:00 (UTC), the infinities at
    /// both ends; `timetz` as [`TimeTz::packed`](crate::TimeTz::packed) has it; enums, by the number of the label.
    I64(Vec<i64>),
    /// `real`
    F32(Vec<f32>),
    /// `double precision`
    F64(Vec<f64>),
    /// Strings of any type, and `bytea`.
    Bytes(ByteStrings),
    /// `numeric`
    Decimal(Decimals),
    /// `uuid`
    Uuid(Vec<[u8; 16]>),
    /// `interval`
    Interval(Vec<Interval>),
    /// All else: arrays, `json`, `jsonb`, rows.
    Values(Vec<Value>),
}

/// Runs the same code for each representation that is a plain `Vec`, other code for the others.
macro_rules! each_data {
    ($data:expr, $items:ident => $plain:expr, $strings:ident => $bytes:expr) => {
        match $data {
            Data::Bool($items) => $plain,
            Data::I16($items) => $plain,
            Data::I32($items) => $plain,
            Data::I64($items) => $plain,
            Data::F32($items) => $plain,
            Data::F64($items) => $plain,
            Data::Uuid($items) => $plain,
            Data::Interval($items) => $plain,
            Data::Values($items) => $plain,
            Data::Bytes($strings) => $bytes,
            Data::Decimal($strings) => $bytes,
        }
    };
}

impl Data {
    /// How they lie.
    pub(crate) fn representation(&self) -> Representation {
        match self {
            Data::Bool(_) => Representation::Bool,
            Data::I16(_) => Representation::I16,
            Data::I32(_) => Representation::I32,
            Data::I64(_) => Representation::I64,
            Data::F32(_) => Representation::F32,
            Data::F64(_) => Representation::F64,
            Data::Bytes(_) => Representation::Bytes,
            Data::Decimal(_) => Representation::Decimal,
            Data::Uuid(_) => Representation::Uuid,
            Data::Interval(_) => Representation::Interval,
            Data::Values(_) => Representation::Values,
        }
    }

    fn new(representation: Representation, capacity: usize) -> Data {
        match representation {
            Representation::Bool => Data::Bool(Vec::with_capacity(capacity)),
            Representation::I16 => Data::I16(Vec::with_capacity(capacity)),
            Representation::I32 => Data::I32(Vec::with_capacity(capacity)),
            Representation::I64 => Data::I64(Vec::with_capacity(capacity)),
            Representation::F32 => Data::F32(Vec::with_capacity(capacity)),
            Representation::F64 => Data::F64(Vec::with_capacity(capacity)),
            Representation::Bytes => Data::Bytes(ByteStrings::with_capacity(capacity)),
            Representation::Decimal => Data::Decimal(Decimals::with_capacity(capacity)),
            Representation::Uuid => Data::Uuid(Vec::with_capacity(capacity)),
            Representation::Interval => Data::Interval(Vec::with_capacity(capacity)),
            Representation::Values => Data::Values(Vec::with_capacity(capacity)),
        }
    }

    pub(super) fn len(&self) -> usize {
        each_data!(self, items => items.len(), strings => strings.len())
    }

    fn push_default(&mut self) {
        match self {
            Data::Bool(items) => items.push(false),
            Data::I16(items) => items.push(0),
            Data::I32(items) => items.push(0),
            Data::I64(items) => items.push(0),
            Data::F32(items) => items.push(0.0),
            Data::F64(items) => items.push(0.0),
            Data::Bytes(strings) => strings.push(&[]),
            Data::Decimal(decimals) => decimals.push_default(),
            Data::Uuid(items) => items.push([0; 16]),
            Data::Interval(items) => items.push(Interval::default()),
            Data::Values(items) => items.push(Value::Null),
        }
    }

    fn push(&mut self, value: &Value) -> bool {
        match (self, value) {
            (Data::Bool(items), Value::Boolean(v)) => items.push(*v),
            (Data::I16(items), Value::SmallInt(v)) => items.push(*v),
            (Data::I32(items), Value::Integer(v) | Value::Date(v)) => items.push(*v),
            (
                Data::I64(items),
                Value::BigInt(v) | Value::Time(v) | Value::TimeTz(v) | Value::Timestamp(v) | Value::TimestampTz(v),
            ) => items.push(*v),
            (Data::I64(items), Value::Enum(v)) => items.push(v.key()),
            (Data::I64(items), Value::Reg(v)) => items.push(v.number()),
            (Data::F32(items), Value::Real(v)) => items.push(*v),
            (Data::F64(items), Value::Double(v)) => items.push(*v),
            (Data::Bytes(strings), Value::Text(v)) => strings.push(v.as_bytes()),
            (Data::Bytes(strings), Value::Bytea(v)) => strings.push(v),
            (Data::Decimal(decimals), Value::Numeric(v)) => decimals.push(v.into()),
            (Data::Uuid(items), Value::Uuid(v)) => items.push(*v),
            (Data::Interval(items), Value::Interval(v)) => items.push(*v),
            (Data::Values(items), v) => items.push(v.clone()),
            _ => return false,
        }
        true
    }
}

/// A column of values of one type.
///
/// ```
/// use cairndb::{Bitmap, Data, DataType, Value, Vector};
///
/// let mut validity = Bitmap::filled(3, true);
/// validity.clear(1);
/// let column = Vector::from_data(DataType::BigInt, Data::I64(vec![7, 0, 9]), Some(validity))?;
/// assert_eq!((column.len(), column.data_type(), column.is_null(1)), (3, DataType::BigInt, true));
/// assert_eq!((column.value(0), column.value(1)), (Value::BigInt(7), Value::Null));
/// assert_eq!(column.value_ref(2).and_then(|value| value.as_i64()), Some(9));
/// let chosen = column.gather(&[2, 0, cairndb::NO_ROW]);
/// assert_eq!((chosen.value(1), chosen.validity().map(Bitmap::count)), (Value::BigInt(7), Some(2)));
/// let (_, Data::I64(items), _) = chosen.into_parts() else { panic!("they are such") };
/// assert_eq!(items[..2], [9, 7]);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Vector {
    data_type: DataType,
    data: Data,
    /// Set bits are values, clear ones NULLs. `None`: no NULLs.
    validity: Option<Bitmap>,
}

impl Vector {
    /// An empty vector with room for `capacity` values.
    pub(crate) fn with_capacity(data_type: DataType, capacity: usize) -> Vector {
        Vector { data_type, data: Data::new(data_type.physical(), capacity), validity: None }
    }

    /// An empty vector.
    pub(crate) fn new(data_type: DataType) -> Vector {
        Vector::with_capacity(data_type, 0)
    }

    /// A vector from its parts; their lengths must agree.
    pub(crate) fn from_parts(data_type: DataType, data: Data, validity: Option<Bitmap>) -> Vector {
        let validity = validity.filter(|bits| !bits.all());
        debug_assert!(validity.as_ref().is_none_or(|bits| bits.len() == data.len()));
        Vector { data_type, data, validity }
    }

    /// `len` copies of one value.
    pub(crate) fn repeat(data_type: DataType, value: &Value, len: usize) -> Result<Vector> {
        let mut one = Vector::with_capacity(data_type, 1);
        one.push(value)?;
        Ok(one.gather(&vec![0; len]))
    }

    /// A vector of the given values.
    pub(crate) fn from_values(data_type: DataType, values: &[Value]) -> Result<Vector> {
        let mut vector = Vector::with_capacity(data_type, values.len());
        values.iter().try_for_each(|value| vector.push(value))?;
        Ok(vector)
    }

    /// The type of the values.
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// The values' storage.
    pub fn data(&self) -> &Data {
        &self.data
    }

    pub(crate) fn data_mut(&mut self) -> &mut Data {
        &mut self.data
    }

    pub(super) fn into_data(self) -> (Data, Option<Bitmap>) {
        (self.data, self.validity)
    }

    /// Which values are not NULL; `None` where all are not.
    pub fn validity(&self) -> Option<&Bitmap> {
        self.validity.as_ref()
    }

    /// The same values under another type of the same representation.
    pub(crate) fn with_type(mut self, data_type: DataType) -> Vector {
        debug_assert_eq!(self.data_type.physical(), data_type.physical());
        self.data_type = data_type;
        self
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether the value at `row` is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.validity.as_ref().is_some_and(|bits| !bits.get(row))
    }

    /// Appends a value of this vector's type.
    pub(crate) fn push(&mut self, value: &Value) -> Result<()> {
        if matches!(value, Value::Null) {
            self.push_null();
            return Ok(());
        }
        if !self.data.push(value) {
            return Err(Error::internal(format!("{value:?} is not of type {:?}", self.data_type)));
        }
        self.push_valid();
        Ok(())
    }

    /// Notes that the value just appended to the data is not NULL.
    #[inline]
    pub(crate) fn push_valid(&mut self) {
        if let Some(bits) = &mut self.validity {
            bits.push(true);
        }
    }

    /// As [`Vector::push_valid`] for the last `count` values.
    #[inline]
    pub(crate) fn push_valid_many(&mut self, count: usize) {
        if let Some(bits) = &mut self.validity {
            bits.extend_with(count, true);
        }
    }

    /// Of so many values at once it is said which are NULL.
    pub(crate) const FLAGS: usize = 64;

    /// Says of the last values, at most [`FLAGS`](Vector::FLAGS), which are not NULL; the slots of the others hold anything.
    pub(crate) fn push_validity(&mut self, bits: impl ExactSizeIterator<Item = bool>) {
        let count = bits.len();
        assert!(count <= Vector::FLAGS, "{count} values at once");
        let word = bits.enumerate().fold(0, |word, (at, bit)| word | u64::from(bit) << at);
        let is_all = word.count_ones() as usize == count;
        if is_all && self.validity.is_none() {
            return;
        }
        let before = self.len() - count;
        self.validity.get_or_insert_with(|| Bitmap::filled(before, true)).push_word(word, count);
    }

    /// Appends a NULL.
    pub(crate) fn push_null(&mut self) {
        let len = self.len();
        self.validity.get_or_insert_with(|| Bitmap::filled(len, true)).push(false);
        self.data.push_default();
    }

    /// The value at `row`; NULL past the end.
    pub fn value(&self, row: usize) -> Value {
        if self.is_null(row) || row >= self.len() {
            return Value::Null;
        }
        match &self.data {
            Data::Bool(items) => Value::Boolean(items[row]),
            Data::I16(items) => Value::SmallInt(items[row]),
            Data::I32(items) if self.data_type == DataType::Date => Value::Date(items[row]),
            Data::I32(items) => Value::Integer(items[row]),
            Data::I64(items) => match self.data_type {
                DataType::Time(_) => Value::Time(items[row]),
                DataType::TimeTz(_) => Value::TimeTz(items[row]),
                DataType::Timestamp(_) => Value::Timestamp(items[row]),
                DataType::TimestampTz(_) => Value::TimestampTz(items[row]),
                DataType::Enum(of) => Value::Enum(of.value(items[row])),
                DataType::Reg(of) => Value::Reg(RegValue::of_number(of, items[row])),
                _ => Value::BigInt(items[row]),
            },
            Data::F32(items) => Value::Real(items[row]),
            Data::F64(items) => Value::Double(items[row]),
            Data::Bytes(strings) if self.data_type == DataType::Bytea => Value::Bytea(strings.get(row).into()),
            Data::Bytes(strings) => Value::Text(String::from_utf8_lossy(strings.get(row)).into()),
            Data::Decimal(decimals) => Value::Numeric(decimals.get(row).to_numeric()),
            Data::Uuid(items) => Value::Uuid(items[row]),
            Data::Interval(items) => Value::Interval(items[row]),
            Data::Values(items) => items[row].clone(),
        }
    }

    /// The value at `row`, lent; NULL past the end. `None`: text that is not UTF-8.
    pub fn value_ref(&self, row: usize) -> Option<ValueRef<'_>> {
        let mut is_text = true;
        let value = self.value_ref_or(row, || {
            is_text = false;
            ValueRef::Null
        });
        is_text.then_some(value)
    }

    /// The value at `row`, lent; NULL past the end. `bad_text`: what stands for text that is not UTF-8.
    ///
    /// Each value is written where the caller wants it: on its way through an `Option` it would be copied as a whole
    /// right after its parts were written, for which a processor waits longer than for all else here. What most columns
    /// are is little enough to stand where a caller goes through rows.
    #[inline]
    pub(crate) fn value_ref_or<'a>(&'a self, row: usize, bad_text: impl FnOnce() -> ValueRef<'a>) -> ValueRef<'a> {
        if self.validity.is_none() {
            match &self.data {
                Data::I64(items) if self.data_type == DataType::BigInt => {
                    return items.get(row).map_or(ValueRef::Null, |&item| ValueRef::BigInt(item));
                }
                Data::Bytes(strings) => {
                    if let Some(text) = strings.checked_text(row) {
                        return ValueRef::Text(text);
                    }
                }
                _ => {}
            }
        }
        self.any_value_ref_or(row, bad_text)
    }

    #[inline(never)]
    fn any_value_ref_or<'a>(&'a self, row: usize, bad_text: impl FnOnce() -> ValueRef<'a>) -> ValueRef<'a> {
        if self.is_null(row) {
            return ValueRef::Null;
        }
        match &self.data {
            Data::I64(items) => match (items.get(row), self.data_type) {
                (Some(&item), DataType::BigInt | DataType::Oid) => ValueRef::BigInt(item),
                (Some(&item), DataType::Time(_)) => ValueRef::Time(item),
                (Some(&item), DataType::TimeTz(_)) => ValueRef::TimeTz(item),
                (Some(&item), DataType::Timestamp(_)) => ValueRef::Timestamp(item),
                (Some(&item), DataType::Enum(of)) => ValueRef::Enum(of.value(item)),
                (Some(&item), DataType::Reg(of)) => ValueRef::Reg(RegValue::of_number(of, item)),
                (Some(&item), _) => ValueRef::TimestampTz(item),
                (None, _) => ValueRef::Null,
            },
            Data::I32(items) => match items.get(row) {
                Some(&item) if self.data_type == DataType::Integer => ValueRef::Integer(item),
                Some(&item) => ValueRef::Date(item),
                None => ValueRef::Null,
            },
            Data::Bytes(strings) if row >= strings.len() => ValueRef::Null,
            Data::Bytes(strings) if self.data_type == DataType::Bytea => ValueRef::Bytea(strings.get(row)),
            Data::Bytes(strings) => match strings.text(row) {
                Some(text) => ValueRef::Text(text),
                None => bad_text(),
            },
            Data::Values(items) => items.get(row).map_or(ValueRef::Null, ValueRef::from),
            Data::I16(items) => items.get(row).map_or(ValueRef::Null, |&item| ValueRef::SmallInt(item)),
            Data::Bool(items) => items.get(row).map_or(ValueRef::Null, |&item| ValueRef::Boolean(item)),
            Data::F32(items) => items.get(row).map_or(ValueRef::Null, |&item| ValueRef::Real(item)),
            Data::F64(items) => items.get(row).map_or(ValueRef::Null, |&item| ValueRef::Double(item)),
            Data::Decimal(decimals) if row < decimals.len() => ValueRef::Numeric(decimals.get(row)),
            Data::Decimal(_) => ValueRef::Null,
            Data::Uuid(items) => items.get(row).map_or(ValueRef::Null, |&item| ValueRef::Uuid(item)),
            Data::Interval(items) => items.get(row).map_or(ValueRef::Null, |&item| ValueRef::Interval(item)),
        }
    }

    /// Looks at text as UTF-8 all at once, so that it need not be done value by value.
    pub(crate) fn check_text(&mut self) {
        if let (Data::Bytes(strings), true) = (&mut self.data, self.data_type != DataType::Bytea) {
            strings.check_text();
        }
    }

    /// Text is text from here on: what is none of it becomes what [`Vector::value`] shows.
    pub(super) fn mend_text(&mut self) {
        if let (Data::Bytes(strings), true) = (&mut self.data, self.data_type != DataType::Bytea) {
            strings.check_text();
            if !strings.are_text() {
                strings.mend_text();
            }
        }
    }

    /// Whether it may have text that is none.
    pub(super) fn has_unchecked_text(&self) -> bool {
        matches!(&self.data, Data::Bytes(strings) if self.data_type != DataType::Bytea && !strings.are_text())
    }

    /// The values at the given rows, in that order; [`NO_ROW`] gives NULL.
    ///
    /// # Panics
    ///
    /// Where there is no such row.
    pub fn gather(&self, rows: &[u32]) -> Vector {
        let mut result = Vector::with_capacity(self.data_type, rows.len());
        result.append_rows(self, rows);
        result
    }

    /// Appends the values of `from` at the given rows; [`NO_ROW`] gives NULL. The representations must agree.
    pub(crate) fn append_rows(&mut self, from: &Vector, rows: &[u32]) {
        if rows.contains(&NO_ROW) {
            return self.append_rows_or_null(from, rows);
        }
        self.append_validity(from, rows);
        match (&mut self.data, &from.data) {
            (Data::Bool(to), Data::Bool(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (Data::I16(to), Data::I16(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (Data::I32(to), Data::I32(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (Data::I64(to), Data::I64(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (Data::F32(to), Data::F32(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (Data::F64(to), Data::F64(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (Data::Decimal(to), Data::Decimal(from)) => to.append_rows(from, rows),
            (Data::Uuid(to), Data::Uuid(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (Data::Interval(to), Data::Interval(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (Data::Bytes(to), Data::Bytes(from)) => {
                let strings = rows.iter().map(|&row| from.get(row as usize));
                let bytes = strings.clone().map(<[u8]>::len).sum();
                to.extend(strings, bytes);
            }
            (Data::Values(to), Data::Values(from)) => to.extend(rows.iter().map(|&row| from[row as usize].clone())),
            _ => unreachable_representations(),
        }
    }

    fn append_rows_or_null(&mut self, from: &Vector, rows: &[u32]) {
        let mut start = 0;
        while start < rows.len() {
            let rest = &rows[start..];
            let run = rest.iter().position(|&row| row == NO_ROW).unwrap_or(rest.len());
            self.append_rows(from, &rest[..run]);
            start += run;
            if start < rows.len() {
                self.push_null();
                start += 1;
            }
        }
    }

    fn append_validity(&mut self, from: &Vector, rows: &[u32]) {
        if self.validity.is_none() && from.validity.is_none() {
            return;
        }
        let len = self.len();
        let bits = self.validity.get_or_insert_with(|| Bitmap::filled(len, true));
        match &from.validity {
            None => bits.extend_with(rows.len(), true),
            Some(from) => rows.iter().for_each(|&row| bits.push(from.get(row as usize))),
        }
    }

    /// Appends all values of `from`. The representations must agree.
    pub(crate) fn append(&mut self, from: &Vector) {
        if self.validity.is_some() || from.validity.is_some() {
            let len = self.len();
            let bits = self.validity.get_or_insert_with(|| Bitmap::filled(len, true));
            match &from.validity {
                None => bits.extend_with(from.data.len(), true),
                Some(from) => (0..from.len()).for_each(|row| bits.push(from.get(row))),
            }
        }
        match (&mut self.data, &from.data) {
            (Data::Bool(to), Data::Bool(from)) => to.extend_from_slice(from),
            (Data::I16(to), Data::I16(from)) => to.extend_from_slice(from),
            (Data::I32(to), Data::I32(from)) => to.extend_from_slice(from),
            (Data::I64(to), Data::I64(from)) => to.extend_from_slice(from),
            (Data::F32(to), Data::F32(from)) => to.extend_from_slice(from),
            (Data::F64(to), Data::F64(from)) => to.extend_from_slice(from),
            (Data::Decimal(to), Data::Decimal(from)) => to.append(from),
            (Data::Uuid(to), Data::Uuid(from)) => to.extend_from_slice(from),
            (Data::Interval(to), Data::Interval(from)) => to.extend_from_slice(from),
            (Data::Bytes(to), Data::Bytes(from)) => to.append(from),
            (Data::Values(to), Data::Values(from)) => to.extend_from_slice(from),
            _ => unreachable_representations(),
        }
    }

    /// About how many bytes the values take.
    pub(crate) fn memory_bytes(&self) -> usize {
        let data = match &self.data {
            Data::Bool(items) => items.len(),
            Data::I16(items) => items.len() * 2,
            Data::I32(items) => items.len() * 4,
            Data::I64(items) => items.len() * 8,
            Data::F32(items) => items.len() * 4,
            Data::F64(items) => items.len() * 8,
            Data::Decimal(decimals) => decimals.memory_bytes(),
            Data::Uuid(items) => items.len() * 16,
            Data::Interval(items) => items.len() * size_of::<Interval>(),
            Data::Bytes(strings) => strings.memory_bytes(),
            Data::Values(items) if self.data_type.is_array() => {
                let arrays = items.iter().filter_map(Value::as_array);
                items.len() * size_of::<Value>() + arrays.map(Array::memory_bytes).sum::<usize>()
            }
            Data::Values(items) => items.len() * (size_of::<Value>() + 8),
        };
        data + self.validity.as_ref().map_or(0, Bitmap::memory_bytes)
    }
}

/// Plans never mix representations in one column; a bug of ours if they do.
fn unreachable_representations() {
    debug_assert!(false, "vectors of different representations");
}

/// An expression's result: a vector, or one value that stands for all rows.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    Vector(Arc<Vector>),
    Constant(Value),
}

impl Operand {
    pub(crate) fn value(&self, row: usize) -> Value {
        match self {
            Operand::Vector(vector) => vector.value(row),
            Operand::Constant(value) => value.clone(),
        }
    }

    /// The value at `row` of an operand whose values are held as [`Value`]s; NULL for others.
    #[inline]
    pub(crate) fn value_ref(&self, row: usize) -> &Value {
        match self {
            Operand::Constant(value) => value,
            Operand::Vector(vector) => match vector.data() {
                Data::Values(values) => values.get(row).unwrap_or(&Value::Null),
                _ => &Value::Null,
            },
        }
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        match self {
            Operand::Vector(vector) => vector.is_null(row),
            Operand::Constant(value) => matches!(value, Value::Null),
        }
    }

    /// The rows as a vector of `len` values.
    pub(crate) fn into_vector(self, data_type: DataType, len: usize) -> Result<Arc<Vector>> {
        match self {
            Operand::Vector(vector) => Ok(vector),
            Operand::Constant(value) => Ok(Arc::new(Vector::repeat(data_type, &value, len)?)),
        }
    }

    /// Whether the row is true: neither false nor NULL.
    pub(crate) fn is_true(&self, row: usize) -> bool {
        match self {
            Operand::Constant(value) => matches!(value, Value::Boolean(true)),
            Operand::Vector(vector) => match vector.data() {
                Data::Bool(items) => items[row] && !vector.is_null(row),
                _ => matches!(vector.value(row), Value::Boolean(true)),
            },
        }
    }
}

impl From<Vector> for Operand {
    fn from(vector: Vector) -> Operand {
        Operand::Vector(Arc::new(vector))
    }
}
