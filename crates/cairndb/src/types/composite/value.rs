//! A row as a value: its order, equality and hash are those of its attributes, one after the other.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::CompositeType;
use crate::types::{DataType, Value};

/// A value of a composite type: one value for each attribute.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TYPE point AS (x int, y text)", ())?;
/// let value = conn.query_row("SELECT ROW(1, 'up')::point", (), |row| Ok(row.value(0).clone()))?;
/// let point = value.as_composite().expect("a row");
///
/// let fields: Vec<String> = point.fields().map(|(name, value)| format!("{name}: {value}")).collect();
/// assert_eq!(fields, ["x: 1", "y: up"]);
/// assert_eq!((point.values().len(), point.data_type().to_string().as_str()), (2, "point"));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Composite {
    of: CompositeType,
    values: Box<[Value]>,
}

impl Composite {
    /// A row of these values, each of its attribute's type or NULL; missing ones are NULL.
    pub(crate) fn new(of: CompositeType, mut values: Vec<Value>) -> Composite {
        values.resize(of.attributes().len(), Value::Null);
        Composite { of, values: values.into() }
    }

    /// Its type.
    pub fn data_type(&self) -> DataType {
        DataType::Composite(self.of)
    }

    pub(crate) fn of(&self) -> CompositeType {
        self.of
    }

    /// The attributes' values, in order.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The attributes' names and values, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.of.attributes().iter().map(|attribute| attribute.name.as_str()).zip(&self.values)
    }

    /// The attributes' types and values, in order.
    pub(crate) fn typed(&self) -> impl Iterator<Item = (DataType, &Value)> {
        self.of.attributes().iter().map(|attribute| attribute.data_type).zip(&self.values)
    }

    /// PostgreSQL's order: that of the first attributes that differ (NULL is greater than everything); then fewer before more.
    pub(crate) fn compare(&self, other: &Composite) -> Ordering {
        for ((data_type, a), b) in self.typed().zip(&other.values) {
            let order = a.compare_as(b, data_type);
            if order.is_ne() {
                return order;
            }
        }
        self.values.len().cmp(&other.values.len())
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Composite>() + self.values.iter().map(|value| size_of::<Value>() + value.heap_bytes()).sum::<usize>()
    }
}

impl Hash for Composite {
    /// What is equal hashes alike: trailing blanks of `char(n)` do not count.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.values.len());
        for (data_type, value) in self.typed() {
            match (data_type, value) {
                (DataType::Char(_), Value::Text(text)) => text.trim_end_matches(' ').hash(state),
                (_, value) => value.hash(state),
            }
        }
    }
}
