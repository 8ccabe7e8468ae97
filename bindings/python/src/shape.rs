//! The columns of a result, as Python sees them.

use cairndb::{DataType, Field};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::known::Known;
use crate::once::Once;
use crate::to_python::{has_zone, is_atomic};

/// See the module. Statements keep theirs, so that what is made of it is made once.
pub(crate) struct Shape {
    pub(crate) fields: Vec<Field>,
    /// Python's collector need not know rows of it.
    pub(crate) is_atomic: bool,
    pub(crate) has_zone: bool,
    /// Where converters were registered: those of the columns.
    pub(crate) converters: Option<Vec<Option<Py<PyAny>>>>,
    description: Once<Py<PyTuple>>,
    names: Once<Py<PyTuple>>,
}

impl Shape {
    pub(crate) fn new(py: Python<'_>, fields: &[Field]) -> PyResult<Shape> {
        let converters = converters(py, fields)?;
        Ok(Shape {
            fields: fields.to_vec(),
            is_atomic: converters.is_none() && fields.iter().all(|field| is_atomic(field.data_type)),
            has_zone: fields.iter().any(|field| has_zone(field.data_type)),
            converters,
            description: Once::new(),
            names: Once::new(),
        })
    }

    pub(crate) fn width(&self) -> usize {
        self.fields.len()
    }

    /// PEP 249's.
    pub(crate) fn description<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let made = self.description.get(py, || {
            let columns = self.fields.iter().map(|field| column(py, field)).collect::<PyResult<Vec<_>>>()?;
            PyTuple::new(py, columns).map(Bound::unbind)
        })?;
        Ok(made.bind(py).clone())
    }

    /// The columns' names.
    pub(crate) fn names<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyTuple>> {
        let made = self.names.get(py, || {
            PyTuple::new(py, self.fields.iter().map(|field| PyString::intern(py, &field.name))).map(Bound::unbind)
        })?;
        Ok(made.bind(py))
    }
}

fn column<'py>(py: Python<'py>, field: &Field) -> PyResult<Bound<'py, PyTuple>> {
    let (precision, scale) = match field.data_type {
        DataType::Numeric(Some((precision, scale))) => (Some(precision), Some(scale)),
        _ => (None, None),
    };
    let name = PyString::intern(py, &field.name);
    let parts = (name, field.data_type.to_string(), py.None(), field.data_type.width(), precision, scale, py.None());
    parts.into_pyobject(py)
}

/// The converters of the columns' types; `None`: they have none.
fn converters(py: Python<'_>, fields: &[Field]) -> PyResult<Option<Vec<Option<Py<PyAny>>>>> {
    let known = Known::get(py)?.converters.bind(py).cast::<PyDict>()?;
    if known.is_empty() {
        return Ok(None);
    }
    let of = |field: &Field| {
        let name = field.data_type.to_string();
        let found = match known.get_item(&name)? {
            None => known.get_item(field.data_type.base().to_string())?,
            found => found,
        };
        PyResult::Ok(found.map(Bound::unbind))
    };
    let found = fields.iter().map(of).collect::<PyResult<Vec<_>>>()?;
    Ok(found.iter().any(Option::is_some).then_some(found))
}
