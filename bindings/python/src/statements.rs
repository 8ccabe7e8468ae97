//! The statements that a connection has prepared, by their texts.
//!
//! A statement of the engine's borrows its connection. They lie side by side here: [`Statements`] must be dropped before the
//! connection that it was made for, which must not move: see [`Statements::new`].

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use cairn_parser::token::TokenKind;
use cairndb::{Connection, DataType, Field, SqlState, Statement, ValueRef};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PySequence, PyString, PyTuple};

use crate::errors::{refused, refused_with};
use crate::from_python::{Param, param, utf8};
use crate::placeholders::{Parameters, Rewritten};
use crate::shape::Shape;

/// How many texts are kept.
const CAPACITY: usize = 128;

/// See the module.
pub(crate) struct Statements {
    /// By the hash that Python's strings keep of themselves.
    known: HashMap<isize, Box<Known>, BuildHasherDefault<Passed>>,
    clock: u64,
    connection: &'static Connection,
}

/// A text and what was prepared of it.
pub(crate) struct Known {
    text: Py<PyString>,
    /// `text`'s, which is kept.
    utf8: &'static str,
    pub(crate) rewritten: Arc<Rewritten>,
    /// Of the parameters, in their order, where they are given by name.
    names: Vec<Py<PyString>>,
    plain: Option<Prepared>,
    /// Its types can not be told without the parameters'.
    needs_types: bool,
    /// With other types for parameters of which the text says nothing.
    typed: Vec<(Vec<DataType>, Option<Prepared>)>,
    used: u64,
}

/// A statement, and the columns that it had last.
pub(crate) struct Prepared {
    pub(crate) statement: Statement<'static>,
    /// Those of parameters that were said; none where the text's own are.
    pub(crate) types: Vec<DataType>,
    shape: Option<Arc<Shape>>,
}

impl Prepared {
    /// The columns of its result.
    pub(crate) fn shape(&mut self, py: Python<'_>, fields: &[Field]) -> PyResult<Arc<Shape>> {
        match &self.shape {
            Some(shape) if shape.fields == fields => Ok(shape.clone()),
            _ => Ok(self.shape.insert(Arc::new(Shape::new(py, fields)?)).clone()),
        }
    }

    /// The columns that it has as it was prepared.
    pub(crate) fn own_shape(&mut self, py: Python<'_>) -> PyResult<Arc<Shape>> {
        let fields = self.statement.columns();
        match &self.shape {
            Some(shape) if shape.fields == fields => Ok(shape.clone()),
            _ => Ok(self.shape.insert(Arc::new(Shape::new(py, fields)?)).clone()),
        }
    }

    /// Converters were registered, or taken back.
    fn forget_shape(&mut self) {
        self.shape = None;
    }
}

impl Statements {
    /// # Safety
    ///
    /// The connection lives, where it is, for as long as what is made here.
    pub(crate) unsafe fn new(connection: &Connection) -> Statements {
        // SAFETY: the caller's.
        let connection = unsafe { &*std::ptr::from_ref(connection) };
        Statements { known: HashMap::default(), clock: 0, connection }
    }

    /// What is known of a text.
    pub(crate) fn get(&mut self, text: &Bound<'_, PyString>) -> PyResult<&mut Known> {
        let hash = text.hash()?;
        self.clock += 1;
        let is_known = self.known.get(&hash).is_some_and(|known| known.is_of(text));
        if !is_known {
            let new = Known::new(text)?;
            if self.known.len() >= CAPACITY {
                self.forget_one();
            }
            self.known.insert(hash, Box::new(new));
        }
        match self.known.get_mut(&hash) {
            Some(known) => {
                known.used = self.clock;
                Ok(known)
            }
            None => Err(refused(text.py(), "XX000", "a statement is gone")),
        }
    }

    /// The one that was not used for the longest time.
    fn forget_one(&mut self) {
        if let Some(hash) = self.known.iter().min_by_key(|(_, known)| known.used).map(|(hash, _)| *hash) {
            self.known.remove(&hash);
        }
    }

    /// A text is prepared anew.
    pub(crate) fn forget(&mut self, text: &Bound<'_, PyString>) -> PyResult<()> {
        self.known.remove(&text.hash()?);
        Ok(())
    }

    /// All are prepared anew: the schema was changed, and a statement that is kept is one of before.
    pub(crate) fn forget_all(&mut self) {
        self.known.clear();
    }

    /// What is kept of results is made anew.
    pub(crate) fn forget_shapes(&mut self) {
        for known in self.known.values_mut() {
            let typed = known.typed.iter_mut().filter_map(|(_, prepared)| prepared.as_mut());
            known.plain.iter_mut().chain(typed).for_each(Prepared::forget_shape);
        }
    }

    pub(crate) fn connection(&self) -> &'static Connection {
        self.connection
    }
}

impl Known {
    fn new(text: &Bound<'_, PyString>) -> PyResult<Known> {
        let py = text.py();
        let utf8 = utf8(text)?;
        let rewritten = Rewritten::of(utf8).map_err(|_| {
            let hint = "One of ?, :1, :name, %s, %(name)s and $1 in a statement.";
            refused_with(py, "42601", "a statement has its parameters in one way", hint)
        })?;
        let names = match &rewritten.parameters {
            Parameters::ByName(names) => names.iter().map(|name| PyString::intern(py, name).unbind()).collect(),
            Parameters::InOrder(_) => Vec::new(),
        };
        let (plain, typed) = (None, Vec::new());
        let text = text.clone().unbind();
        Ok(Known { text, utf8, rewritten: Arc::new(rewritten), names, plain, needs_types: false, typed, used: 0 })
    }

    fn is_of(&self, text: &Bound<'_, PyString>) -> bool {
        self.text.is(text) || utf8(text).is_ok_and(|utf8| utf8 == self.utf8)
    }

    /// Whether there is nothing to run.
    pub(crate) fn is_empty(&self) -> bool {
        self.rewritten.first == TokenKind::Eof
    }

    /// Whether it was run before.
    pub(crate) fn is_prepared(&self) -> bool {
        self.plain.is_some() || self.needs_types
    }

    /// The exception of an error of this statement's.
    pub(crate) fn raised(&self, py: Python<'_>, error: &cairndb::Error) -> PyErr {
        self.rewritten.raised(py, self.utf8, error)
    }

    /// The statement for these parameters, and they as it takes them, in `given`.
    pub(crate) fn prepare(
        &mut self,
        py: Python<'_>,
        connection: &'static Connection,
        given: Option<&Bound<'_, PyAny>>,
        params: &mut Vec<Param>,
    ) -> PyResult<&mut Prepared> {
        if self.plain.is_none() && !self.needs_types {
            match self.prepared(connection, &[]) {
                Ok(prepared) => self.plain = Some(prepared),
                Err(error) if is_of_types(error.sqlstate()) && self.count() > 0 => self.needs_types = true,
                Err(_) => return Err(self.failed(py, connection)),
            }
        }
        params.clear();
        self.read(py, given, params)?;
        let own = |(index, param): (usize, &Param)| self.is_of_its_own(index, param);
        if !self.needs_types && !params.iter().enumerate().any(own) {
            return self.plain.as_mut().ok_or_else(|| refused(py, "XX000", "a statement is gone"));
        }
        self.typed(py, connection, params)
    }

    /// Of a statement that can not be prepared: it fails the transaction, as one that was run.
    #[cold]
    fn failed(&self, py: Python<'_>, connection: &'static Connection) -> PyErr {
        match connection.prepare(&self.rewritten.sql) {
            Err(error) => self.raised(py, &error),
            Ok(_) => refused(py, "40001", "the schema was changed meanwhile"),
        }
    }

    fn types(&self) -> &[DataType] {
        self.plain.as_ref().map_or(&[], |plain| plain.statement.parameter_types())
    }

    fn prepared(&self, connection: &'static Connection, types: &[DataType]) -> cairndb::Result<Prepared> {
        let sql = &self.rewritten.sql;
        Ok(Prepared { statement: connection.try_prepare(sql, types)?, types: types.to_vec(), shape: None })
    }

    /// Whether a parameter is of the type of what is given, whatever the text says: one that is to be text and is none, for text is what
    /// is said where nothing is; and a number with a fraction that is compared with whole ones. (Put into a column of whole numbers it
    /// would be rounded: that is refused.)
    #[inline]
    fn is_of_its_own(&self, index: usize, param: &Param) -> bool {
        match self.types().get(index) {
            None | Some(DataType::Text) => param.is_no_text(),
            Some(of) => of.is_integer() && param.has_fraction() && !self.rewritten.assigns,
        }
    }

    /// With parameters that are of their own types: so `SELECT ?` of a number is a number. Where the statement does not take them,
    /// their text will do.
    fn typed(&mut self, py: Python<'_>, connection: &'static Connection, params: &[Param]) -> PyResult<&mut Prepared> {
        let own = |(index, param): (usize, &Param)| match self.is_of_its_own(index, param) {
            true => own_type(param.value()),
            false => DataType::Unknown,
        };
        let types: Vec<DataType> = params.iter().enumerate().map(own).collect();
        let at = match self.typed.iter().position(|(of, _)| *of == types) {
            Some(at) => at,
            None => {
                let prepared = match self.prepared(connection, &types) {
                    Ok(prepared) => Some(prepared),
                    Err(error) if is_of_types(error.sqlstate()) && !self.needs_types => None,
                    Err(error) => {
                        // It fails the transaction, as one that was run.
                        let _ = connection.prepare_typed(&self.rewritten.sql, &types);
                        return Err(self.raised(py, &error));
                    }
                };
                if self.typed.len() >= CAPACITY {
                    self.typed.clear();
                }
                self.typed.push((types, prepared));
                self.typed.len() - 1
            }
        };
        let typed = self.typed.get_mut(at).and_then(|(_, prepared)| prepared.as_mut());
        typed.or(self.plain.as_mut()).ok_or_else(|| refused(py, "XX000", "a statement is gone"))
    }

    /// Reads the parameters as the statement has them.
    pub(crate) fn read(
        &self,
        py: Python<'_>,
        given: Option<&Bound<'_, PyAny>>,
        params: &mut Vec<Param>,
    ) -> PyResult<()> {
        let types = self.types();
        let of = |index: usize| types.get(index).copied().unwrap_or(DataType::Unknown);
        let Some(given) = given.filter(|given| !given.is_none()) else { return self.check_count(py, 0) };
        if !self.names.is_empty() && !given.is_instance_of::<PyTuple>() && !given.is_instance_of::<PyList>() {
            return self.read_names(given, of, params);
        }
        if let Ok(tuple) = given.cast_exact::<PyTuple>() {
            self.check_count(py, tuple.len())?;
            for (index, item) in tuple.iter_borrowed().enumerate() {
                params.push(param(&item, of(index))?);
            }
            return Ok(());
        }
        let is_text = given.is_instance_of::<PyString>() || given.is_instance_of::<PyDict>();
        if is_text || given.cast::<PySequence>().is_err() {
            let hint = "A sequence for ?, %s, :1 and $1; a mapping for :name and %(name)s.";
            let what = given.get_type().fully_qualified_name()?;
            return Err(refused_with(py, "07001", format!("parameters are not given as '{what}'"), hint));
        }
        self.check_count(py, given.len()?)?;
        for (index, item) in given.try_iter()?.enumerate() {
            params.push(param(&item?, of(index))?);
        }
        // What an iterator of its own gives need not be what its length says.
        self.check_count(py, params.len())
    }

    fn read_names(
        &self,
        given: &Bound<'_, PyAny>,
        of: impl Fn(usize) -> DataType,
        params: &mut Vec<Param>,
    ) -> PyResult<()> {
        let py = given.py();
        let dict = given.cast::<PyDict>();
        if dict.is_err() && given.cast::<PyMapping>().is_err() {
            return Err(refused(py, "07001", "parameters with names are given as a mapping"));
        }
        for (index, name) in self.names.iter().enumerate() {
            let name = name.bind(py);
            let found = match dict {
                Ok(dict) => dict.get_item(name)?,
                Err(_) => given.get_item(name).ok(),
            };
            let missing = || refused(py, "07001", format!("there is no value for the parameter :{name}"));
            params.push(param(&found.ok_or_else(missing)?, of(index))?);
        }
        Ok(())
    }

    fn count(&self) -> usize {
        match &self.rewritten.parameters {
            Parameters::InOrder(count) => *count,
            Parameters::ByName(names) => names.len(),
        }
    }

    fn check_count(&self, py: Python<'_>, given: usize) -> PyResult<()> {
        let wanted = self.count();
        if wanted == given {
            return Ok(());
        }
        Err(refused(py, "07001", format!("the statement has {wanted} parameters, {given} were given")))
    }
}

/// The type of a value that decides what a statement means: an integer's is the one that functions take, if it fits.
fn own_type(value: ValueRef<'_>) -> DataType {
    match value {
        ValueRef::BigInt(number) if i32::try_from(number).is_ok() => DataType::Integer,
        value => value.data_type().unwrap_or(DataType::Unknown),
    }
}

/// Whether an error says that types do not go together.
fn is_of_types(code: SqlState) -> bool {
    matches!(
        code,
        SqlState::UNDEFINED_FUNCTION
            | SqlState::AMBIGUOUS_FUNCTION
            | SqlState::DATATYPE_MISMATCH
            | SqlState::CANNOT_COERCE
            | SqlState::INDETERMINATE_DATATYPE
    )
}

/// Numbers that are hashes already.
#[derive(Default)]
pub(crate) struct Passed(u64);

impl Hasher for Passed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_isize(&mut self, number: isize) {
        self.0 = number as u64;
    }
}
