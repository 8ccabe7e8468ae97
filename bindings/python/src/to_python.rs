//! Values of SQL as Python's objects.
//!
//! What Python has no object for (infinite dates, years beyond 1 to 9999, 24:00) is SQLSTATE 22008, and says to cast it to text.

use cairndb::{Array, DataType, Interval, Numeric, NumericRef, TimeTz, Value, ValueRef, to_text};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDateTime, PyDelta, PyDict, PyList, PyTime, PyTuple, PyTzInfo};
use pyo3::{ffi, intern};

use crate::calendar::{DAY_MICROS, DAYS, ORDINAL_2000, civil, clock};
use crate::errors::{raised, refused_with};
use crate::from_python::micros_of;
use crate::known::Known;

/// What values are made with: of one result.
pub(crate) struct Maker<'py> {
    pub(crate) py: Python<'py>,
    known: &'py Known,
    /// Of moments: the session's zone.
    zone: Bound<'py, PyAny>,
    is_utc: bool,
}

impl<'py> Maker<'py> {
    /// Of a result with these columns; `zone` is asked for where one of them has moments.
    pub(crate) fn new(py: Python<'py>, zone: Option<&str>) -> PyResult<Maker<'py>> {
        let known = Known::get(py)?;
        let utc = known.utc.bind(py);
        let named = zone.filter(|zone| !zone.eq_ignore_ascii_case("utc"));
        // What `zoneinfo` does not know (PostgreSQL's own forms) is shown in UTC: the moment is the same.
        let found = named.and_then(|zone| known.zone_info.bind(py).call1((zone,)).ok());
        let is_utc = found.is_none();
        Ok(Maker { py, known, zone: found.unwrap_or_else(|| utc.clone()), is_utc })
    }

    /// The object of a value: a new reference.
    #[inline]
    pub(crate) fn object(&self, value: ValueRef<'_>) -> PyResult<*mut ffi::PyObject> {
        // SAFETY: attached; each call returns a new reference, or null with an exception set.
        let made = unsafe {
            match value {
                ValueRef::Null => new_ref(ffi::Py_None()),
                ValueRef::Boolean(true) => new_ref(ffi::Py_True()),
                ValueRef::Boolean(false) => new_ref(ffi::Py_False()),
                ValueRef::SmallInt(number) => ffi::PyLong_FromLong(number.into()),
                ValueRef::Integer(number) => ffi::PyLong_FromLong(number.into()),
                ValueRef::BigInt(number) => ffi::PyLong_FromLongLong(number),
                ValueRef::Real(number) => ffi::PyFloat_FromDouble(number.into()),
                ValueRef::Double(number) => ffi::PyFloat_FromDouble(number),
                ValueRef::Text(text) => ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), text.len() as isize),
                other => return self.other(other).map(Bound::into_ptr),
            }
        };
        if made.is_null() { Err(PyErr::fetch(self.py)) } else { Ok(made) }
    }

    /// As `object`.
    pub(crate) fn value<'a>(&self, value: impl Into<ValueRef<'a>>) -> PyResult<Bound<'py, PyAny>> {
        let made = self.object(value.into())?;
        // SAFETY: `object` gives a new reference.
        Ok(unsafe { Bound::from_owned_ptr(self.py, made) })
    }

    #[inline(never)]
    fn other(&self, value: ValueRef<'_>) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        Ok(match value {
            ValueRef::Numeric(number) => self.decimal(number)?,
            ValueRef::Bytea(bytes) => PyBytes::new(py, bytes).into_any(),
            ValueRef::Date(days) => self.date(days.into())?,
            ValueRef::Time(micros) => self.time(micros, None)?,
            ValueRef::TimeTz(packed) => {
                let time = TimeTz::from_packed(packed).ok_or_else(|| self.beyond("time"))?;
                let zone = PyTzInfo::fixed_offset(py, PyDelta::new(py, 0, time.east(), 0, true)?)?;
                self.time(time.micros(), Some(&zone))?
            }
            ValueRef::Timestamp(micros) => self.moment(micros, None)?,
            ValueRef::TimestampTz(micros) if self.is_utc => self.utc(micros)?,
            ValueRef::TimestampTz(micros) => self.zoned(micros)?,
            ValueRef::Interval(interval) => self.interval(interval)?,
            ValueRef::Uuid(bytes) => {
                let named = PyDict::new(py);
                named.set_item(intern!(py, "bytes"), PyBytes::new(py, &bytes))?;
                self.known.uuid.bind(py).call((), Some(&named))?
            }
            ValueRef::Json(text) => self.known.json_loads.bind(py).call1((self.text(text)?,))?,
            ValueRef::Jsonb(document) => self.known.json_loads.bind(py).call1((self.text(&document.to_string())?,))?,
            ValueRef::Enum(value) => self.text(value.label())?,
            ValueRef::Composite(row) => {
                let fields = row.values().iter().map(|value| self.value(value)).collect::<PyResult<Vec<_>>>()?;
                PyTuple::new(py, fields)?.into_any()
            }
            ValueRef::Array(array) => self.array(array)?,
            other => {
                let text = to_text(&other.to_value(), &cairndb::EvalContext::now());
                self.text(&text)?
            }
        })
    }

    /// A str. (PyO3's own panics where there is no memory for it.)
    fn text(&self, text: &str) -> PyResult<Bound<'py, PyAny>> {
        self.value(ValueRef::Text(text))
    }

    fn decimal(&self, number: NumericRef<'_>) -> PyResult<Bound<'py, PyAny>> {
        let text = number.to_cow().to_string();
        self.known.decimal.bind(self.py).call1((self.text(&text)?,))
    }

    fn beyond(&self, what: &str) -> PyErr {
        let message = format!("Python has no {what} for this value");
        refused_with(
            self.py,
            "22008",
            message,
            "Cast it to text in the query: dates may be infinite, or before the year 1.",
        )
    }

    fn date(&self, days: i64) -> PyResult<Bound<'py, PyAny>> {
        if !DAYS.contains(&days) {
            return Err(self.beyond("date"));
        }
        self.known.from_ordinal.bind(self.py).call1((days + ORDINAL_2000,))
    }

    fn time(&self, micros: i64, zone: Option<&Bound<'py, PyTzInfo>>) -> PyResult<Bound<'py, PyAny>> {
        if !(0..DAY_MICROS).contains(&micros) {
            return Err(self.beyond("time"));
        }
        let (hour, minute, second, micros) = clock(micros);
        Ok(PyTime::new(self.py, hour, minute, second, micros, zone)?.into_any())
    }

    fn moment(&self, micros: i64, zone: Option<&Bound<'py, PyTzInfo>>) -> PyResult<Bound<'py, PyAny>> {
        let (days, of_day) = (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS));
        if !DAYS.contains(&days) {
            return Err(self.beyond("datetime"));
        }
        let ((year, month, day), (hour, minute, second, micros)) = (civil(days), clock(of_day));
        Ok(PyDateTime::new(self.py, year, month, day, hour, minute, second, micros, zone)?.into_any())
    }

    fn utc(&self, micros: i64) -> PyResult<Bound<'py, PyAny>> {
        self.moment(micros, Some(self.known.utc.bind(self.py).cast::<PyTzInfo>()?))
    }

    /// A moment in the session's zone.
    fn zoned(&self, micros: i64) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let shown = |micros: i64| self.utc(micros)?.call_method1(intern!(py, "astimezone"), (&self.zone,));
        let day = micros.div_euclid(DAY_MICROS);
        if DAYS.contains(&(day - 1)) && DAYS.contains(&(day + 1)) {
            return shown(micros);
        }
        // In the first and last days of Python's calendar UTC has no datetime where the zone has one, or the other way about. The zone
        // is as far from UTC as two days nearer, where both have one.
        let nearer = if micros < 0 { 2 * DAY_MICROS } else { -2 * DAY_MICROS };
        let ahead = micros_of(&shown(micros.saturating_add(nearer))?.call_method0(intern!(py, "utcoffset"))?)?;
        self.moment(micros.saturating_add(ahead), Some(self.zone.cast::<PyTzInfo>()?))
    }

    /// Months have no length of their own: where there are some, it is a `timedelta` that remembers its parts.
    fn interval(&self, interval: Interval) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        if interval.months != 0 {
            let parts = (interval.months, interval.days, interval.micros);
            return self.known.interval.bind(py).call1(parts);
        }
        let (seconds, micros) = (interval.micros.div_euclid(1_000_000), interval.micros.rem_euclid(1_000_000));
        let days = i64::from(interval.days) + seconds.div_euclid(86_400);
        let days = i32::try_from(days).map_err(|_| self.beyond("timedelta"))?;
        Ok(PyDelta::new(py, days, seconds.rem_euclid(86_400) as i32, micros as i32, true)?.into_any())
    }

    fn array(&self, array: &Array) -> PyResult<Bound<'py, PyAny>> {
        let mut values = array.values().iter();
        let lengths: Vec<usize> = array.dimensions().iter().map(|dimension| dimension.length).collect();
        Ok(self.list(&lengths, &mut values)?.into_any())
    }

    /// The elements of one dimension.
    fn list(&self, lengths: &[usize], values: &mut std::slice::Iter<'_, Value>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(self.py);
        let Some((length, inner)) = lengths.split_first() else { return Ok(list) };
        for _ in 0..*length {
            match inner.is_empty() {
                true => list.append(self.value(values.next().unwrap_or(&Value::Null))?)?,
                false => list.append(self.list(inner, values)?)?,
            }
        }
        Ok(list)
    }
}

/// # Safety
///
/// Attached, and `object` is one.
#[inline]
unsafe fn new_ref(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the caller's.
    unsafe { ffi::Py_INCREF(object) };
    object
}

/// Whether values of a type are of a moment, which is shown in the session's zone.
pub(crate) fn has_zone(of: DataType) -> bool {
    match of {
        DataType::TimestampTz(_) | DataType::Composite(_) => true,
        DataType::Array(element) => has_zone(element.data_type()),
        _ => false,
    }
}

/// Whether Python's objects of a type's values can be part of no cycle, so that a row of them is nothing for the collector.
pub(crate) fn is_atomic(of: DataType) -> bool {
    !matches!(of, DataType::Array(_) | DataType::Composite(_) | DataType::Json | DataType::Jsonb)
}

/// A number as SQL's.
pub(crate) fn numeric_of(py: Python<'_>, text: &str) -> PyResult<Numeric> {
    Numeric::parse(text).map_err(|error| raised(py, &error))
}
