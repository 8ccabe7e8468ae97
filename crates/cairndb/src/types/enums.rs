//! Enums: values of a user's list of labels, in the list's order.
//!
//! A value is a number, which rows and keys keep as they keep any integer, and a label that is looked up where somebody wants
//! to see it. The numbers stand apart, so a label that comes between two others gets one between theirs and nothing that is
//! stored is written anew ([`key_between`]).
//!
//! What an enum is, is interned for the life of the process: equal definitions have one number, which is all that a
//! [`DataType`] holds, and an `ALTER TYPE` makes another one. So a plan, a value or a snapshot of before goes on
//! meaning what it meant.

use cairn_parser::token::quoted;

use super::data_type::TypeCategory;
use super::info::{Physical, TypeInfo};
use super::interned::Interner;
use super::{DataType, Value};
use crate::{Error, Result, SqlState};

/// An enum type: the number of its definition.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TYPE mood AS ENUM ('sad', 'happy')", ())?;
/// let mood = conn.query_row("SELECT 'happy'::mood", (), |row| Ok(row.value(0).clone()))?;
///
/// let cairndb::Value::Enum(mood) = mood else { panic!("it is one") };
/// assert!(matches!(mood.data_type(), cairndb::DataType::Enum(_)));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnumType(u32);

/// A value of an enum type.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TYPE mood AS ENUM ('sad', 'happy')", ())?;
/// let mood = conn.query_row("SELECT 'happy'::mood", (), |row| Ok(row.value(0).clone()))?;
///
/// let cairndb::Value::Enum(mood) = mood else { panic!("it is one") };
/// assert_eq!((mood.label(), mood.data_type().to_string().as_str()), ("happy", "mood"));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct EnumValue {
    key: i64,
    of: EnumType,
}

/// One of the values that an enum has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EnumLabel {
    /// What is stored, and gives the order.
    pub(crate) key: i64,
    /// PostgreSQL's `oid` of it.
    pub(crate) oid: u32,
    pub(crate) name: String,
}

/// What distinguishes enums.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EnumDefinition {
    /// The name of its schema.
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) oid: u32,
    pub(crate) array_oid: u32,
    /// By key, ascending; no name twice.
    pub(crate) labels: Vec<EnumLabel>,
}

struct Interned {
    info: TypeInfo,
    definition: EnumDefinition,
    /// Places in the list of labels, by name.
    by_name: Box<[u32]>,
}

/// How far apart the keys of labels stand that are given in one statement, or one behind the other.
const GAP: i64 = 1 << 16;

/// The keys of the labels of a new enum.
pub(crate) fn first_keys() -> impl Iterator<Item = i64> {
    (0..).map(|at| at * GAP)
}

/// A key between two others, of which either may be missing; `None`: there is none left.
pub(crate) fn key_between(before: Option<i64>, after: Option<i64>) -> Option<i64> {
    match (before, after) {
        (None, None) => Some(0),
        (Some(before), None) => before.checked_add(GAP),
        (None, Some(after)) => after.checked_sub(GAP),
        (Some(before), Some(after)) => Some(before.midpoint(after)).filter(|key| before < *key && *key < after),
    }
}

static ENUMS: Interner<EnumDefinition, Interned> = Interner::new();

impl EnumType {
    /// The type of this definition: the same one for equal definitions.
    pub(crate) fn of(definition: EnumDefinition) -> Result<EnumType> {
        let made = |definition, number| Interned::of(definition, EnumType(number));
        ENUMS.number_of(definition, made, |interned| &interned.definition).map(EnumType)
    }

    fn interned(self) -> &'static Interned {
        ENUMS.get(self.0).unwrap_or_else(|| unreachable!("only `of` makes them"))
    }

    /// The type of this number, if there is one.
    pub(crate) fn from_number(number: u32) -> Option<EnumType> {
        ENUMS.get(number).map(|_| EnumType(number))
    }

    /// It has one as long as the process lives.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    pub(super) fn info(self) -> &'static TypeInfo {
        &self.interned().info
    }

    /// What it was made of.
    pub(crate) fn definition(self) -> &'static EnumDefinition {
        &self.interned().definition
    }

    /// The labels in order.
    pub(crate) fn labels(self) -> &'static [EnumLabel] {
        &self.definition().labels
    }

    /// Its values, in their order.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("CREATE TYPE mood AS ENUM ('sad', 'happy')", ())?;
    /// let rows = conn.query("SELECT 'happy'::mood", ())?;
    /// let cairndb::DataType::Enum(mood) = rows.columns()[0].data_type else { panic!("it is one") };
    /// assert_eq!(mood.values().map(|value| value.label()).collect::<Vec<_>>(), ["sad", "happy"]);
    /// assert!(mood.values().map(i64::from).is_sorted());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn values(self) -> impl Iterator<Item = EnumValue> {
        self.labels().iter().map(move |label| EnumValue { key: label.key, of: self })
    }

    /// The value of this key, if there is one.
    pub(crate) fn value_of_key(self, key: i64) -> Option<EnumValue> {
        self.label_of(key).map(|_| EnumValue { key, of: self })
    }

    /// The value of a key that is known to be one.
    #[inline]
    pub(crate) fn value(self, key: i64) -> EnumValue {
        EnumValue { key, of: self }
    }

    fn label_of(self, key: i64) -> Option<&'static EnumLabel> {
        let labels = self.labels();
        let found = labels.binary_search_by_key(&key, |label| label.key).ok().map(|at| &labels[at]);
        found.or_else(|| self.label_of_later(key))
    }

    /// The label in a later version of the type: a temporary table keeps the one that it was made with where somebody else
    /// altered the type, and then dropped it.
    #[cold]
    fn label_of_later(self, key: i64) -> Option<&'static EnumLabel> {
        let of = self.definition();
        let later = (self.0 + 1..).map_while(EnumType::from_number).map(EnumType::definition);
        let same = later.filter(|later| (later.oid, &later.schema) == (of.oid, &of.schema));
        same.flat_map(|later| &later.labels).find(|label| label.key == key)
    }

    /// The value of this label, if there is one.
    pub(crate) fn find(self, label: &str) -> Option<EnumValue> {
        let Interned { definition, by_name, .. } = self.interned();
        let name = |at: &u32| definition.labels[*at as usize].name.as_str();
        let at = by_name.binary_search_by(|at| name(at).cmp(label)).ok()?;
        Some(EnumValue { key: definition.labels[by_name[at] as usize].key, of: self })
    }

    /// The value of this label; SQLSTATE 22P02.
    pub(crate) fn parse(self, label: &str) -> Result<EnumValue> {
        self.find(label).ok_or_else(|| {
            let message = format!("invalid input value for enum {}: \"{label}\"", self.info().name);
            Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
        })
    }
}

impl Interned {
    fn of(definition: EnumDefinition, number: EnumType) -> Interned {
        let mut by_name: Vec<u32> = (0..).take(definition.labels.len()).collect();
        by_name.sort_unstable_by_key(|at| definition.labels[*at as usize].name.as_str());
        let plain = quoted(&definition.name);
        let name: &'static str = match definition.schema.as_str() {
            "public" => plain.leak(),
            schema => format!("{}.{plain}", quoted(schema)).leak(),
        };
        let info = TypeInfo {
            base: DataType::Enum(number),
            oid: definition.oid,
            array_oid: definition.array_oid,
            name,
            array_name: format!("{name}[]").leak(),
            catalog_name: definition.name.clone().leak(),
            other_names: &[],
            category: TypeCategory::Enum,
            preferred: false,
            physical: Physical::I64,
            width: Some(8),
            is_integer: true,
            code: 0,
        };
        Interned { info, by_name: by_name.into(), definition }
    }
}

impl EnumValue {
    /// The label.
    pub fn label(self) -> &'static str {
        // A key without a label is a damaged one, as vectors may have them; rows are looked at when they are decoded.
        self.of.label_of(self.key).map_or("?", |label| &label.name)
    }

    /// Its type.
    pub fn data_type(self) -> DataType {
        DataType::Enum(self.of)
    }

    #[inline]
    pub(crate) fn of(self) -> EnumType {
        self.of
    }

    #[inline]
    pub(crate) fn key(self) -> i64 {
        self.key
    }
}

impl From<EnumValue> for i64 {
    fn from(value: EnumValue) -> i64 {
        value.key
    }
}

impl From<EnumValue> for Value {
    fn from(value: EnumValue) -> Value {
        Value::Enum(value)
    }
}

impl std::fmt::Debug for EnumValue {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:?}", self.label())
    }
}

/// An enum for the tests that go through all types.
pub(super) fn sample() -> Option<EnumType> {
    of_labels("sample", &["first", "second", "", "a b", "ab", "last"]).ok()
}

fn of_labels(name: &str, labels: &[&str]) -> Result<EnumType> {
    let label = |((key, oid), name): ((i64, u32), &&str)| EnumLabel { key, oid, name: (*name).to_owned() };
    let labels = first_keys().zip(1..).zip(labels).map(label).collect();
    let (schema, name) = ("public".to_owned(), name.to_owned());
    EnumType::of(EnumDefinition { schema, name, oid: 1, array_oid: 2, labels })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str, labels: &[&str]) -> EnumType {
        of_labels(name, labels).unwrap()
    }

    #[test]
    fn equal_definitions_are_one_type_and_others_are_others() {
        let (a, b) = (made("mood", &["sad", "ok"]), made("mood", &["sad", "ok"]));
        assert_eq!(a, b);
        assert_ne!(a, made("mood", &["sad", "ok", "happy"]));
        assert_ne!(a, made("other", &["sad", "ok"]));
        assert_eq!(DataType::Enum(a).type_name(), "mood");
        assert_eq!(DataType::Enum(a).array().unwrap().to_string(), "mood[]");
    }

    #[test]
    fn labels_are_found_by_name_and_by_key_and_have_the_order_in_which_they_were_given() {
        let mood = made("mood", &["sad", "ok", "a b", ""]);
        let values: Vec<EnumValue> = mood.labels().iter().map(|label| mood.parse(&label.name).unwrap()).collect();
        assert!(values.is_sorted_by_key(|value| value.key()));
        for value in values {
            assert_eq!(mood.value_of_key(value.key()).unwrap().label(), value.label());
        }
        let error = mood.parse("Sad").unwrap_err();
        assert_eq!(error.message(), "invalid input value for enum mood: \"Sad\"");
        assert!(mood.value_of_key(7).is_none());
    }

    #[test]
    fn there_is_room_between_labels_and_in_front_and_behind() {
        let (mut low, high) = (0, GAP);
        let mut between = 0;
        while let Some(key) = key_between(Some(low), Some(high)) {
            assert!(low < key && key < high);
            (low, between) = (key, between + 1);
        }
        assert_eq!(between, 16);
        assert!(key_between(None, Some(0)).unwrap() < 0);
        assert!(key_between(Some(high), None).unwrap() > high);
    }
}
