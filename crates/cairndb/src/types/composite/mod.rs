//! Composite types: rows as values, each attribute under a name and of a type of its own.
//!
//! There are those that users make, the types of tables' rows, and `record`, the type of rows that nobody gave a name. A type is
//! the number of its whole definition, as an enum's is. A value knows its type, so that what is only known to be a `record`
//! is compared and written by what it is made of.

mod bytes;
mod input;
mod open;
mod output;
mod shape;
mod value;

pub(super) use bytes::{read_composite, write_composite};
pub(super) use input::parse_composite;
pub(crate) use open::{is_open, read_open, write_open};
pub(super) use output::write_composite_text;
pub(crate) use shape::Shape;
pub use value::Composite;

use cairn_parser::token::quoted;

use super::data_type::TypeCategory;
use super::info::{Physical, TypeInfo};
use super::interned::Interner;
use super::{DataType, Value};
use crate::Result;

/// A composite type: the number of its definition.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TYPE point AS (x int, y text)", ())?;
/// let value = conn.query_row("SELECT ROW(1, 'up')::point", (), |row| Ok(row.value(0).clone()))?;
/// let point = value.as_composite().expect("a row");
///
/// let cairndb::DataType::Composite(of) = point.data_type() else { panic!("it is one") };
/// assert_eq!(of.attributes().len(), 2);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CompositeType(u32);

/// A part of a composite type.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TYPE point AS (x int, y text)", ())?;
/// let value = conn.query_row("SELECT ROW(1, 'up')::point", (), |row| Ok(row.value(0).clone()))?;
/// let point = value.as_composite().expect("a row");
///
/// let cairndb::DataType::Composite(of) = point.data_type() else { panic!("it is one") };
/// let attribute = &of.attributes()[0];
/// assert_eq!((attribute.name.as_str(), attribute.data_type), ("x", cairndb::DataType::Integer));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Its place in values that are stored, from 1 on; never given out again.
    pub(crate) number: u32,
}

/// What distinguishes composite types.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CompositeDefinition {
    /// `None`: a `record`.
    pub(crate) named: Option<NamedComposite>,
    /// In order.
    pub(crate) attributes: Vec<Attribute>,
}

/// What a type has that is not a `record`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NamedComposite {
    /// The name of its schema.
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) oid: u32,
    pub(crate) array_oid: u32,
    /// It is the type of this table's rows.
    pub(crate) table: Option<u32>,
}

struct Interned {
    info: TypeInfo,
    definition: CompositeDefinition,
}

static COMPOSITES: Interner<CompositeDefinition, Interned> = Interner::new();

/// PostgreSQL's `oid`s of `record` and `record[]`.
const RECORD: (u32, u32) = (2249, 2287);

impl CompositeType {
    /// The type of this definition: the same one for equal definitions.
    pub(crate) fn of(definition: CompositeDefinition) -> Result<CompositeType> {
        let made = |definition, number| Interned::of(definition, CompositeType(number));
        COMPOSITES.number_of(definition, made, |interned| &interned.definition).map(CompositeType)
    }

    /// The type of a row that has no name.
    pub(crate) fn record(attributes: impl IntoIterator<Item = (String, DataType)>) -> Result<CompositeType> {
        CompositeType::of(CompositeDefinition { named: None, attributes: numbered(attributes) })
    }

    /// `record`, where nothing is known of its attributes.
    pub(crate) fn any_record() -> Result<CompositeType> {
        CompositeType::record([])
    }

    fn interned(self) -> &'static Interned {
        COMPOSITES.get(self.0).unwrap_or_else(|| unreachable!("only `of` makes them"))
    }

    /// The type of this number, if there is one.
    pub(crate) fn from_number(number: u32) -> Option<CompositeType> {
        COMPOSITES.get(number).map(|_| CompositeType(number))
    }

    /// It has one as long as the process lives.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    pub(super) fn info(self) -> &'static TypeInfo {
        &self.interned().info
    }

    /// What it was made of.
    pub(crate) fn definition(self) -> &'static CompositeDefinition {
        &self.interned().definition
    }

    /// The attributes in order.
    pub fn attributes(self) -> &'static [Attribute] {
        &self.definition().attributes
    }

    /// It is a `record`: its attributes may be those of any row.
    pub(crate) fn is_record(self) -> bool {
        self.definition().named.is_none()
    }

    /// The place of the attribute of this name.
    pub(crate) fn place_of(self, name: &str) -> Option<usize> {
        self.attributes().iter().position(|attribute| attribute.name == name)
    }
}

/// Attributes of these names and types, in order.
fn numbered(attributes: impl IntoIterator<Item = (String, DataType)>) -> Vec<Attribute> {
    let attribute = |((name, data_type), number)| Attribute { name, data_type, number };
    attributes.into_iter().zip(1..).map(attribute).collect()
}

impl Interned {
    fn of(definition: CompositeDefinition, number: CompositeType) -> Interned {
        let leaked = |name: &str| -> [&'static str; 2] { [name.to_owned().leak(), format!("{name}[]").leak()] };
        let ((oid, array_oid), [name, array_name]) = match &definition.named {
            None => (RECORD, ["record", "record[]"]),
            Some(NamedComposite { schema, name, oid, array_oid, .. }) => {
                let plain = quoted(name);
                let name = if schema == "public" { plain } else { format!("{}.{plain}", quoted(schema)) };
                ((*oid, *array_oid), leaked(&name))
            }
        };
        let info = TypeInfo {
            base: DataType::Composite(number),
            oid,
            array_oid,
            name,
            array_name,
            catalog_name: definition.named.as_ref().map_or("record", |named| named.name.clone().leak()),
            other_names: &[],
            category: TypeCategory::Composite,
            preferred: false,
            physical: Physical::Values,
            width: None,
            is_integer: false,
            code: 0,
        };
        Interned { info, definition }
    }
}

/// A composite type for the tests that go through all types.
pub(super) fn sample() -> Option<CompositeType> {
    let types = [("a", DataType::Integer), ("b c", DataType::Text), ("d", DataType::Numeric(Some((5, 2))))];
    let attributes = numbered(types.map(|(name, data_type)| (name.to_owned(), data_type)));
    let (schema, name) = ("public".to_owned(), "sample_row".to_owned());
    let named = Some(NamedComposite { schema, name, oid: 3, array_oid: 4, table: None });
    CompositeType::of(CompositeDefinition { named, attributes }).ok()
}

impl From<Composite> for Value {
    fn from(value: Composite) -> Value {
        Value::Composite(std::sync::Arc::new(value))
    }
}
