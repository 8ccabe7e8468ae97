//! Functions and aggregates of SQL that Python's objects are.
//!
//! They run on the thread that runs the statement, which attaches for each call: never under the commit lock, and whoever has
//! the interpreter meanwhile waits for no lock. What a callback raises ends the statement (SQLSTATE 38000), and is the cause of
//! the exception that the statement raises; `KeyboardInterrupt`, `SystemExit` and their kin come through as they are.

use std::cell::RefCell;
use std::sync::Arc;

use cairndb::{
    AggregateFunction, Arguments, DataType, Error, FunctionOptions, Result, SqlState, Value, ValueRef, from_text,
};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};

use crate::errors::{caused, raised, refused_with};
use crate::from_python::param;
use crate::to_python::Maker;

thread_local! {
    /// What a callback raised on this thread, until the statement that it ended says so.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Remembers what was raised; the error that the engine is told.
pub(crate) fn put_aside(py: Python<'_>, error: PyErr) -> Error {
    let message = format!("a function of Python's raised {}", error.value(py).get_type());
    RAISED.with_borrow_mut(|raised| *raised = Some(error));
    Error::new(SqlState::EXTERNAL_ROUTINE_EXCEPTION, message)
}

/// A statement begins: what was raised before has nothing to do with it.
#[inline]
pub(crate) fn begin() {
    RAISED.with(|raised| {
        if raised.borrow().is_some() {
            drop(raised.take());
        }
    });
}

/// The exception of a statement that failed: what one of its callbacks raised is behind it, or comes instead where nobody but the
/// interpreter is to catch it.
pub(crate) fn with_cause(py: Python<'_>, error: PyErr) -> PyErr {
    match RAISED.take() {
        None => error,
        Some(cause) if cause.is_instance_of::<PyException>(py) => caused(py, error, cause),
        Some(other) => other,
    }
}

/// What nobody but the interpreter is to catch is raised though the statement went on.
#[inline]
pub(crate) fn end(py: Python<'_>) -> PyResult<()> {
    match RAISED.with(|raised| raised.borrow().is_some()).then(|| RAISED.take()).flatten() {
        Some(other) if !other.is_instance_of::<PyException>(py) => Err(other),
        _ => Ok(()),
    }
}

/// A type by its name.
pub(crate) fn type_of(py: Python<'_>, name: &str) -> PyResult<DataType> {
    if let Some(of) = name.strip_suffix("[]") {
        let element = type_of(py, of)?;
        return element.array().ok_or_else(|| unknown_type(py, name));
    }
    DataType::from_name(&name.to_lowercase()).ok_or_else(|| unknown_type(py, name))
}

fn unknown_type(py: Python<'_>, name: &str) -> PyErr {
    refused_with(
        py,
        "42704",
        format!("type \"{name}\" does not exist"),
        "Built-in types by their names: 'bigint', 'text[]'.",
    )
}

/// Calls with SQL's arguments; the answer as SQL's value of a type.
fn call(callable: &Py<PyAny>, arguments: &[Value], returns: DataType) -> Result<Value> {
    let called = Python::try_attach(|py| {
        let answer = arguments_of(py, arguments).and_then(|arguments| callable.bind(py).call1(arguments));
        answer.and_then(|answer| value(&answer, returns)).map_err(|error| put_aside(py, error))
    });
    called.unwrap_or_else(|| Err(ended()))
}

fn arguments_of<'py>(py: Python<'py>, arguments: &[Value]) -> PyResult<Bound<'py, PyTuple>> {
    let maker = Maker::new(py, None)?;
    let objects = arguments.iter().map(|value| maker.value(value)).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, objects)
}

/// An object as a value of a type.
fn value(object: &Bound<'_, PyAny>, of: DataType) -> PyResult<Value> {
    let py = object.py();
    let given = param(object, of)?;
    let lent = given.value();
    let value = match (lent, of) {
        (ValueRef::BigInt(number), DataType::Double | DataType::Real) => Value::Double(number as f64),
        (ValueRef::BigInt(number), DataType::Numeric(_)) => {
            Value::Numeric(cairndb::Numeric::from_i128(number.into(), 0))
        }
        (ValueRef::Double(number), DataType::Numeric(_)) => Value::Numeric(cairndb::Numeric::from_f64(number)),
        (ValueRef::Numeric(number), DataType::Double) => Value::Double(number.to_cow().to_f64()),
        (ValueRef::Text(text), _) if !of.is_string() => {
            from_text(text, of, &cairndb::EvalContext::now()).map_err(|error| raised(py, &error))?
        }
        (lent, _) => lent.to_value(),
    };
    Ok(match (value, of) {
        (Value::Double(number), DataType::Real) => Value::Real(number as f32),
        (value, _) => value,
    })
}

/// What a function promises.
pub(crate) fn options(deterministic: bool, called_on_null: bool) -> FunctionOptions {
    let options = if deterministic { FunctionOptions::immutable() } else { FunctionOptions::default() };
    if called_on_null { options.called_on_null() } else { options }
}

/// A scalar function over a callable.
pub(crate) fn scalar(callable: Py<PyAny>, returns: DataType) -> impl Fn(&Arguments<'_>) -> Result<Value> + Send + Sync {
    move |arguments| call(&callable, arguments, returns)
}

/// Begins the rows of a call: what iterates over what a callable gives, a generator say.
pub(crate) fn rows(
    callable: Py<PyAny>,
    types: Vec<DataType>,
) -> impl Fn(&Arguments<'_>) -> Result<TableRows> + Send + Sync {
    let types: Arc<[DataType]> = types.into();
    move |arguments| {
        let begun = Python::try_attach(|py| {
            let given = arguments_of(py, arguments).and_then(|arguments| callable.bind(py).call1(arguments));
            let rows = given.and_then(|given| given.try_iter());
            rows.map(Bound::unbind).map_err(|error| put_aside(py, error))
        });
        let rows = begun.unwrap_or_else(|| Err(ended()))?;
        Ok(TableRows { rows: Some(rows), types: types.clone() })
    }
}

/// Rows of Python's, each pulled when it is wanted; a generator is closed when nobody wants more.
pub(crate) struct TableRows {
    /// `None`: there are no more.
    rows: Option<Py<PyIterator>>,
    types: Arc<[DataType]>,
}

impl Iterator for TableRows {
    type Item = Result<Vec<Value>>;

    fn next(&mut self) -> Option<Result<Vec<Value>>> {
        let rows = self.rows.as_ref()?;
        let pulled = Python::try_attach(|py| {
            let row = rows.bind(py).clone().next()?;
            Some(row.and_then(|row| values(&row, &self.types)).map_err(|error| put_aside(py, error)))
        });
        let row = pulled.unwrap_or_else(|| Some(Err(ended())));
        if row.is_none() {
            self.close();
        }
        row
    }
}

impl TableRows {
    fn close(&mut self) {
        let Some(rows) = self.rows.take() else { return };
        let closed = Python::try_attach(|py| {
            let rows = rows.into_bound(py);
            if let Ok(close) = rows.getattr(intern!(py, "close"))
                && let Err(error) = close.call0()
            {
                // Nobody is there to be told.
                error.write_unraisable(py, Some(&rows));
            }
        });
        // At the interpreter's end nothing is let go of any more.
        let _ = closed;
    }
}

impl Drop for TableRows {
    fn drop(&mut self) {
        self.close();
    }
}

/// A row's values: a tuple or a list, or, where there is one column, what is no tuple.
fn values(row: &Bound<'_, PyAny>, types: &[DataType]) -> PyResult<Vec<Value>> {
    if let [only] = types
        && !row.is_instance_of::<PyTuple>()
    {
        return Ok(vec![value(row, *only)?]);
    }
    let (py, width) = (row.py(), row.len()?);
    if width != types.len() {
        let message = format!("a row has {width} values, but there are {} columns", types.len());
        return Err(refused_with(py, "42804", message, "A row is a tuple of as many values as there are columns."));
    }
    row.try_iter()?.zip(types).map(|(item, of)| value(&item?, *of)).collect()
}

fn ended() -> Error {
    Error::new(SqlState::EXTERNAL_ROUTINE_EXCEPTION, "the interpreter has ended")
}

/// The state of a group: an object with `step(*arguments)` and `finalize()`, as `sqlite3` has them.
pub(crate) struct Group {
    state: Result<Py<PyAny>>,
    returns: DataType,
}

impl Group {
    /// A new one, of a class.
    pub(crate) fn of(class: &Py<PyAny>, returns: DataType) -> Group {
        let made = Python::try_attach(|py| class.call0(py).map_err(|error| put_aside(py, error)));
        Group { state: made.unwrap_or_else(|| Err(ended())), returns }
    }

    fn call(&self, name: &str, arguments: &[Value], returns: Option<DataType>) -> Result<Value> {
        let state = self.state.as_ref().map_err(Clone::clone)?;
        let called = Python::try_attach(|py| {
            let answer = arguments_of(py, arguments).and_then(|arguments| state.bind(py).call_method1(name, arguments));
            let value = answer.and_then(|answer| returns.map_or(Ok(Value::Null), |of| value(&answer, of)));
            value.map_err(|error| put_aside(py, error))
        });
        called.unwrap_or_else(|| Err(ended()))
    }
}

impl AggregateFunction for Group {
    fn step(&mut self, arguments: &Arguments<'_>) -> Result<()> {
        self.call("step", arguments, None).map(drop)
    }

    fn finish(&mut self) -> Result<Value> {
        self.call("finalize", &[], Some(self.returns))
    }
}
