//! Results by column: as Arrow's streams, and as arrays that NumPy sees where they lie.
//!
//! What is of fixed width becomes an array in one pass with the interpreter let go. What Python has objects for is made of them.

use std::sync::Arc;

use cairndb::{Batch, Bitmap, Data, DataType, Decimals, NumericRef, ValueRef, Vector};
use cairndb_arrow::{Incoming, Outgoing};
use pyo3::ffi::c_str;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};

use crate::errors::{raised, refused, refused_with};
use crate::feed::Feed;
use crate::released::released;
use crate::to_python::Maker;

/// The name of a capsule that holds a stream of Arrow's.
const STREAM: &std::ffi::CStr = c_str!("arrow_array_stream");

const EPOCH_DAYS: i64 = 10_957;
const DAY_MICROS: i64 = 86_400_000_000;
/// NumPy's "not a time".
const NOT_A_TIME: i64 = i64::MIN;

/// Memory of ours that NumPy's arrays are of.
#[pyclass(frozen, module = "pycairndb")]
pub(crate) struct Buffer {
    items: Items,
    /// Where they lie: as whoever changes the array may write to them.
    address: usize,
}

/// (Held, and not looked at any more.)
enum Items {
    Bool(Vec<bool>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Moments(Vec<i64>),
}

impl Buffer {
    fn new(mut items: Items) -> Buffer {
        let address = match &mut items {
            Items::Bool(items) => items.as_mut_ptr() as usize,
            Items::I16(items) => items.as_mut_ptr() as usize,
            Items::I32(items) => items.as_mut_ptr() as usize,
            Items::I64(items) | Items::Moments(items) => items.as_mut_ptr() as usize,
            Items::F32(items) => items.as_mut_ptr() as usize,
            Items::F64(items) => items.as_mut_ptr() as usize,
        };
        Buffer { items, address }
    }
}

#[pymethods]
impl Buffer {
    /// NumPy's array interface.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (kind, len) = match &self.items {
            Items::Bool(items) => ("b1", items.len()),
            Items::I16(items) => ("i2", items.len()),
            Items::I32(items) => ("i4", items.len()),
            Items::I64(items) => ("i8", items.len()),
            Items::F32(items) => ("f4", items.len()),
            Items::F64(items) => ("f8", items.len()),
            Items::Moments(items) => ("M8[us]", items.len()),
        };
        let order = if cfg!(target_endian = "big") { '>' } else { '<' };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", format!("{order}{kind}"))?;
        interface.set_item("shape", (len,))?;
        interface.set_item("data", (self.address, false))?;
        Ok(interface)
    }
}

/// The rest of a result as a stream of Arrow's, in a capsule.
pub(crate) fn stream<'py>(py: Python<'py>, feed: Arc<Feed>) -> PyResult<Bound<'py, PyCapsule>> {
    let fields = feed.shape.fields.clone();
    let again = feed.clone();
    let outgoing = released(py, || Outgoing::of_batches(&fields, move |rows_min| feed.next_batch(rows_min)));
    let outgoing = outgoing.map_err(|error| raised(py, &error))?;
    // (DuckDB asks for a stream to see what it has, and again to read it.)
    let outgoing = outgoing.giving_back(move |unread| again.give_back(unread));
    PyCapsule::new_with_value(py, outgoing.into_stream(), STREAM)
}

/// Rows that a capsule gives, which is used up.
pub(crate) fn incoming(capsule: &Bound<'_, PyCapsule>) -> PyResult<Incoming> {
    let py = capsule.py();
    let pointer = capsule.pointer_checked(Some(STREAM)).map_err(|_| {
        refused_with(
            py,
            "42804",
            "what `__arrow_c_stream__` gave is no stream of Arrow's",
            "A capsule named arrow_array_stream.",
        )
    })?;
    // SAFETY: a capsule of this name has a stream, which is its own.
    let incoming = released(py, || unsafe { Incoming::of_stream(pointer.as_ptr().cast()) });
    incoming.map_err(|error| raised(py, &error))
}

/// The rest of a result: of each column its name, its type, its values, which are NULL (None: none is), and the labels that the
/// values are numbers of (None: they are values).
pub(crate) fn arrays<'py>(py: Python<'py>, feed: &Arc<Feed>) -> PyResult<Bound<'py, PyList>> {
    let types: Vec<DataType> = feed.shape.fields.iter().map(|field| field.data_type).collect();
    let collected = released(py, || {
        let mut all: Option<Batch> = None;
        while let Some(batch) = feed.next_batch(1)? {
            match &mut all {
                Some(all) => all.append(&batch)?,
                None => all = Some(batch),
            }
        }
        Ok(all)
    });
    let all = collected.map_err(|error: cairndb::Error| raised(py, &error))?;
    let columns = match all {
        Some(all) => all.into_columns(),
        None => {
            let empty = types.iter().map(|of| Ok(Arc::new(empty(*of)?)));
            empty.collect::<cairndb::Result<_>>().map_err(|error| raised(py, &error))?
        }
    };
    let list = PyList::empty(py);
    let maker = feed.maker(py)?;
    for (column, field) in columns.into_iter().zip(&feed.shape.fields) {
        let column = Arc::try_unwrap(column).unwrap_or_else(|shared| Vector::clone(&shared));
        let (values, nulls, labels) = array(py, column, &maker)?;
        list.append((field.name.as_str(), field.data_type.to_string(), values, nulls, labels))?;
    }
    Ok(list)
}

/// (Of a type that programs may not make vectors of, text.)
fn empty(of: DataType) -> cairndb::Result<Vector> {
    Vector::of_values(of.base(), &[]).or_else(|_| Vector::of_values(DataType::Text, &[]))
}

type Column<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

fn array<'py>(py: Python<'py>, column: Vector, maker: &Maker<'py>) -> PyResult<Column<'py>> {
    let nulls = column.validity().map(nulls_of);
    let nulls =
        nulls.map(|nulls| Ok::<_, PyErr>(Bound::new(py, Buffer::new(Items::Bool(nulls)))?.into_any())).transpose()?;
    let of = column.data_type();
    let is_fixed = matches!(
        column.data(),
        Data::Bool(_) | Data::I16(_) | Data::I32(_) | Data::I64(_) | Data::F32(_) | Data::F64(_) | Data::Decimal(_)
    ) && !matches!(of, DataType::Time(_) | DataType::TimeTz(_) | DataType::Reg(_));
    if !is_fixed {
        return Ok((objects(py, &column, maker)?.into_any(), nulls, None));
    }
    let labels = match of {
        DataType::Enum(of) => Some(PyList::new(py, of.values().map(|value| value.label()))?.into_any()),
        _ => None,
    };
    let items = released(py, || items_of(column)).ok_or_else(|| {
        let hint = "Cast the column to text.";
        refused_with(py, "22008", "a date or timestamp that is infinite, or beyond what NumPy has", hint)
    })?;
    Ok((Bound::new(py, Buffer::new(items))?.into_any(), nulls, labels))
}

fn nulls_of(bits: &Bitmap) -> Vec<bool> {
    (0..bits.len()).map(|row| !bits.get(row)).collect()
}

/// `None`: one is beyond what the array has.
fn items_of(column: Vector) -> Option<Items> {
    let (of, data, validity) = column.into_parts();
    let is_null = |row: usize| validity.as_ref().is_some_and(|bits| !bits.get(row));
    let moment = |(row, at): (usize, Option<i64>)| if is_null(row) { Some(NOT_A_TIME) } else { at };
    Some(match (data, of) {
        (Data::Bool(items), _) => Items::Bool(items),
        (Data::I16(items), _) => Items::I16(items),
        (Data::I32(items), DataType::Date) => {
            let day = |days: i32| {
                let is_finite = days != i32::MAX && days != i32::MIN;
                is_finite.then_some(i64::from(days) + EPOCH_DAYS)?.checked_mul(DAY_MICROS)
            };
            Items::Moments(items.into_iter().map(day).enumerate().map(moment).collect::<Option<_>>()?)
        }
        (Data::I32(items), _) => Items::I32(items),
        (Data::I64(items), DataType::Timestamp(_) | DataType::TimestampTz(_)) => {
            let at = |at: i64| {
                let is_finite = at != i64::MAX && at != i64::MIN;
                is_finite.then_some(at)?.checked_add(EPOCH_DAYS * DAY_MICROS)
            };
            Items::Moments(items.into_iter().map(at).enumerate().map(moment).collect::<Option<_>>()?)
        }
        (Data::I64(items), DataType::Enum(of)) => {
            let numbers: Vec<i64> = of.values().map(i64::from).collect();
            let place = |item: &i64| numbers.binary_search(item).map_or(-1, |at| at as i32);
            let places = items.iter().enumerate().map(|(row, item)| if is_null(row) { -1 } else { place(item) });
            Items::I32(places.collect())
        }
        (Data::I64(items), _) => Items::I64(items),
        (Data::F32(items), _) => Items::F32(items),
        (Data::F64(items), _) => Items::F64(items),
        (Data::Decimal(decimals), _) => Items::F64(floats_of(&decimals)),
        _ => return None,
    })
}

fn floats_of(decimals: &Decimals) -> Vec<f64> {
    // Both are exact, and so is the nearest to what is between them.
    const EXACT: u64 = 1 << 53;
    match decimals.narrow() {
        Some((items, scale @ 0..=22)) if items.iter().all(|item| item.unsigned_abs() <= EXACT) => {
            let power = 10_f64.powi(scale.into());
            items.iter().map(|&item| item as f64 / power).collect()
        }
        _ => (0..decimals.len()).map(|row| float_of(decimals.get(row))).collect(),
    }
}

fn float_of(value: NumericRef<'_>) -> f64 {
    value.to_cow().to_f64()
}

/// The values as Python's objects, None for NULL.
fn objects<'py>(py: Python<'py>, column: &Vector, maker: &Maker<'py>) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for row in 0..column.len() {
        let made = maker.object(column.value_ref(row).unwrap_or(ValueRef::Null))?;
        // SAFETY: a new reference.
        list.append(unsafe { Bound::from_owned_ptr(py, made) })?;
    }
    Ok(list)
}

/// Runs a function of `pycairndb._columns`.
pub(crate) fn in_python<'py>(
    py: Python<'py>,
    name: &str,
    arguments: Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("pycairndb._columns")?.getattr(name)?.call1(arguments)
}

/// A table's name as SQL has it.
pub(crate) fn check_name(py: Python<'_>, name: &str) -> PyResult<()> {
    match name.is_empty() || name.contains('\0') {
        true => Err(refused(py, "42602", "a table has a name")),
        false => Ok(()),
    }
}
