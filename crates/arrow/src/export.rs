//! Columns as arrays: what lies alike is handed over as it is, all else is made in one pass.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Int32Type};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, DictionaryArray,
    FixedSizeBinaryArray, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, ListArray, PrimitiveArray,
    StringArray, Time64MicrosecondArray, TimestampMicrosecondArray, UInt32Array,
};
use arrow_buffer::{BooleanBuffer, Buffer, IntervalMonthDayNano, NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_schema::{DataType as Arrow, Field, FieldRef};
use cairndb::{
    Bitmap, ByteStrings, Data, DataType, Decimals, Error, EvalContext, Interval, NumericRef, Result, SqlState, Value,
    Vector, to_text,
};

use crate::error::{beyond, malformed};

/// Days and microseconds between 1970, from which Arrow counts, and 2000.
pub(crate) const EPOCH_DAYS: i32 = 10_957;
pub(crate) const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * DAY_MICROS;
const DAY_MICROS: i64 = 86_400_000_000;

/// A column as an array of a field's type, which is that of the table of types, or decimals for `numeric`.
pub(crate) fn array_of(column: Vector, field: &Field) -> Result<ArrayRef> {
    let to = field.data_type();
    if *to == Arrow::Utf8 && !matches!(column.data(), Data::Bytes(_)) {
        return Ok(Arc::new(text_of(&column)));
    }
    let (data_type, data, validity) = column.into_parts();
    let nulls = validity.as_ref().map(nulls_of);
    let bits = validity.as_ref();
    Ok(match (data, to) {
        (Data::Bool(items), Arrow::Boolean) => Arc::new(BooleanArray::new(BooleanBuffer::from(items), nulls)),
        (Data::I16(items), Arrow::Int16) => Arc::new(Int16Array::new(items.into(), nulls)),
        (Data::I32(items), Arrow::Int32) => Arc::new(Int32Array::new(items.into(), nulls)),
        (Data::I64(items), Arrow::Int64) => Arc::new(Int64Array::new(items.into(), nulls)),
        (Data::F32(items), Arrow::Float32) => primitive::<arrow_array::types::Float32Type>(items, nulls),
        (Data::F64(items), Arrow::Float64) => primitive::<arrow_array::types::Float64Type>(items, nulls),
        (Data::I64(items), Arrow::UInt32) => {
            let items = each(items, bits, |item| u32::try_from(item).ok(), || beyond_number("an oid"))?;
            Arc::new(UInt32Array::new(items.into(), nulls))
        }
        (Data::I32(items), Arrow::Date32) => {
            let shift = |days| is_finite(days, i32::MIN, i32::MAX).then(|| days.checked_add(EPOCH_DAYS)).flatten();
            Arc::new(Date32Array::new(each(items, bits, shift, || beyond_time("a date"))?.into(), nulls))
        }
        (Data::I64(items), Arrow::Time64(_)) => {
            let within = |micros| (0..DAY_MICROS).contains(&micros).then_some(micros);
            let items = each(items, bits, within, || beyond_time("the time 24:00"))?;
            Arc::new(Time64MicrosecondArray::new(items.into(), nulls))
        }
        (Data::I64(items), Arrow::Timestamp(_, zone)) => {
            let shift = |at| is_finite(at, i64::MIN, i64::MAX).then(|| at.checked_add(EPOCH_MICROS)).flatten();
            let items = each(items, bits, shift, || beyond_time("a timestamp"))?;
            Arc::new(TimestampMicrosecondArray::new(items.into(), nulls).with_timezone_opt(zone.clone()))
        }
        (Data::I64(items), Arrow::Dictionary(..)) => labels_of(&items, data_type, nulls)?,
        (Data::Bytes(strings), Arrow::Utf8) => {
            let (offsets, bytes) = offsets_of(strings)?;
            Arc::new(StringArray::try_new(offsets, bytes, nulls).map_err(|error| malformed(&error))?)
        }
        (Data::Bytes(strings), Arrow::Binary) => {
            let (offsets, bytes) = offsets_of(strings)?;
            Arc::new(BinaryArray::new(offsets, bytes, nulls))
        }
        (Data::Decimal(decimals), Arrow::Decimal128(precision, scale)) => {
            let items = decimals_of(&decimals, bits, |value| scaled(value, *scale, *precision))?;
            Arc::new(Decimal128Array::new(items.into(), nulls).with_data_type(to.clone()))
        }
        (Data::Decimal(decimals), Arrow::Decimal256(precision, scale)) => {
            let items = decimals_of(&decimals, bits, |value| scaled_wide(value, *scale, *precision))?;
            Arc::new(Decimal256Array::new(items.into(), nulls).with_data_type(to.clone()))
        }
        (Data::Uuid(items), Arrow::FixedSizeBinary(_)) => {
            Arc::new(FixedSizeBinaryArray::new(16, Buffer::from_vec(items.into_flattened()), nulls))
        }
        (Data::Interval(items), Arrow::Interval(_)) => {
            let made = |Interval { months, days, micros }| {
                Some(IntervalMonthDayNano { months, days, nanoseconds: micros.checked_mul(1000)? })
            };
            let items = each(items, bits, made, || beyond_time("an interval"))?;
            Arc::new(IntervalMonthDayNanoArray::new(items.into(), nulls))
        }
        (Data::Values(arrays), Arrow::List(element)) => list_of(&arrays, element, nulls)?,
        (_, to) => {
            let message = format!("a column of type {data_type} is not told as Arrow's {to}");
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
    })
}

fn primitive<T: ArrowPrimitiveType>(items: Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(items.into(), nulls))
}

/// Arrow counts bits as we do.
fn nulls_of(bits: &Bitmap) -> NullBuffer {
    let bytes = bits.words().iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bytes), 0, bits.len()))
}

fn is_null(bits: Option<&Bitmap>, row: usize) -> bool {
    bits.is_some_and(|bits| !bits.get(row))
}

/// Each value made another, and what stands for NULL anything.
fn each<T, U: Default>(
    items: Vec<T>,
    bits: Option<&Bitmap>,
    make: impl Fn(T) -> Option<U>,
    error: impl Fn() -> Error,
) -> Result<Vec<U>> {
    let one = |(row, item)| match make(item) {
        Some(made) => Ok(made),
        None if is_null(bits, row) => Ok(U::default()),
        None => Err(error()),
    };
    items.into_iter().enumerate().map(one).collect()
}

fn is_finite<T: PartialEq>(item: T, least: T, most: T) -> bool {
    item != least && item != most
}

fn beyond_time(what: &str) -> Error {
    beyond(SqlState::DATETIME_FIELD_OVERFLOW, format!("{what} that is infinite, or beyond what Arrow has"))
}

fn beyond_number(what: &str) -> Error {
    beyond(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{what} that is beyond what Arrow has"))
}

fn offsets_of(strings: ByteStrings) -> Result<(OffsetBuffer<i32>, Buffer)> {
    let (ends, bytes) = strings.into_parts();
    if i32::try_from(bytes.len()).is_err() {
        let message = "the strings of a batch take more than 2 GB, which Arrow does not tell";
        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    let offsets: Vec<i32> = std::iter::once(0).chain(ends.into_iter().map(|end| end as i32)).collect();
    Ok((OffsetBuffer::new(ScalarBuffer::from(offsets)), Buffer::from_vec(bytes)))
}

/// All values as they are written.
fn text_of(column: &Vector) -> StringArray {
    let context = EvalContext::default();
    let text = |row| (!column.is_null(row)).then(|| to_text(&column.value(row), &context));
    (0..column.len()).map(text).collect()
}

/// The labels of an enum, in its order, and of each value which it is.
fn labels_of(items: &[i64], data_type: DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let DataType::Enum(of) = data_type else { return Err(Error::new(SqlState::DATATYPE_MISMATCH, "no enum")) };
    let labels: Vec<_> = of.values().collect();
    let numbers: Vec<i64> = labels.iter().map(|&label| label.into()).collect();
    let mut keys = Vec::with_capacity(items.len());
    for (row, item) in items.iter().enumerate() {
        match numbers.binary_search(item) {
            Ok(at) => keys.push(at as i32),
            Err(_) if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) => keys.push(0),
            Err(_) => return Err(beyond_number("a label that the type had not when the statement began, or one")),
        }
    }
    let values: StringArray = labels.iter().map(|label| Some(label.label())).collect();
    let keys = PrimitiveArray::<Int32Type>::new(keys.into(), nulls);
    Ok(Arc::new(DictionaryArray::try_new(keys, Arc::new(values)).map_err(|error| malformed(&error))?))
}

fn decimals_of<T: Default>(
    decimals: &Decimals,
    bits: Option<&Bitmap>,
    make: impl Fn(NumericRef<'_>) -> Option<T>,
) -> Result<Vec<T>> {
    let one = |row| match make(decimals.get(row)) {
        Some(made) => Ok(made),
        None if is_null(bits, row) => Ok(T::default()),
        None => Err(beyond(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("the decimal {} does not fit into the column's in Arrow", decimals.get(row).to_cow()),
        )
        .with_hint("Cast the column to numeric(precision, scale), to double precision, or to text.")),
    };
    (0..decimals.len()).map(one).collect()
}

/// The mantissa at a scale, without loss.
fn scaled(value: NumericRef<'_>, scale: i8, precision: u8) -> Option<i128> {
    let (mantissa, own) = value.parts()?;
    let more = i32::from(scale) - i32::from(own);
    let factor = 10_i128.checked_pow(more.unsigned_abs());
    let scaled = match more {
        0 => mantissa,
        1.. => mantissa.checked_mul(factor?).or_else(|| (mantissa == 0).then_some(0))?,
        _ if mantissa == 0 => 0,
        _ => (mantissa % factor? == 0).then(|| mantissa / factor.unwrap_or(1))?,
    };
    (scaled.unsigned_abs() < 10_u128.checked_pow(precision.into())?).then_some(scaled)
}

fn scaled_wide(value: NumericRef<'_>, scale: i8, precision: u8) -> Option<i256> {
    let whole = value.to_cow();
    let scale = u16::try_from(scale).ok()?;
    let same = whole.with_scale(scale);
    let (mantissa, _) = same.to_big().filter(|_| same == *whole)?;
    let bytes = mantissa.to_signed_bytes_le();
    let fill = if bytes.last().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
    let mut wide = [fill; 32];
    wide.get_mut(..bytes.len())?.copy_from_slice(&bytes);
    let wide = i256::from_le_bytes(wide);
    let limit = i256::from_i128(10).checked_pow(precision.into())?;
    let magnitude = if wide < i256::ZERO { wide.checked_neg()? } else { wide };
    (magnitude < limit).then_some(wide)
}

fn list_of(arrays: &[Value], element: &FieldRef, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let (mut offsets, mut values, mut of) = (vec![0_i32], Vec::new(), None);
    for (row, array) in arrays.iter().enumerate() {
        if let (Some(array), false) = (array.as_array(), nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))) {
            if array.dimensions().len() > 1 {
                let message = "an array of several dimensions is no list of Arrow";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .with_hint("Take it apart with unnest, or cast the column to text."));
            }
            of = Some(array.element());
            values.extend(array.values());
        }
        let end = i32::try_from(values.len());
        offsets.push(end.map_err(|_| beyond(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many elements".to_owned()))?);
    }
    let elements = match of {
        Some(of) => array_of(elements_of(of, element.data_type(), &values)?, element)?,
        None => arrow_array::new_empty_array(element.data_type()),
    };
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    ListArray::try_new(element.clone(), offsets, elements, nulls)
        .map(|list| Arc::new(list) as ArrayRef)
        .map_err(|error| malformed(&error))
}

/// The elements of arrays as a column: what is told as text is text.
fn elements_of(of: DataType, to: &Arrow, values: &[&Value]) -> Result<Vector> {
    let context = EvalContext::default();
    let as_text = |value: &&Value| if value.is_null() { Value::Null } else { Value::text(to_text(value, &context)) };
    match to {
        Arrow::Utf8 => Vector::of_values(DataType::Text, &values.iter().map(as_text).collect::<Vec<_>>()),
        _ => Vector::of_values(of.base(), &values.iter().map(|value| (*value).clone()).collect::<Vec<_>>()),
    }
}
