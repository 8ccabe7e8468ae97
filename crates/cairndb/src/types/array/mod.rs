//! Arrays: values of one type in up to six dimensions, each counted from a lower bound of its own.
//!
//! Invariants: there are as many values as the dimensions' lengths say; an array without values has no dimensions.

mod bytes;
mod input;
mod order;
mod output;
mod place;

pub(super) use bytes::{read_array, write_array};
pub(super) use input::parse_array;
pub(super) use output::write_array_text;
pub(crate) use place::Subscript;

use super::{DataType, ElementType, Value};
use crate::{Error, Result, SqlState};

/// PostgreSQL's `MAXDIM`.
pub(crate) const DIMENSIONS_MAX: usize = 6;
/// PostgreSQL's limit on the number of elements.
pub(crate) const ELEMENTS_MAX: usize = 134_217_727;

/// One dimension of an array: where its subscripts begin and how many there are.
///
/// ```
/// use cairndb::{Array, DataType, Dimension, Value};
///
/// let square = [Dimension { lower: 1, length: 2 }, Dimension { lower: 0, length: 2 }];
/// let numbers = (1..=4).map(Value::Integer).collect();
/// let array = Array::with_dimensions(DataType::Integer, &square, numbers)?;
/// assert_eq!((array.dimensions()[1].upper(), array.element()), (1, DataType::Integer));
/// assert_eq!(array.into_values().len(), 4);
/// assert!(Array::empty(DataType::Text).values().is_empty());
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dimension {
    /// The first subscript: 1 unless something else was asked for.
    pub lower: i32,
    /// How many subscripts there are.
    pub length: usize,
}

/// An array.
///
/// ```
/// use cairndb::{Array, DataType, Value};
///
/// let array = Array::new(DataType::Integer, vec![Value::Integer(1), Value::Null]);
/// assert_eq!(array.values().len(), 2);
/// assert_eq!(Value::from(array).to_string(), "{1,NULL}");
/// ```
#[derive(Clone, Debug)]
pub struct Array {
    element: DataType,
    dimensions: Box<[Dimension]>,
    values: Box<[Value]>,
    is_vector: bool,
}

impl Dimension {
    /// The last subscript.
    pub fn upper(self) -> i64 {
        i64::from(self.lower) + self.length as i64 - 1
    }
}

impl Array {
    /// An array of one dimension, counted from 1. Values must be of the type or NULL, which is checked where they are stored.
    pub fn new(element: DataType, values: Vec<Value>) -> Array {
        let dimensions: &[Dimension] =
            if values.is_empty() { &[] } else { &[Dimension { lower: 1, length: values.len() }] };
        Array { element, dimensions: dimensions.into(), values: values.into(), is_vector: false }
    }

    /// A value of `int2vector` or `oidvector`, by its elements' type.
    pub(crate) fn vector(element: DataType, values: Vec<Value>) -> Array {
        let mut vector = Array { is_vector: true, ..Array::new(element, values) };
        vector.dimensions.iter_mut().for_each(|dimension| dimension.lower = 0);
        vector
    }

    /// The same as a value of a type.
    pub(crate) fn of_type(self, element: ElementType) -> Array {
        Array { is_vector: element.is_of_vector(), ..self }
    }

    /// It is written as vectors are.
    pub(crate) fn is_vector(&self) -> bool {
        self.is_vector
    }

    /// An array of several dimensions, the last one's subscript running fastest.
    ///
    /// # Errors
    ///
    /// SQLSTATE 54000 where there are too many dimensions or values, 2202E where the number of values is another than the
    /// dimensions say.
    pub fn with_dimensions(element: DataType, dimensions: &[Dimension], values: Vec<Value>) -> Result<Array> {
        let count = count_of(dimensions)?;
        if values.len() != count {
            let message = format!("an array of {count} elements was given {}", values.len());
            return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
        }
        let dimensions = if count == 0 { &[] } else { dimensions };
        Ok(Array { element, dimensions: dimensions.into(), values: values.into(), is_vector: false })
    }

    /// An array without elements.
    pub fn empty(element: DataType) -> Array {
        Array::new(element, vec![])
    }

    /// The elements' type.
    pub fn element(&self) -> DataType {
        self.element
    }

    /// The dimensions, outermost first; none where there are no elements.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// The elements, the last dimension's subscript running fastest.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The elements.
    pub fn into_values(self) -> Vec<Value> {
        self.values.into()
    }

    /// The same dimensions with other elements.
    pub(crate) fn map(&self, element: DataType, convert: impl FnMut(&Value) -> Result<Value>) -> Result<Array> {
        let values = self.values.iter().map(convert).collect::<Result<_>>()?;
        Ok(Array { element, dimensions: self.dimensions.clone(), values, is_vector: false })
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Array>() + self.values.iter().map(|value| size_of::<Value>() + value.heap_bytes()).sum::<usize>()
    }
}

/// How many elements arrays of these dimensions have.
///
/// # Errors
///
/// SQLSTATE 54000: there are too many dimensions or elements.
pub(crate) fn count_of(dimensions: &[Dimension]) -> Result<usize> {
    if dimensions.len() > DIMENSIONS_MAX {
        return Err(too_many_dimensions(dimensions.len()));
    }
    let Some((first, rest)) = dimensions.split_first() else { return Ok(0) };
    let count = rest.iter().try_fold(first.length, |count, dimension| count.checked_mul(dimension.length));
    let in_range = dimensions.iter().all(|dimension| dimension.upper() < i64::from(i32::MAX));
    match count.filter(|count| *count <= ELEMENTS_MAX) {
        Some(count) if in_range || count == 0 => Ok(count),
        Some(_) => Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "array lower bound is too large")),
        None => {
            let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
            Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message))
        }
    }
}

pub(crate) fn too_many_dimensions(count: usize) -> Error {
    let message = format!("number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})");
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}
