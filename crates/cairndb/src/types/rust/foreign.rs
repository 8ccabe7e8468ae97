//! Types of the standard library and of other crates that are parameters and are read: moments, UUIDs, JSON, decimals, bytes.
//!
//! SQL's dates and times are counted from 2000-01-01; what those of a crate can not express (infinity, years of far away) is
//! SQLSTATE 22008.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::convert::{FromValue, mismatch};
use super::params::made;
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
use crate::types::datetime::MICROS_PER_DAY;
use crate::types::datetime::{UNIX_EPOCH_MICROS, is_infinite};
use crate::{Error, Result, SqlState, Value};

/// SQLSTATE 22008.
fn not_expressible<T>(value: &Value) -> Error {
    let message = format!("cannot read {value:?} as {}", std::any::type_name::<T>());
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
}

/// A TIMESTAMPTZ in microseconds since 1970.
fn unix_micros<T>(value: &Value) -> Result<i64> {
    match value {
        Value::TimestampTz(micros) if is_infinite(*micros) => Err(not_expressible::<T>(value)),
        Value::TimestampTz(micros) => micros.checked_add(UNIX_EPOCH_MICROS).ok_or_else(|| not_expressible::<T>(value)),
        other => Err(mismatch::<T>(other)),
    }
}

/// TIMESTAMPTZ of microseconds since 1970. What is too far away becomes infinity's neighbour, which no timestamp may be, and is
/// refused as such.
fn of_unix_micros(micros: i128) -> Value {
    let limits = (i128::from(i64::MIN) + 1, i128::from(i64::MAX) - 1);
    Value::TimestampTz((micros - i128::from(UNIX_EPOCH_MICROS)).clamp(limits.0, limits.1) as i64)
}

made! {
    SystemTime: |time| of_unix_micros(match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_micros() as i128,
        // Towards the past, as everything that is cut off.
        Err(before) => -(before.duration().as_nanos().div_ceil(1000) as i128),
    }),
}

impl FromValue for SystemTime {
    fn from_value(value: &Value) -> Result<Self> {
        let micros = unix_micros::<Self>(value)?;
        let distance = Duration::from_micros(micros.unsigned_abs());
        let time = if micros < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
        time.ok_or_else(|| not_expressible::<Self>(value))
    }
}

/// Implements [`FromValue`] for types of one kind of value; `None`: it can not be expressed.
#[cfg(any(
    feature = "chrono",
    feature = "jiff",
    feature = "time",
    feature = "uuid",
    feature = "rust_decimal",
    feature = "bytes"
))]
macro_rules! read {
    ($($rust:ty: $pattern:pat => $read:expr,)*) => {$(
        impl FromValue for $rust {
            fn from_value(value: &Value) -> Result<Self> {
                match value {
                    $pattern => { $read }.ok_or_else(|| not_expressible::<Self>(value)),
                    other => Err(mismatch::<Self>(other)),
                }
            }
        }
    )*};
}

#[cfg(feature = "chrono")]
mod of_chrono {
    use chrono::{DateTime, FixedOffset, Local, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike, Utc};

    use super::*;

    const DAY: NaiveDate = NaiveDate::from_ymd_opt(2000, 1, 1).expect("a date");

    fn date(days: i32) -> Option<NaiveDate> {
        DAY.checked_add_signed(TimeDelta::try_days(days.into())?)
    }

    /// `chrono` counts leap seconds as a second's second billion.
    fn micros_of(time: &NaiveTime) -> i64 {
        i64::from(time.num_seconds_from_midnight()) * 1_000_000 + i64::from(time.nanosecond() / 1000)
    }

    fn time(micros: i64) -> Option<NaiveTime> {
        let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
        NaiveTime::from_num_seconds_from_midnight_opt(u32::try_from(seconds).ok()?, (micros * 1000) as u32)
    }

    fn utc(value: &Value) -> Result<DateTime<Utc>> {
        let micros = unix_micros::<DateTime<Utc>>(value)?;
        DateTime::from_timestamp_micros(micros).ok_or_else(|| not_expressible::<DateTime<Utc>>(value))
    }

    made! {
        NaiveDate: |date| Value::Date((*date - DAY).num_days() as i32),
        NaiveTime: |time| Value::Time(micros_of(time)),
        NaiveDateTime: |at| Value::Timestamp(
            (at.date() - DAY).num_days() * MICROS_PER_DAY + micros_of(&at.time())
        ),
        DateTime<Utc>: |at| of_unix_micros(at.timestamp_micros().into()),
        DateTime<Local>: |at| of_unix_micros(at.timestamp_micros().into()),
        DateTime<FixedOffset>: |at| of_unix_micros(at.timestamp_micros().into()),
    }
    read! {
        NaiveDate: Value::Date(days) => date(*days),
        NaiveTime: Value::Time(micros) => time(*micros),
        NaiveDateTime: Value::Timestamp(micros) => {
            let days = i32::try_from(micros.div_euclid(MICROS_PER_DAY)).ok().and_then(date);
            days.filter(|_| !is_infinite(*micros)).zip(time(micros.rem_euclid(MICROS_PER_DAY))).map(|(day, time)| day.and_time(time))
        },
    }
    impl FromValue for DateTime<Utc> {
        fn from_value(value: &Value) -> Result<Self> {
            utc(value)
        }
    }
    impl FromValue for DateTime<Local> {
        fn from_value(value: &Value) -> Result<Self> {
            utc(value).map(Into::into)
        }
    }
    impl FromValue for DateTime<FixedOffset> {
        fn from_value(value: &Value) -> Result<Self> {
            utc(value).map(Into::into)
        }
    }
}

#[cfg(feature = "jiff")]
mod of_jiff {
    use jiff::civil::{Date, DateTime, Time, date};
    use jiff::tz::TimeZone;
    use jiff::{SignedDuration, Timestamp, Zoned};

    use super::*;

    const DAY: Date = date(2000, 1, 1);

    fn micros_of(time: Time) -> i64 {
        time.duration_since(Time::midnight()).as_micros() as i64
    }

    fn days_of(day: Date) -> i64 {
        day.duration_since(DAY).as_hours() / 24
    }

    fn day(days: i64) -> Option<Date> {
        DAY.checked_add(SignedDuration::from_hours(days.checked_mul(24)?)).ok()
    }

    fn time(micros: i64) -> Option<Time> {
        // 24:00 is none of theirs.
        (micros < MICROS_PER_DAY).then(|| Time::midnight().checked_add(SignedDuration::from_micros(micros)).ok())?
    }

    fn timestamp(value: &Value) -> Result<Timestamp> {
        let micros = unix_micros::<Timestamp>(value)?;
        // In microseconds it does not take the last ones of its range.
        Timestamp::from_nanosecond(i128::from(micros) * 1000).map_err(|_| not_expressible::<Timestamp>(value))
    }

    made! {
        Date: |day| Value::Date(days_of(*day) as i32),
        Time: |time| Value::Time(micros_of(*time)),
        DateTime: |at| Value::Timestamp(days_of(at.date()) * MICROS_PER_DAY + micros_of(at.time())),
        Timestamp: |at| of_unix_micros(at.as_nanosecond().div_euclid(1000)),
        Zoned: |at| of_unix_micros(at.timestamp().as_nanosecond().div_euclid(1000)),
    }
    read! {
        Date: Value::Date(days) => day((*days).into()),
        Time: Value::Time(micros) => time(*micros),
        DateTime: Value::Timestamp(micros) => {
            let days = day(micros.div_euclid(MICROS_PER_DAY)).filter(|_| !is_infinite(*micros));
            days.zip(time(micros.rem_euclid(MICROS_PER_DAY))).map(|(day, time)| day.to_datetime(time))
        },
    }
    impl FromValue for Timestamp {
        fn from_value(value: &Value) -> Result<Self> {
            timestamp(value)
        }
    }
    /// In UTC.
    impl FromValue for Zoned {
        fn from_value(value: &Value) -> Result<Self> {
            timestamp(value).map(|at| at.to_zoned(TimeZone::UTC))
        }
    }
}

#[cfg(feature = "time")]
mod of_time {
    use time::{Date, OffsetDateTime, PrimitiveDateTime, Time};

    use super::*;

    /// The Julian day of 2000-01-01.
    const DAY: i32 = 2_451_545;

    fn day(days: i64) -> Option<Date> {
        Date::from_julian_day(i32::try_from(days).ok()?.checked_add(DAY)?).ok()
    }

    fn micros_of(time: Time) -> i64 {
        let (hour, minute, second, micros) = time.as_hms_micro();
        (i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second)) * 1_000_000 + i64::from(micros)
    }

    fn time(micros: i64) -> Option<Time> {
        let seconds = micros / 1_000_000;
        let part = |of: i64| u8::try_from(of).ok();
        Time::from_hms_micro(
            part(seconds / 3600)?,
            part(seconds / 60 % 60)?,
            part(seconds % 60)?,
            (micros % 1_000_000) as u32,
        )
        .ok()
    }

    made! {
        Date: |date| Value::Date(date.to_julian_day() - DAY),
        Time: |time| Value::Time(micros_of(*time)),
        PrimitiveDateTime: |at| Value::Timestamp(
            i64::from(at.date().to_julian_day() - DAY) * MICROS_PER_DAY + micros_of(at.time())
        ),
        OffsetDateTime: |at| of_unix_micros(at.unix_timestamp_nanos().div_euclid(1000)),
    }
    read! {
        Date: Value::Date(days) => day((*days).into()),
        Time: Value::Time(micros) => time(*micros),
        PrimitiveDateTime: Value::Timestamp(micros) => {
            let days = day(micros.div_euclid(MICROS_PER_DAY)).filter(|_| !is_infinite(*micros));
            days.zip(time(micros.rem_euclid(MICROS_PER_DAY))).map(|(day, time)| PrimitiveDateTime::new(day, time))
        },
    }
    /// In UTC.
    impl FromValue for OffsetDateTime {
        fn from_value(value: &Value) -> Result<Self> {
            let micros = unix_micros::<Self>(value)?;
            Self::from_unix_timestamp_nanos(i128::from(micros) * 1000).map_err(|_| not_expressible::<Self>(value))
        }
    }
}

#[cfg(feature = "uuid")]
mod of_uuid {
    use uuid::Uuid;

    use super::*;
    use crate::types::ValueRef;

    impl crate::ToValue for Uuid {
        fn to_value(&self) -> ValueRef<'_> {
            ValueRef::Uuid(*self.as_bytes())
        }
    }
    read! {
        Uuid: Value::Uuid(bytes) => Some(Uuid::from_bytes(*bytes)),
    }
}

#[cfg(feature = "serde_json")]
mod of_serde_json {
    use super::*;

    made! {
        serde_json::Value: |document| Value::Json(document.to_string().into()),
    }

    impl FromValue for serde_json::Value {
        fn from_value(value: &Value) -> Result<Self> {
            let text = match value {
                Value::Json(text) => text.to_string(),
                Value::Jsonb(document) => document.to_string(),
                other => return Err(mismatch::<Self>(other)),
            };
            serde_json::from_str(&text).map_err(|error| {
                Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("cannot read the document: {error}"))
                    .with_hint("Read it as cairndb::Jsonb or as String.")
            })
        }
    }
}

#[cfg(feature = "rust_decimal")]
mod of_rust_decimal {
    use rust_decimal::Decimal;

    use super::*;
    use crate::Numeric;
    use crate::types::rust::convert::out_of_range;

    made! {
        Decimal: |decimal| Value::Numeric(Numeric::from_i128(decimal.mantissa(), decimal.scale() as u16)),
    }

    impl FromValue for Decimal {
        fn from_value(value: &Value) -> Result<Self> {
            let Value::Numeric(numeric) = value else { return Err(mismatch::<Self>(value)) };
            let parts = numeric.to_big().and_then(|(mantissa, scale)| Some((i128::try_from(mantissa).ok()?, scale)));
            let decimal =
                parts.and_then(|(mantissa, scale)| Decimal::try_from_i128_with_scale(mantissa, scale.into()).ok());
            decimal.ok_or_else(|| out_of_range::<Self>(numeric))
        }
    }
}

#[cfg(feature = "bytes")]
mod of_bytes {
    use bytes::Bytes;

    use super::*;
    use crate::types::ValueRef;

    impl crate::ToValue for Bytes {
        fn to_value(&self) -> ValueRef<'_> {
            ValueRef::Bytea(self)
        }
    }
    read! {
        Bytes: Value::Bytea(bytes) => Some(Bytes::copy_from_slice(bytes)),
    }
}
