//! A row whose values are found by position and by name.

use std::sync::Arc;

use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::answer::Answer;
use crate::cursor::Cursor;
use crate::shape::Shape;

/// What becomes of a row's tuple.
pub(crate) enum Making<'py> {
    Tuple,
    Row(Arc<Shape>),
    Own(Bound<'py, PyAny>),
}

impl<'py> Making<'py> {
    pub(crate) fn of(py: Python<'py>, factory: Option<&Py<PyAny>>, shape: &Arc<Shape>) -> Making<'py> {
        match factory {
            None => Making::Tuple,
            Some(factory) if factory.bind(py).is(py.get_type::<Row>()) => Making::Row(shape.clone()),
            Some(factory) => Making::Own(factory.bind(py).clone()),
        }
    }

    /// Makes it; `of` has the result that it is of.
    pub(crate) fn make(&self, of: &Bound<'py, PyAny>, row: Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Making::Tuple => Ok(row.into_any()),
            Making::Row(shape) => Ok(Bound::new(of.py(), Row::of(row, shape))?.into_any()),
            Making::Own(factory) => factory.call1((of, row)),
        }
    }
}

/// A row as a factory makes it: `row[0]`, `row["name"]`, `row.keys()`; equal to a row of the same names and values.
#[pyclass(frozen, module = "pycairndb", sequence)]
pub(crate) struct Row {
    values: Py<PyTuple>,
    shape: Arc<Shape>,
}

impl Row {
    pub(crate) fn of(values: Bound<'_, PyTuple>, shape: &Arc<Shape>) -> Row {
        Row { values: values.unbind(), shape: shape.clone() }
    }
}

#[pymethods]
impl Row {
    #[new]
    fn new(cursor: &Bound<'_, PyAny>, values: Bound<'_, PyTuple>) -> PyResult<Row> {
        let shape = match cursor.cast::<Answer>() {
            Ok(answer) => answer.get().shape(),
            Err(_) => cursor.cast::<Cursor>()?.get().shape(),
        };
        match shape {
            Some(shape) if shape.width() == values.len() => Ok(Row::of(values, &shape)),
            _ => Err(PyTypeError::new_err("the tuple is no row of the cursor's result")),
        }
    }

    /// The columns' names.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.shape.names(py)?.to_list().into_any())
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let values = self.values.bind(py);
        let Ok(name) = key.cast::<PyString>() else { return values.as_any().get_item(key) };
        let name = name.to_str()?;
        let fields = &self.shape.fields;
        let exact = fields.iter().position(|field| field.name == name);
        let at = exact.or_else(|| fields.iter().position(|field| field.name.eq_ignore_ascii_case(name)));
        match at {
            Some(at) => values.get_item(at),
            None => Err(PyIndexError::new_err(format!("there is no column \"{name}\""))),
        }
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.values.bind(py).len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.values.bind(py).try_iter()?.into_any())
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        Ok(self.shape.names(py)?.hash()? ^ self.values.bind(py).hash()?)
    }

    fn __richcmp__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let (CompareOp::Eq | CompareOp::Ne, Ok(other)) = (op, other.cast::<Row>()) else {
            return Ok(py.NotImplemented());
        };
        let other = other.get();
        let same =
            self.shape.names(py)?.eq(other.shape.names(py)?)? && self.values.bind(py).eq(other.values.bind(py))?;
        Ok((same == matches!(op, CompareOp::Eq)).into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut parts = Vec::new();
        for (field, value) in self.shape.fields.iter().zip(self.values.bind(py).iter()) {
            parts.push(format!("{}={}", field.name, value.repr()?));
        }
        Ok(format!("Row({})", parts.join(", ")))
    }
}
