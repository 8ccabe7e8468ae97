//! Python's objects as parameters.
//!
//! Text and bytes are lent where they lie: each is kept alive by a reference of the parameter's, is never changed by Python,
//! and its UTF-8 form stays as long as it does. So statements read them with the interpreter let go. Everything else is
//! copied.

use cairndb::{Array, DataType, Dimension, Interval, Jsonb, Params, TimeTz, Value, ValueRef};
use pyo3::exceptions::{PyOverflowError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple, PyType,
};
use pyo3::{ffi, intern};

use crate::calendar::{DAY_MICROS, days};
use crate::errors::{caused, raised, refused};
use crate::known::Known;
use crate::to_python::numeric_of;

/// One parameter.
pub(crate) enum Param {
    Plain(ValueRef<'static>),
    /// Of an object that is kept.
    Lent(ValueRef<'static>, #[allow(dead_code, reason = "kept alive")] Py<PyAny>),
    Own(Value),
}

impl Param {
    #[inline]
    pub(crate) fn value(&self) -> ValueRef<'_> {
        match self {
            Param::Plain(value) | Param::Lent(value, _) => *value,
            Param::Own(value) => ValueRef::from(value),
        }
    }

    /// Whether a parameter of which nothing is known but that it is text should be of this one's type instead.
    #[inline]
    pub(crate) fn is_no_text(&self) -> bool {
        !matches!(self.value(), ValueRef::Null | ValueRef::Text(_))
    }

    /// Whether it is a number that is no whole one.
    #[inline]
    pub(crate) fn has_fraction(&self) -> bool {
        match self.value() {
            ValueRef::Double(number) => number.fract() != 0.0,
            ValueRef::Numeric(number) => {
                let number = number.to_cow();
                number.scale() > 0 && number.trunc(0) != *number
            }
            _ => false,
        }
    }

    pub(crate) fn into_value(self) -> Value {
        match self {
            Param::Own(value) => value,
            Param::Plain(value) | Param::Lent(value, _) => value.to_value(),
        }
    }
}

/// The parameters of one execution.
pub(crate) struct Given<'a>(pub(crate) &'a [Param]);

impl Params for Given<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn value(&self, index: usize) -> ValueRef<'_> {
        self.0.get(index).map_or(ValueRef::Null, Param::value)
    }
}

/// The parameter of an object, for a parameter of the type `to`.
#[inline]
pub(crate) fn param(object: &Bound<'_, PyAny>, to: DataType) -> PyResult<Param> {
    let py = object.py();
    // SAFETY: attached, and the object lives. Exact types only: what is derived from them may have an adapter.
    unsafe {
        let pointer = object.as_ptr();
        if pointer == ffi::Py_None() {
            return Ok(Param::Plain(ValueRef::Null));
        }
        if ffi::PyLong_CheckExact(pointer) != 0 {
            return integer(object);
        }
        if ffi::PyUnicode_CheckExact(pointer) != 0 {
            return text(object);
        }
        if ffi::PyFloat_CheckExact(pointer) != 0 {
            return Ok(Param::Plain(ValueRef::Double(ffi::PyFloat_AsDouble(pointer))));
        }
    }
    other(object, to, Known::get(py)?)
}

fn integer(object: &Bound<'_, PyAny>) -> PyResult<Param> {
    let py = object.py();
    // SAFETY: attached, and it is an int.
    let number = unsafe { ffi::PyLong_AsLongLong(object.as_ptr()) };
    if number != -1 || !PyErr::occurred(py) {
        return Ok(Param::Plain(ValueRef::BigInt(number)));
    }
    let error = PyErr::fetch(py);
    if !error.is_instance_of::<PyOverflowError>(py) {
        return Err(error);
    }
    // In hexadecimals, for which Python has no limit of digits.
    let digits = object.call_method1(intern!(py, "__format__"), ("x",))?;
    let digits = digits.cast::<PyString>()?.to_str()?;
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    if digits.len() > MAX_HEX_DIGITS {
        return Err(refused(py, "22003", "the integer has more digits than numeric takes"));
    }
    Ok(Param::Own(Value::Numeric(numeric_of(py, &format!("{sign}{}", decimal_digits(digits)))?)))
}

/// Of integers that numeric takes: 131,072 decimal digits.
const MAX_HEX_DIGITS: usize = 108_856;

/// A hexadecimal number as a decimal one.
fn decimal_digits(hex: &str) -> String {
    // Nine decimal digits each, the last first.
    let mut groups: Vec<u64> = vec![0];
    for digit in hex.chars().filter_map(|digit| digit.to_digit(16)) {
        let mut carry = u64::from(digit);
        for group in &mut groups {
            let grown = *group * 16 + carry;
            (*group, carry) = (grown % 1_000_000_000, grown / 1_000_000_000);
        }
        if carry > 0 {
            groups.push(carry);
        }
    }
    let mut text = groups.pop().map_or_else(String::new, |first| first.to_string());
    groups.iter().rev().for_each(|group| text.push_str(&format!("{group:09}")));
    text
}

fn text(object: &Bound<'_, PyAny>) -> PyResult<Param> {
    let text = utf8(object)?;
    Ok(Param::Lent(ValueRef::Text(text), object.clone().unbind()))
}

/// The UTF-8 form of a string, which lives as long as that.
pub(crate) fn utf8(object: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    let py = object.py();
    let mut length = 0;
    // SAFETY: attached, and it is a str (else it is null with an exception); the caller keeps it.
    let bytes = unsafe { ffi::PyUnicode_AsUTF8AndSize(object.as_ptr(), &mut length) };
    if bytes.is_null() {
        let cause = PyErr::fetch(py);
        return Err(match cause.is_instance_of::<PyUnicodeEncodeError>(py) {
            true => caused(py, refused(py, "22021", "text has a surrogate that is no character"), cause),
            false => cause,
        });
    }
    // SAFETY: Python says that it is UTF-8 of that length.
    Ok(unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(bytes.cast(), length as usize)) })
}

/// Everything that is not of one of the commonest types.
#[inline(never)]
fn other(object: &Bound<'_, PyAny>, to: DataType, known: &Known) -> PyResult<Param> {
    let py = object.py();
    let adapters = known.adapters.bind(py).cast::<PyDict>()?;
    if !adapters.is_empty()
        && let Some(adapter) = adapters.get_item(object.get_type())?
    {
        return adapted(&adapter.call1((object,))?, to, known);
    }
    native(object, to, known)
}

/// What an adapter made, which has to be of a type that needs none.
fn adapted(object: &Bound<'_, PyAny>, to: DataType, known: &Known) -> PyResult<Param> {
    if object.is_none() {
        return Ok(Param::Plain(ValueRef::Null));
    }
    native(object, to, known)
}

fn native(object: &Bound<'_, PyAny>, to: DataType, known: &Known) -> PyResult<Param> {
    let py = object.py();
    let is = |class: &Py<PyType>| object.is_instance(class.bind(py));
    if is(&known.enumeration)? {
        return enumeration(object, to);
    }
    if let Ok(flag) = object.cast::<PyBool>() {
        return Ok(Param::Plain(ValueRef::Boolean(flag.is_true())));
    }
    if object.is_instance_of::<PyInt>() {
        return integer(object);
    }
    if object.is_instance_of::<PyString>() {
        return text(object);
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Param::Plain(ValueRef::Double(object.extract()?)));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        // SAFETY: bytes do not change, and are kept by the parameter.
        let lent: &'static [u8] = unsafe { &*std::ptr::from_ref(bytes.as_bytes()) };
        return Ok(Param::Lent(ValueRef::Bytea(lent), object.clone().unbind()));
    }
    if object.is_instance_of::<PyByteArray>() || object.is_instance_of::<PyMemoryView>() || is_array(object) {
        return buffer(object);
    }
    let value = if is(&known.datetime)? {
        moment(object)?
    } else if is(&known.date)? {
        Value::Date(date(object)? as i32)
    } else if is(&known.time)? {
        time(object)?
    } else if is(&known.timedelta)? {
        interval(object, known)?
    } else if is(&known.decimal)? {
        decimal(object)?
    } else if is(&known.uuid)? {
        let bytes = object.getattr(intern!(py, "bytes"))?;
        Value::Uuid(bytes.extract()?)
    } else if is(&known.json)? {
        let dumps = object.getattr(intern!(py, "dumps"))?;
        let dumps = if dumps.is_none() { known.json_dumps.bind(py) } else { &dumps };
        json(&object.getattr(intern!(py, "value"))?, dumps, to)?
    } else if object.is_instance_of::<PyDict>() {
        json(object, known.json_dumps.bind(py), to)?
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        match to {
            DataType::Json | DataType::Jsonb => json(object, known.json_dumps.bind(py), to)?,
            _ => array(object, to)?,
        }
    } else {
        return unknown(object, to, known);
    };
    Ok(Param::Own(value))
}

/// Objects with a protocol: PEP 246's, and NumPy's scalars.
fn unknown(object: &Bound<'_, PyAny>, to: DataType, known: &Known) -> PyResult<Param> {
    let py = object.py();
    let class = object.get_type();
    if let Ok(conform) = object.getattr(intern!(py, "__conform__")) {
        let protocol = py.import("pycairndb._types")?.getattr("PrepareProtocol")?;
        let made = conform.call1((protocol,))?;
        if !made.is_none() {
            return adapted(&made, to, known);
        }
    }
    let module: String =
        class.getattr(intern!(py, "__module__")).and_then(|module| module.extract()).unwrap_or_default();
    if module == "numpy" {
        if class.name()?.to_str()? == "ndarray" {
            return adapted(&object.call_method0("tolist")?, to, known);
        }
        if let Ok(item) = object.call_method0("item")
            && !item.get_type().is(&class)
        {
            return adapted(&item, to, known);
        }
    }
    let message = format!("a parameter of type '{}' is not supported", class.fully_qualified_name()?);
    let hint = "Register an adapter for it (pycairndb.register_adapter), or give its text.";
    Err(crate::errors::refused_with(py, "42804", message, hint))
}

fn is_array(object: &Bound<'_, PyAny>) -> bool {
    object.get_type().fully_qualified_name().is_ok_and(|name| name == "array.array")
}

fn buffer(object: &Bound<'_, PyAny>) -> PyResult<Param> {
    // SAFETY: attached; a new reference, or null with an exception set.
    let bytes = unsafe { Bound::from_owned_ptr_or_err(object.py(), ffi::PyBytes_FromObject(object.as_ptr()))? };
    Ok(Param::Own(Value::Bytea(bytes.cast::<PyBytes>()?.as_bytes().into())))
}

/// A member of an enum by its name, where SQL's enum has that label; else by its value.
fn enumeration(object: &Bound<'_, PyAny>, to: DataType) -> PyResult<Param> {
    let py = object.py();
    let name = object.getattr(intern!(py, "name"))?;
    if let DataType::Enum(of) = to
        && name.is_instance_of::<PyString>()
        && ValueRef::Text(utf8(&name)?).fit(DataType::Enum(of)).is_some()
    {
        return text(&name);
    }
    let value = object.getattr(intern!(py, "value"))?;
    if value.is_instance(Known::get(py)?.enumeration.bind(py))? {
        return Err(refused(py, "42804", "an enum's value is a member of an enum"));
    }
    param(&value, to)
}

fn number(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<i64> {
    object.getattr(name)?.extract()
}

fn date(object: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = object.py();
    let year = number(object, intern!(py, "year"))?;
    let (month, day) = (number(object, intern!(py, "month"))?, number(object, intern!(py, "day"))?);
    Ok(days(year as i32, month as u8, day as u8))
}

fn time_of_day(object: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = object.py();
    let (hour, minute) = (number(object, intern!(py, "hour"))?, number(object, intern!(py, "minute"))?);
    let (second, micros) = (number(object, intern!(py, "second"))?, number(object, intern!(py, "microsecond"))?);
    Ok(((hour * 60 + minute) * 60 + second) * 1_000_000 + micros)
}

/// Microseconds that an aware object is ahead of UTC; `None`: it is naive.
fn offset(object: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    let py = object.py();
    if object.getattr(intern!(py, "tzinfo"))?.is_none() {
        return Ok(None);
    }
    let offset = object.call_method0(intern!(py, "utcoffset"))?;
    if offset.is_none() { Ok(None) } else { micros_of(&offset).map(Some) }
}

/// Of a `timedelta`.
pub(crate) fn micros_of(delta: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = delta.py();
    let (days, seconds) = (number(delta, intern!(py, "days"))?, number(delta, intern!(py, "seconds"))?);
    Ok((days * 86_400 + seconds) * 1_000_000 + number(delta, intern!(py, "microseconds"))?)
}

fn moment(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let local = date(object)? * DAY_MICROS + time_of_day(object)?;
    Ok(match offset(object)? {
        Some(ahead) => Value::TimestampTz(local - ahead),
        None => Value::Timestamp(local),
    })
}

fn time(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = object.py();
    let micros = time_of_day(object)?;
    let Some(ahead) = offset(object)? else {
        return match object.getattr(intern!(py, "tzinfo"))?.is_none() {
            true => Ok(Value::Time(micros)),
            false => Err(refused(py, "22009", "a time of this zone has no distance from UTC without a date")),
        };
    };
    let time = TimeTz::new(micros, (ahead / 1_000_000) as i32);
    let time = time.ok_or_else(|| refused(py, "22009", "the time's distance from UTC is out of range"))?;
    Ok(Value::TimeTz(time.packed()))
}

fn interval(object: &Bound<'_, PyAny>, known: &Known) -> PyResult<Value> {
    let py = object.py();
    if object.is_instance(known.interval.bind(py))? {
        let part = |name: &str| object.getattr(name);
        let interval = Interval {
            months: part("months")?.extract()?,
            days: part("day_count")?.extract()?,
            micros: part("micros")?.extract()?,
        };
        return Ok(Value::Interval(interval));
    }
    let days = number(object, intern!(py, "days"))?;
    let days = i32::try_from(days).map_err(|_| refused(py, "22008", "interval out of range"))?;
    let seconds = number(object, intern!(py, "seconds"))?;
    let micros = seconds * 1_000_000 + number(object, intern!(py, "microseconds"))?;
    Ok(Value::Interval(Interval { months: 0, days, micros }))
}

fn decimal(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = object.py();
    let text = object.str()?;
    let text = text.to_str()?;
    // Python's NaNs may say more, and signal.
    let text = if text.trim_start_matches(['-', 's']).starts_with("NaN") { "NaN" } else { text };
    numeric_of(py, text).map(Value::Numeric)
}

/// What `json.dumps` writes of an object, whatever that is.
pub(crate) fn json_of(object: &Bound<'_, PyAny>) -> PyResult<Jsonb> {
    match json(object, Known::get(object.py())?.json_dumps.bind(object.py()), DataType::Jsonb)? {
        Value::Jsonb(document) => Ok(document),
        _ => Err(refused(object.py(), "XX000", "a document is something else")),
    }
}

/// What `dumps` writes of it.
fn json(object: &Bound<'_, PyAny>, dumps: &Bound<'_, PyAny>, to: DataType) -> PyResult<Value> {
    let py = object.py();
    let text = dumps.call1((object,));
    let text = text.map_err(|cause| caused(py, refused(py, "22023", "the value is no JSON"), cause))?;
    let text = text.cast::<PyString>().map_err(|_| refused(py, "42804", "what writes JSON gives no str"))?;
    let text = utf8(text)?;
    match to {
        DataType::Json => Ok(Value::Json(text.into())),
        _ => text.parse::<Jsonb>().map(Value::Jsonb).map_err(|error| raised(py, &error)),
    }
}

/// A list as an array: of the parameter's element type, or of that of its elements.
fn array(object: &Bound<'_, PyAny>, to: DataType) -> PyResult<Value> {
    let py = object.py();
    let element = to.element();
    let (mut lengths, mut values) = (Vec::new(), Vec::new());
    flatten(object, (0, element.unwrap_or(DataType::Text)), &mut lengths, &mut values)?;
    if values.is_empty() {
        // Text is read as whatever the parameter is.
        return Ok(element.map_or_else(|| Value::text("{}"), |element| Array::empty(element).into()));
    }
    let element = element_of(py, element, &mut values)?;
    let dimensions: Vec<Dimension> = lengths.iter().map(|&length| Dimension { lower: 1, length }).collect();
    let array = Array::with_dimensions(element, &dimensions, values).map_err(|error| raised(py, &error))?;
    Ok(array.into())
}

/// The one type that all of the values are of, integers and decimals among them being of the wider.
fn element_of(py: Python<'_>, wanted: Option<DataType>, values: &mut [Value]) -> PyResult<DataType> {
    let mut found: Option<DataType> = None;
    for value in values.iter() {
        found = match (found, ValueRef::from(value).data_type()) {
            (found, None) => found,
            (None, some) => some,
            (Some(one), Some(other)) if one == other => Some(one),
            (Some(one), Some(other)) => Some(wider(one, other).ok_or_else(|| mixed(py))?),
        };
    }
    let element = found.or(wanted).unwrap_or(DataType::Text);
    for value in values.iter_mut() {
        let number = match (&*value, element) {
            (Value::BigInt(number), DataType::Double) => Value::Double(*number as f64),
            (Value::BigInt(number), DataType::Numeric(_)) => {
                Value::Numeric(cairndb::Numeric::from_i128((*number).into(), 0))
            }
            (Value::Numeric(number), DataType::Double) => Value::Double(number.to_f64()),
            _ => continue,
        };
        *value = number;
    }
    Ok(element)
}

fn wider(one: DataType, other: DataType) -> Option<DataType> {
    let numbers = [DataType::BigInt, DataType::Numeric(None), DataType::Double];
    let place = |of: DataType| numbers.iter().position(|number| *number == of);
    Some(numbers[place(one)?.max(place(other)?)])
}

fn mixed(py: Python<'_>) -> PyErr {
    refused(py, "42804", "the elements of an array are of one type")
}

/// The deepest that arrays go in SQL.
const DIMENSIONS_MAX: usize = 6;

fn flatten(
    list: &Bound<'_, PyAny>,
    (depth, element): (usize, DataType),
    lengths: &mut Vec<usize>,
    values: &mut Vec<Value>,
) -> PyResult<()> {
    let py = list.py();
    let ragged = || refused(py, "2202E", "the lists within an array are of one length");
    if depth >= DIMENSIONS_MAX {
        return Err(refused(py, "54000", format!("an array has at most {DIMENSIONS_MAX} dimensions")));
    }
    let length = list.len()?;
    match lengths.get(depth) {
        None => lengths.push(length),
        Some(&before) if before == length => {}
        Some(_) => return Err(ragged()),
    }
    for item in list.try_iter()? {
        let item = item?;
        if item.is_instance_of::<PyList>() {
            if depth + 1 == lengths.len() && !values.is_empty() {
                return Err(ragged());
            }
            flatten(&item, (depth + 1, element), lengths, values)?;
        } else if depth + 1 < lengths.len() {
            return Err(ragged());
        } else {
            values.push(param(&item, element)?.into_value());
        }
    }
    Ok(())
}
