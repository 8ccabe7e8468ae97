//! Types that extensions bring. Which one it is, the [`DataType`] says; its number is that of where it was made: the schema and the
//! oids, interned for the life of the process as those of enums are.

use cairn_parser::token::quoted;

use super::data_type::TypeCategory;
use super::info::{Physical, TypeInfo};
use super::interned::Interner;
use super::{Citext, DataType, Hstore};
use crate::Result;

/// A type of an extension, as it was made in a database: the number of its definition.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// conn.execute("CREATE EXTENSION citext", ())?;
/// let rows = conn.query("SELECT 'Ada'::citext", ())?;
/// assert!(matches!(rows.columns()[0].data_type, cairndb::DataType::Citext(_)));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExtensionType(u32);

/// Which type it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ExtensionTypeKind {
    Citext,
    Hstore,
}

/// What distinguishes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ExtensionTypeDefinition {
    pub(crate) kind: ExtensionTypeKind,
    /// The name of its schema.
    pub(crate) schema: String,
    pub(crate) oid: u32,
    pub(crate) array_oid: u32,
}

struct Interned {
    info: TypeInfo,
    definition: ExtensionTypeDefinition,
}

static TYPES: Interner<ExtensionTypeDefinition, Interned> = Interner::new();

impl ExtensionTypeKind {
    pub(crate) const ALL: [ExtensionTypeKind; 2] = [ExtensionTypeKind::Citext, ExtensionTypeKind::Hstore];

    /// The type's name, which is the extension's too.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ExtensionTypeKind::Citext => "citext",
            ExtensionTypeKind::Hstore => "hstore",
        }
    }

    /// Its number in the entries of the catalog, for good.
    pub(crate) fn code(self) -> u32 {
        match self {
            ExtensionTypeKind::Citext => 1,
            ExtensionTypeKind::Hstore => 2,
        }
    }

    fn of(self, number: ExtensionType) -> DataType {
        match self {
            ExtensionTypeKind::Citext => DataType::Citext(number),
            ExtensionTypeKind::Hstore => DataType::Hstore(number),
        }
    }

    pub(crate) fn category(self) -> TypeCategory {
        match self {
            ExtensionTypeKind::Citext => TypeCategory::String,
            ExtensionTypeKind::Hstore => TypeCategory::User,
        }
    }
}

impl ExtensionType {
    /// The type of this definition: the same one for equal definitions.
    pub(crate) fn of(definition: ExtensionTypeDefinition) -> Result<DataType> {
        let kind = definition.kind;
        let made = |definition, number| Interned::of(definition, ExtensionType(number));
        let number = TYPES.number_of(definition, made, |interned| &interned.definition)?;
        Ok(kind.of(ExtensionType(number)))
    }

    /// The type of this number, if there is one.
    pub(crate) fn from_number(number: u32) -> Option<DataType> {
        TYPES.get(number).map(|interned| interned.definition.kind.of(ExtensionType(number)))
    }

    /// It has one as long as the process lives.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    fn interned(self) -> &'static Interned {
        TYPES.get(self.0).unwrap_or_else(|| unreachable!("only `of` makes them"))
    }

    pub(super) fn info(self) -> &'static TypeInfo {
        &self.interned().info
    }

    /// What it was made of.
    pub(crate) fn definition(self) -> &'static ExtensionTypeDefinition {
        &self.interned().definition
    }
}

impl Interned {
    fn of(definition: ExtensionTypeDefinition, number: ExtensionType) -> Interned {
        let plain = definition.kind.name();
        let name: &'static str = match definition.schema.as_str() {
            "public" => plain,
            schema => format!("{}.{plain}", quoted(schema)).leak(),
        };
        let category = definition.kind.category();
        let info = TypeInfo {
            base: definition.kind.of(number),
            oid: definition.oid,
            array_oid: definition.array_oid,
            name,
            array_name: format!("{name}[]").leak(),
            catalog_name: plain,
            other_names: &[],
            category,
            preferred: false,
            physical: Physical::Values,
            width: None,
            is_integer: false,
            code: 0,
        };
        Interned { info, definition }
    }
}

impl DataType {
    /// Of a type of an extension, where it was made.
    pub(crate) fn of_extension(self) -> Option<ExtensionType> {
        match self {
            DataType::Citext(of) | DataType::Hstore(of) => Some(of),
            _ => None,
        }
    }

    /// Whether it is the type of this one.
    pub(crate) fn is_of_extension(self, kind: ExtensionTypeKind) -> bool {
        self.of_extension().is_some_and(|of| of.definition().kind == kind)
    }
}

/// One for the tests that go through all types.
pub(super) fn sample(kind: ExtensionTypeKind) -> Option<DataType> {
    let (schema, oid) = ("public".to_owned(), 1 + 2 * kind.code());
    ExtensionType::of(ExtensionTypeDefinition { kind, schema, oid, array_oid: oid + 1 }).ok()
}

impl Hstore {
    /// Its type.
    pub fn data_type(&self) -> DataType {
        DataType::Hstore(self.of())
    }
}

impl Citext {
    /// Its type.
    pub fn data_type(&self) -> DataType {
        DataType::Citext(self.of())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_definitions_are_one_type_whose_name_says_its_schema() {
        let made = |schema: &str| {
            let (kind, schema) = (ExtensionTypeKind::Citext, schema.to_owned());
            ExtensionType::of(ExtensionTypeDefinition { kind, schema, oid: 20_000, array_oid: 20_001 }).unwrap()
        };
        let (plain, other) = (made("public"), made("a B"));
        assert_eq!((plain, other), (made("public"), made("a B")));
        assert_ne!(plain, other);
        assert_eq!((plain.type_name(), other.type_name()), ("citext", "\"a B\".citext"));
        assert_eq!(other.array().unwrap().to_string(), "\"a B\".citext[]");
        assert_eq!((plain.oid(), plain.array().unwrap().oid()), (20_000, 20_001));
        assert_eq!(plain.array().unwrap().element(), Some(plain));
    }
}
