//! Arrays as columns. What arrays hold is looked at by [`Vector::from_data`]; what is NULL stays it.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType as Arrow, Field, IntervalUnit, TimeUnit};
use cairndb::{
    Array as SqlArray, Batch, Bitmap, ByteStrings, Data, DataType, Decimals, Error, Interval, NO_ROW, Numeric,
    NumericRef, Result, SqlState, Value, Vector,
};

use crate::export::{EPOCH_DAYS, EPOCH_MICROS};
use crate::table::{is_uuid, lacking, sql_type};

/// Rows of the columns that a batch of Arrow's has, of the types that [`sql_type`] says, without modifiers; what says that it is JSON
/// comes as text, for `json` and `jsonb` alike.
///
/// # Errors
///
/// 0A000 for types that no column has; 22008, 22003, 22021 for values that no type has.
pub fn batch_of(rows: &RecordBatch) -> Result<Batch> {
    let schema = rows.schema();
    let columns = rows.columns().iter().zip(schema.fields());
    Batch::of(columns.map(|(array, field)| column_of(array, field)).collect::<Result<_>>()?)
}

/// The dates and times of a unit of seconds.
fn micros_of(count: i64, unit: &TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => count.checked_mul(1_000_000),
        TimeUnit::Millisecond => count.checked_mul(1000),
        TimeUnit::Microsecond => Some(count),
        // To the nearest.
        TimeUnit::Nanosecond => Some(count.div_euclid(1000) + i64::from(count.rem_euclid(1000) >= 500)),
    }
}

fn column_of(array: &ArrayRef, field: &Field) -> Result<Vector> {
    let bits = bits_of(array.as_ref());
    let data_type = sql_type(field)?.base();
    let out_of_range = || Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "date/time value out of range");
    let data = match array.data_type() {
        Arrow::Null => return Ok(nothing(array.len())),
        Arrow::Boolean => Data::Bool(array.as_boolean().values().iter().collect()),
        Arrow::Int8 => Data::I16(values::<Int8Type>(array).iter().map(|&item| item.into()).collect()),
        Arrow::UInt8 => Data::I16(values::<UInt8Type>(array).iter().map(|&item| item.into()).collect()),
        Arrow::Int16 => Data::I16(values::<Int16Type>(array).to_vec()),
        Arrow::UInt16 => Data::I32(values::<UInt16Type>(array).iter().map(|&item| item.into()).collect()),
        Arrow::Int32 => Data::I32(values::<Int32Type>(array).to_vec()),
        Arrow::UInt32 => Data::I64(values::<UInt32Type>(array).iter().map(|&item| item.into()).collect()),
        Arrow::Int64 => Data::I64(values::<Int64Type>(array).to_vec()),
        Arrow::UInt64 => mantissas(values::<UInt64Type>(array).iter().map(|&item| item.into()), 0)?,
        Arrow::Float16 => Data::F32(values::<Float16Type>(array).iter().map(|item| item.to_f32()).collect()),
        Arrow::Float32 => Data::F32(values::<Float32Type>(array).to_vec()),
        Arrow::Float64 => Data::F64(values::<Float64Type>(array).to_vec()),
        Arrow::Decimal32(_, scale) => {
            mantissas(values::<Decimal32Type>(array).iter().map(|&item| item.into()), *scale)?
        }
        Arrow::Decimal64(_, scale) => {
            mantissas(values::<Decimal64Type>(array).iter().map(|&item| item.into()), *scale)?
        }
        Arrow::Decimal128(_, scale) => mantissas(values::<Decimal128Type>(array).iter().copied(), *scale)?,
        Arrow::Decimal256(..) => wide(array)?,
        Arrow::Utf8 => {
            return strings(array.as_string::<i32>().iter().map(|text| text.map(str::as_bytes)), DataType::Text);
        }
        Arrow::LargeUtf8 => {
            return strings(array.as_string::<i64>().iter().map(|text| text.map(str::as_bytes)), DataType::Text);
        }
        Arrow::Utf8View => {
            return strings(array.as_string_view().iter().map(|text| text.map(str::as_bytes)), DataType::Text);
        }
        Arrow::Binary => return strings(array.as_binary::<i32>().iter(), data_type),
        Arrow::LargeBinary => return strings(array.as_binary::<i64>().iter(), data_type),
        Arrow::BinaryView => return strings(array.as_binary_view().iter(), data_type),
        Arrow::FixedSizeBinary(16) if is_uuid(field) => {
            let uuid = |item: Option<&[u8]>| item.and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
            Data::Uuid(array.as_fixed_size_binary().iter().map(uuid).collect())
        }
        Arrow::FixedSizeBinary(_) => return strings(array.as_fixed_size_binary().iter(), data_type),
        Arrow::Date32 => {
            let day = |days: i32| days.checked_sub(EPOCH_DAYS).filter(|days| is_finite_date(*days));
            Data::I32(each::<Date32Type, _>(array, day, out_of_range)?)
        }
        Arrow::Date64 => {
            let day = |millis: i64| i32::try_from(millis.div_euclid(86_400_000)).ok()?.checked_sub(EPOCH_DAYS);
            Data::I32(each::<Date64Type, _>(
                array,
                |millis| day(millis).filter(|days| is_finite_date(*days)),
                out_of_range,
            )?)
        }
        Arrow::Time32(unit) => {
            let time = |count: i32| micros_of(count.into(), unit);
            Data::I64(match unit {
                TimeUnit::Second => each::<Time32SecondType, _>(array, time, out_of_range)?,
                _ => each::<Time32MillisecondType, _>(array, time, out_of_range)?,
            })
        }
        Arrow::Time64(unit) => {
            let time = |count: i64| micros_of(count, unit);
            Data::I64(match unit {
                TimeUnit::Microsecond => each::<Time64MicrosecondType, _>(array, time, out_of_range)?,
                _ => each::<Time64NanosecondType, _>(array, time, out_of_range)?,
            })
        }
        Arrow::Timestamp(unit, _) => {
            let at = |count: i64| micros_of(count, unit)?.checked_sub(EPOCH_MICROS).filter(|at| is_finite(*at));
            Data::I64(match unit {
                TimeUnit::Second => each::<TimestampSecondType, _>(array, at, out_of_range)?,
                TimeUnit::Millisecond => each::<TimestampMillisecondType, _>(array, at, out_of_range)?,
                TimeUnit::Microsecond => each::<TimestampMicrosecondType, _>(array, at, out_of_range)?,
                TimeUnit::Nanosecond => each::<TimestampNanosecondType, _>(array, at, out_of_range)?,
            })
        }
        Arrow::Duration(unit) => {
            let span = |count: i64| Some(Interval { months: 0, days: 0, micros: micros_of(count, unit)? });
            Data::Interval(match unit {
                TimeUnit::Second => each::<DurationSecondType, _>(array, span, out_of_range)?,
                TimeUnit::Millisecond => each::<DurationMillisecondType, _>(array, span, out_of_range)?,
                TimeUnit::Microsecond => each::<DurationMicrosecondType, _>(array, span, out_of_range)?,
                TimeUnit::Nanosecond => each::<DurationNanosecondType, _>(array, span, out_of_range)?,
            })
        }
        Arrow::Interval(unit) => Data::Interval(intervals(array, unit)?),
        Arrow::Dictionary(..) => return looked_up(array),
        Arrow::List(element) => return lists(array.as_list::<i32>().iter(), element),
        Arrow::LargeList(element) => return lists(array.as_list::<i64>().iter(), element),
        Arrow::FixedSizeList(element, _) => return lists(array.as_fixed_size_list().iter(), element),
        other => return Err(lacking(&format!("the type {other} of Arrow"))),
    };
    Vector::from_data(data_type, data, bits)
}

fn values<T: ArrowPrimitiveType>(array: &ArrayRef) -> &[T::Native] {
    array.as_primitive::<T>().values()
}

/// Which are not NULL.
fn bits_of(array: &dyn Array) -> Option<Bitmap> {
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0)?;
    let chunks = nulls.inner().bit_chunks();
    Some(Bitmap::from_words(chunks.iter_padded().collect(), nulls.len()))
}

fn nothing(count: usize) -> Vector {
    let values = vec![Value::Null; count];
    Vector::of_values(DataType::Text, &values).unwrap_or_else(|_| unreachable!("NULL is of any type"))
}

/// Each value made another, and what stands for NULL anything.
fn each<T: ArrowPrimitiveType, U: Default>(
    array: &ArrayRef,
    make: impl Fn(T::Native) -> Option<U>,
    error: impl Fn() -> Error,
) -> Result<Vec<U>> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    let one = |(row, &item): (usize, &T::Native)| match make(item) {
        Some(made) => Ok(made),
        None if array.is_null(row) => Ok(U::default()),
        None => Err(error()),
    };
    array.values().iter().enumerate().map(one).collect()
}

/// (What ours are infinite by, theirs are not.)
fn is_finite(at: i64) -> bool {
    at != i64::MIN && at != i64::MAX
}

fn is_finite_date(days: i32) -> bool {
    days != i32::MIN && days != i32::MAX
}

/// Decimals by their mantissas.
fn mantissas(items: impl Iterator<Item = i128>, scale: i8) -> Result<Data> {
    let items: Option<Vec<i128>> = match u32::from(scale.unsigned_abs()) {
        zeros if scale < 0 => items.map(|item| item.checked_mul(10_i128.checked_pow(zeros)?)).collect(),
        _ => Some(items.collect()),
    };
    let out_of_range = || Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "a decimal out of range");
    Decimals::from_mantissas(items.ok_or_else(out_of_range)?, scale.max(0).unsigned_abs().into()).map(Data::Decimal)
}

fn wide(array: &ArrayRef) -> Result<Data> {
    let array = array.as_primitive::<Decimal256Type>();
    let mut decimals = Decimals::from_mantissas(Vec::new(), array.scale().max(0).unsigned_abs().into())?;
    for row in 0..array.len() {
        let value = match array.is_null(row) {
            true => Numeric::ZERO,
            false => Numeric::parse(&array.value_as_string(row))?,
        };
        decimals.push(NumericRef::from(&value));
    }
    Ok(Data::Decimal(decimals))
}

fn strings<'s>(items: impl ExactSizeIterator<Item = Option<&'s [u8]>>, data_type: DataType) -> Result<Vector> {
    let (mut ends, mut bytes, mut bits) = (Vec::with_capacity(items.len()), Vec::new(), Bitmap::filled(0, true));
    for item in items {
        bytes.extend_from_slice(item.unwrap_or_default());
        ends.push(bytes.len());
        bits.push(item.is_some());
    }
    Vector::from_data(data_type, Data::Bytes(ByteStrings::from_parts(ends, bytes)?), Some(bits))
}

fn intervals(array: &ArrayRef, unit: &IntervalUnit) -> Result<Vec<Interval>> {
    let out_of_range = || Error::new(SqlState::INTERVAL_FIELD_OVERFLOW, "interval out of range");
    match unit {
        IntervalUnit::YearMonth => {
            let made = |months| Some(Interval { months, days: 0, micros: 0 });
            each::<IntervalYearMonthType, _>(array, made, out_of_range)
        }
        IntervalUnit::DayTime => {
            let made = |item: arrow_buffer::IntervalDayTime| {
                Some(Interval { months: 0, days: item.days, micros: i64::from(item.milliseconds) * 1000 })
            };
            each::<IntervalDayTimeType, _>(array, made, out_of_range)
        }
        IntervalUnit::MonthDayNano => {
            let made = |item: arrow_buffer::IntervalMonthDayNano| {
                let micros = micros_of(item.nanoseconds, &TimeUnit::Nanosecond)?;
                Some(Interval { months: item.months, days: item.days, micros })
            };
            each::<IntervalMonthDayNanoType, _>(array, made, out_of_range)
        }
    }
}

/// What a dictionary's keys are of.
fn looked_up(array: &ArrayRef) -> Result<Vector> {
    let dictionary = array.as_any_dictionary();
    let values = column_of(dictionary.values(), &Field::new("values", dictionary.values().data_type().clone(), true))?;
    let keys = dictionary.keys();
    if values.is_empty() {
        return Ok(values.gather(&vec![NO_ROW; keys.len()]));
    }
    let places = dictionary.normalized_keys();
    let rows: Vec<u32> = places
        .into_iter()
        .enumerate()
        .map(|(row, place)| if keys.is_null(row) { NO_ROW } else { place as u32 })
        .collect();
    Ok(values.gather(&rows))
}

fn lists(items: impl Iterator<Item = Option<ArrayRef>>, element: &Field) -> Result<Vector> {
    let of = sql_type(element)?.base();
    let list = of.array().ok_or_else(|| lacking("a list of such values"))?;
    let mut lists = Vec::new();
    for item in items {
        lists.push(match item {
            None => Value::Null,
            Some(item) => {
                let elements = column_of(&item, element)?;
                let mut values: Vec<Value> = (0..elements.len()).map(|row| elements.value(row)).collect();
                if of == DataType::Jsonb {
                    values.iter_mut().try_for_each(|value| {
                        if let Some(text) = value.as_str() {
                            *value = Value::Jsonb(text.parse()?);
                        }
                        Ok::<(), Error>(())
                    })?;
                }
                SqlArray::new(of, values).into()
            }
        });
    }
    Vector::of_values(list, &lists)
}
