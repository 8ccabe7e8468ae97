//! Types that users made: in schemas, under names of their own, known by their ids.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Definition;
use super::codec::{self, Fields, Writer, corrupt};
use super::entries::{decode_check, decode_references, encode_check, encode_definition};
use super::schema::{Check, Column, ObjectId, Table};
use super::version::Version;
use crate::Result;
use crate::types::{
    Attribute, CompositeDefinition, CompositeType, DataType, EnumDefinition, EnumLabel, EnumType, ExtensionType,
    ExtensionTypeDefinition, ExtensionTypeKind, NamedComposite, oid_of, row_array_oid, type_id,
};

/// A type that a user made.
#[derive(Clone, Debug)]
pub struct UserType {
    /// Its id.
    pub id: ObjectId,
    /// The schema that it is in.
    pub schema: ObjectId,
    /// Its name.
    pub name: String,
    /// The id of the type of its arrays.
    pub(crate) array_id: ObjectId,
    pub(crate) kind: TypeKind,
    /// Numbers the changes of the type's entry.
    pub(crate) change: u64,
    /// What it is where columns and expressions have it.
    pub(crate) data_type: DataType,
}

/// What kind of type it is.
#[derive(Clone, Debug)]
pub(crate) enum TypeKind {
    /// By key, ascending.
    Enum(Vec<EnumLabel>),
    Domain(Domain),
    Composite(CompositeParts),
    /// The type of an extension, which comes and goes with it.
    Extension(ExtensionTypeKind),
}

/// What the values of a composite type consist of.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompositeParts {
    /// In order.
    pub(crate) attributes: Vec<Attribute>,
    /// How many numbers attributes were given, those of dropped ones among them.
    pub(crate) made: u32,
}

/// A type of some values of another.
#[derive(Clone, Debug)]
pub(crate) struct Domain {
    /// The type of its values, which is no domain.
    pub(crate) base: DataType,
    /// The domain that it is made from.
    pub(crate) parent: Option<ObjectId>,
    pub(crate) default: Option<Definition>,
    pub(crate) not_null: bool,
    /// Conditions over VALUE.
    pub(crate) checks: Vec<Check>,
}

impl Table {
    /// The type of its rows; `schema`: the name of its schema.
    pub(crate) fn row_type(&self, schema: &str) -> Result<CompositeType> {
        let attribute = |column: &Column| Attribute {
            name: column.name.clone(),
            data_type: column.data_type,
            number: column.number,
        };
        let (schema, name, oid) = (schema.to_owned(), self.name.clone(), oid_of(self.id));
        let array_oid = row_array_oid(self.id);
        CompositeType::of(CompositeDefinition {
            named: Some(NamedComposite { schema, name, oid, array_oid, table: Some(self.id.0) }),
            attributes: self.columns.iter().map(attribute).collect(),
        })
    }
}

impl UserType {
    /// Says what it is, in a schema of this name.
    pub(crate) fn resolve(&mut self, schema: &str) -> Result<()> {
        self.data_type = match &self.kind {
            TypeKind::Domain(domain) => domain.base,
            TypeKind::Composite(parts) => DataType::Composite(CompositeType::of(CompositeDefinition {
                named: Some(NamedComposite {
                    schema: schema.to_owned(),
                    name: self.name.clone(),
                    oid: oid_of(self.id),
                    array_oid: oid_of(self.array_id),
                    table: None,
                }),
                attributes: parts.attributes.clone(),
            })?),
            TypeKind::Extension(kind) => ExtensionType::of(ExtensionTypeDefinition {
                kind: *kind,
                schema: schema.to_owned(),
                oid: oid_of(self.id),
                array_oid: oid_of(self.array_id),
            })?,
            TypeKind::Enum(labels) => DataType::Enum(EnumType::of(EnumDefinition {
                schema: schema.to_owned(),
                name: self.name.clone(),
                oid: oid_of(self.id),
                array_oid: oid_of(self.array_id),
                labels: labels.clone(),
            })?),
        };
        Ok(())
    }

    /// The labels of an enum.
    pub(crate) fn labels(&self) -> &[EnumLabel] {
        match &self.kind {
            TypeKind::Enum(labels) => labels,
            TypeKind::Domain(_) | TypeKind::Composite(_) | TypeKind::Extension(_) => &[],
        }
    }

    pub(crate) fn domain(&self) -> Option<&Domain> {
        match &self.kind {
            TypeKind::Domain(domain) => Some(domain),
            TypeKind::Enum(_) | TypeKind::Composite(_) | TypeKind::Extension(_) => None,
        }
    }

    /// The name of the extension that it belongs to.
    pub(crate) fn extension(&self) -> Option<&'static str> {
        match self.kind {
            TypeKind::Extension(kind) => Some(kind.name()),
            _ => None,
        }
    }

    /// The attributes of a composite type.
    pub(crate) fn attributes(&self) -> &[Attribute] {
        match &self.kind {
            TypeKind::Composite(parts) => &parts.attributes,
            TypeKind::Enum(_) | TypeKind::Domain(_) | TypeKind::Extension(_) => &[],
        }
    }

    /// The types that it is made of.
    pub(crate) fn rests_on(&self) -> impl Iterator<Item = ObjectId> {
        let attributes = self.attributes().iter().filter_map(|attribute| type_id(attribute.data_type));
        let domain = self.domain();
        domain.and_then(|domain| domain.parent.or_else(|| type_id(domain.base))).into_iter().chain(attributes)
    }

    /// What it says of other objects.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Definition> {
        let defaults = self.domain().into_iter().flat_map(|domain| &domain.default);
        let checks = self.domain().into_iter().flat_map(|domain| &domain.checks);
        defaults.chain(checks.map(|check| &check.condition))
    }
}

/// The types of one version of the catalog, by id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types(BTreeMap<ObjectId, Arc<UserType>>);

impl PartialEq for Types {
    /// Whether tables are read alike with them.
    fn eq(&self, other: &Types) -> bool {
        let each = |types: &Types| types.0.iter().map(|(id, of)| (*id, of.data_type)).collect::<Vec<_>>();
        self.0.len() == other.0.len() && each(self) == each(other)
    }
}

impl FromIterator<Arc<UserType>> for Types {
    fn from_iter<I: IntoIterator<Item = Arc<UserType>>>(types: I) -> Types {
        Types(types.into_iter().map(|of| (of.id, of)).collect())
    }
}

impl Types {
    pub(super) fn add(&mut self, of: Arc<UserType>) {
        self.0.insert(of.id, of);
    }

    pub(crate) fn get(&self, id: ObjectId) -> Option<&Arc<UserType>> {
        self.0.get(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<UserType>> {
        self.0.values()
    }
}

pub(super) fn encode_user_type(of: &UserType, change: u64) -> Vec<u8> {
    let attributes = match of.data_type {
        DataType::Composite(of) => of.attributes(),
        _ => &[],
    };
    let base = of.domain().map(|domain| domain.base);
    let parts = attributes.iter().map(|attribute| attribute.data_type).chain(base);
    let mut w = Writer::entry(Version::of_types(parts.chain([of.data_type])));
    w.text(1, &of.name);
    w.number(2, of.schema.0.into());
    w.number(3, of.array_id.0.into());
    w.number(4, change);
    match &of.kind {
        TypeKind::Enum(labels) => {
            w.number(5, 1);
            for label in labels {
                w.record(6, |w| {
                    w.signed(1, label.key);
                    w.number(2, label.oid.into());
                    w.text(3, &label.name);
                });
            }
        }
        TypeKind::Extension(kind) => {
            w.number(5, 4);
            w.number(15, kind.code().into());
        }
        TypeKind::Composite(parts) => {
            w.number(5, 3);
            for attribute in &parts.attributes {
                w.record(13, |w| {
                    w.text(1, &attribute.name);
                    w.number(2, attribute.number.into());
                    w.data_type(3, attribute.data_type);
                });
            }
            w.number(14, parts.made.into());
        }
        TypeKind::Domain(domain) => {
            w.number(5, 2);
            w.data_type(7, domain.base);
            if let Some(parent) = domain.parent {
                w.number(8, parent.0.into());
            }
            if let Some(default) = &domain.default {
                encode_definition(default, (9, 10), &mut w);
            }
            w.flag(11, domain.not_null);
            domain.checks.iter().for_each(|check| w.record(12, |w| encode_check(check, w)));
        }
    }
    w.finish()
}

/// A type, of which is not said yet what it is where columns have it. `types`: those that were there before it.
pub(super) fn decode_user_type(id: ObjectId, bytes: &[u8], types: &Types) -> Result<UserType> {
    let mut of = UserType {
        id,
        schema: ObjectId::PUBLIC,
        name: String::new(),
        array_id: ObjectId(0),
        kind: TypeKind::Enum(Vec::new()),
        change: 0,
        data_type: DataType::Unknown,
    };
    let (mut labels, mut kind) = (Vec::new(), 1_u32);
    let (base, parent, default, not_null, checks) = (DataType::Unknown, None, None, false, Vec::new());
    let mut domain = Domain { base, parent, default, not_null, checks };
    let (mut references, mut parts, mut extension) = (None, CompositeParts::default(), None);
    let mut fields = Fields::entry(bytes)?;
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => of.name = codec::text(value)?,
            2 => of.schema = ObjectId(codec::number(value)?),
            3 => of.array_id = ObjectId(codec::number(value)?),
            4 => of.change = codec::number(value)?,
            5 => kind = codec::number(value)?,
            6 => labels.push(decode_label(value)?),
            7 => domain.base = codec::data_type(value, types)?,
            8 => domain.parent = Some(ObjectId(codec::number(value)?)),
            9 => domain.default = Some(Definition { text: codec::text(value)?, references: None }),
            10 => references = decode_references(value)?,
            11 => domain.not_null = true,
            12 => domain.checks.push(decode_check(value)?),
            13 => parts.attributes.push(decode_attribute(value, types)?),
            14 => parts.made = codec::number(value)?,
            15 => extension = Some(codec::number::<u32>(value)?),
            _ => {}
        }
    }
    if let Some(default) = &mut domain.default {
        default.references = references;
    }
    match kind {
        1 => {}
        2 if domain.base == DataType::Unknown || domain.parent.is_some_and(|parent| types.get(parent).is_none()) => {
            return Err(corrupt("a domain over nothing"));
        }
        2 => {
            of.kind = TypeKind::Domain(domain);
            return Ok(of);
        }
        3 => {
            let mut numbers: Vec<u32> = parts.attributes.iter().map(|attribute| attribute.number).collect();
            numbers.sort_unstable();
            let are_given = numbers.first().is_none_or(|least| *least > 0) && numbers.last() <= Some(&parts.made);
            if !are_given || !numbers.is_sorted_by(|a, b| a < b) {
                return Err(corrupt("attributes of a composite type"));
            }
            of.kind = TypeKind::Composite(parts);
            return Ok(of);
        }
        4 => {
            let known = ExtensionTypeKind::ALL.into_iter().find(|known| Some(known.code()) == extension);
            of.kind = TypeKind::Extension(known.ok_or_else(|| corrupt("a type of no known extension"))?);
            return Ok(of);
        }
        _ => return Err(corrupt("unknown kind of type")),
    }
    let mut names: Vec<&str> = labels.iter().map(|label| label.name.as_str()).collect();
    names.sort_unstable();
    let ascend = labels.is_sorted_by(|a: &EnumLabel, b| a.key < b.key);
    if !ascend || !names.is_sorted_by(|a, b| a < b) {
        return Err(corrupt("labels of an enum"));
    }
    of.kind = TypeKind::Enum(labels);
    Ok(of)
}

fn decode_attribute(bytes: &[u8], types: &Types) -> Result<Attribute> {
    let mut attribute = Attribute { name: String::new(), data_type: DataType::Unknown, number: 0 };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => attribute.name = codec::text(value)?,
            2 => attribute.number = codec::number(value)?,
            3 => attribute.data_type = codec::data_type(value, types)?,
            _ => {}
        }
    }
    match attribute.data_type {
        DataType::Unknown => Err(corrupt("an attribute without a type")),
        _ => Ok(attribute),
    }
}

fn decode_label(bytes: &[u8]) -> Result<EnumLabel> {
    let mut label = EnumLabel { key: 0, oid: 0, name: String::new() };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => label.key = codec::signed(value)?,
            2 => label.oid = codec::number(value)?,
            3 => label.name = codec::text(value)?,
            _ => {}
        }
    }
    Ok(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mood() -> UserType {
        let label = |key, name: &str| EnumLabel { key, oid: 16390, name: name.to_owned() };
        let mut of = UserType {
            id: ObjectId(5),
            schema: ObjectId(3),
            name: "mood".to_owned(),
            array_id: ObjectId(6),
            kind: TypeKind::Enum(vec![label(-9, "sad"), label(0, ""), label(1 << 40, "happy")]),
            change: 5,
            data_type: DataType::Unknown,
        };
        of.resolve("a B").unwrap();
        of
    }

    #[test]
    fn a_type_comes_back_as_it_was() {
        let of = mood();
        assert_eq!(of.data_type.type_name(), "\"a B\".mood");
        assert_eq!(type_id(of.data_type), Some(of.id));
        assert_eq!(type_id(of.data_type.array().unwrap()), Some(of.id));
        let mut back = decode_user_type(of.id, &encode_user_type(&of, 5), &Types::default()).unwrap();
        back.resolve("a B").unwrap();
        assert_eq!(format!("{back:?}"), format!("{of:?}"));
    }

    #[test]
    fn a_type_of_an_extension_comes_back_and_takes_a_library_that_knows_it() {
        let mut of = UserType { kind: TypeKind::Extension(ExtensionTypeKind::Citext), ..mood() };
        of.name = "citext".to_owned();
        of.resolve("a B").unwrap();
        assert_eq!((of.data_type.type_name(), type_id(of.data_type)), ("\"a B\".citext", Some(of.id)));
        let bytes = encode_user_type(&of, 5);
        assert_eq!(bytes[0], Version::ExtensionTypes as u8);
        let mut back = decode_user_type(of.id, &bytes, &Types::default()).unwrap();
        back.resolve("a B").unwrap();
        assert_eq!(format!("{back:?}"), format!("{of:?}"));
    }

    #[test]
    fn damaged_entries_are_errors_or_other_types_but_never_panics() {
        let bytes = encode_user_type(&mood(), 5);
        let mut refused = 0;
        for at in 0..bytes.len() {
            let _ = decode_user_type(ObjectId(5), &bytes[..at], &Types::default());
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                refused += u32::from(decode_user_type(ObjectId(5), &flipped, &Types::default()).is_err());
            }
        }
        assert!(refused > 0, "some flips must be noticed");
    }
}
