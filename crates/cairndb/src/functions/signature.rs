//! What a function takes and gives: types, or pseudo-types that binding decides by the arguments, as PostgreSQL does.

use crate::types::{CastContext, DataType, ExtensionTypeKind, can_cast, common_type};

/// A declared argument or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// This type.
    Type(DataType),
    /// `"any"`: as it is, each on its own.
    Any,
    /// Any type that is no array.
    NonArray,
    /// `anynonarray`: an `anyelement` that is no array.
    PlainElement,
    /// `anyelement`: any type, the same for each.
    Element,
    /// `anyarray`: an array of the `anyelement`.
    Array,
    /// `anyenum`: an enum, the same for each.
    Enum,
    /// The type of an extension, wherever that is: the same for each.
    Extension(ExtensionTypeKind),
    /// `record`: any composite type, each on its own.
    Record,
    /// `anycompatible`: types that have one in common, to which they are converted.
    Compatible,
    /// `anycompatiblearray`: an array of the `anycompatible`.
    CompatibleArray,
    /// `anycompatiblenonarray`: an `anycompatible` that is no array.
    PlainCompatible,
}

/// The pseudo-types that functions of the schema's may have, with their names, their oids, and their numbers in its entries.
const PSEUDO: [(Declared, &str, u32); 7] = [
    (Declared::Element, "anyelement", 2283),
    (Declared::Array, "anyarray", 2277),
    (Declared::PlainElement, "anynonarray", 2776),
    (Declared::Enum, "anyenum", 3500),
    (Declared::Compatible, "anycompatible", 5077),
    (Declared::CompatibleArray, "anycompatiblearray", 5078),
    (Declared::PlainCompatible, "anycompatiblenonarray", 5079),
];

/// What the pseudo-types stand for in a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decided {
    element: Option<DataType>,
    compatible: Option<DataType>,
    /// The type of the extension. (No function has those of several.)
    extension: Option<DataType>,
    /// The arrays given are all of this type, which is not the one of arrays of its elements: `int2vector`.
    vector: Option<DataType>,
}

impl Declared {
    /// The type it takes whatever the others are.
    pub fn fixed(self) -> Option<DataType> {
        match self {
            Declared::Type(data_type) => Some(data_type),
            _ => None,
        }
    }

    /// Those that functions of the schema's may have.
    pub(crate) fn pseudo_types() -> impl Iterator<Item = Declared> {
        PSEUDO.iter().map(|(declared, ..)| *declared)
    }

    /// The pseudo-type of this name that functions of the schema's may have.
    pub(crate) fn named(name: &str) -> Option<Declared> {
        PSEUDO.iter().find(|(_, known, _)| *known == name).map(|(declared, ..)| *declared)
    }

    /// That of this number in their entries, from 1.
    pub(crate) fn numbered(number: usize) -> Option<Declared> {
        PSEUDO.get(number.checked_sub(1)?).map(|(declared, ..)| *declared)
    }

    /// Its number in their entries; 0: it is none of those.
    pub(crate) fn number(self) -> u64 {
        PSEUDO.iter().zip(1..).find(|((known, ..), _)| *known == self).map_or(0, |(_, number)| number)
    }

    /// As PostgreSQL names it.
    pub(crate) fn type_name(self) -> &'static str {
        let pseudo = || PSEUDO.iter().find(|(known, ..)| *known == self).map(|(_, name, _)| *name);
        match self {
            Declared::Type(DataType::Unknown) | Declared::Any => "any",
            Declared::Type(data_type) => data_type.type_name(),
            Declared::NonArray => "anynonarray",
            Declared::Record => "record",
            Declared::Extension(kind) => kind.name(),
            _ => pseudo().unwrap_or("any"),
        }
    }

    /// Its oid in PostgreSQL's catalog.
    pub(crate) fn oid(self) -> u32 {
        match self {
            Declared::Type(DataType::Unknown) | Declared::Any => 2276,
            Declared::Type(data_type) => data_type.oid(),
            Declared::Record => 2249,
            _ => PSEUDO.iter().find(|(known, ..)| *known == self).map_or(0, |(.., oid)| *oid),
        }
    }

    /// What has this oid there, as far as there are values of it.
    pub(crate) fn of_oid(oid: i64) -> Option<Declared> {
        let oid = u32::try_from(oid).ok()?;
        let pseudo = || PSEUDO.iter().find(|(.., known)| *known == oid).map(|(declared, ..)| *declared);
        match oid {
            2276 => Some(Declared::Any),
            2249 => Some(Declared::Record),
            _ => pseudo().or_else(|| DataType::of_oid(oid).map(Declared::Type)),
        }
    }

    /// Whether it is one of those that are all of one type.
    pub(crate) fn is_of_element(self) -> bool {
        matches!(self, Declared::Element | Declared::PlainElement | Declared::Array | Declared::Enum)
    }

    /// What each element of such an array is.
    pub(crate) fn element(self) -> Option<Declared> {
        match self {
            Declared::Type(data_type) => data_type.element().map(|element| Declared::Type(element.base())),
            Declared::Array => Some(Declared::Element),
            Declared::CompatibleArray => Some(Declared::Compatible),
            _ => None,
        }
    }

    /// As `resolved`, of an argument: an untyped literal beside vectors is read as one of them.
    pub(crate) fn resolved_argument(self, decided: Decided) -> Option<DataType> {
        match self {
            Declared::Array => decided.vector.or_else(|| self.resolved(decided)),
            _ => self.resolved(decided),
        }
    }

    /// The type in a call; `None`: any, or nothing decides it.
    pub fn resolved(self, decided: Decided) -> Option<DataType> {
        match self {
            Declared::Type(data_type) => Some(data_type),
            Declared::Any | Declared::NonArray | Declared::Record => None,
            Declared::Element | Declared::PlainElement | Declared::Enum => decided.element,
            Declared::Array => decided.element?.array(),
            Declared::Extension(_) => decided.extension,
            Declared::Compatible | Declared::PlainCompatible => decided.compatible,
            Declared::CompatibleArray => decided.compatible?.array(),
        }
    }
}

/// What the pseudo-types stand for where arguments of these types are given; `None`: they do not fit each other.
pub fn decide(declared: impl Iterator<Item = (Declared, DataType)> + Clone) -> Option<Decided> {
    let (mut element, mut extension) = (None, None);
    let mut same = |data_type: DataType| *element.get_or_insert(data_type) == data_type;
    let (mut compatible, mut arrays) = (vec![], vec![]);
    for (declared, given) in declared {
        let (given, unknown) = (given.base(), given == DataType::Unknown);
        let fits = match declared {
            _ if unknown => true,
            Declared::NonArray => !given.is_array(),
            Declared::Element => same(given),
            Declared::PlainElement => !given.is_array() && same(given),
            Declared::Enum => matches!(given, DataType::Enum(_)) && same(given),
            Declared::Extension(kind) => given.is_of_extension(kind) && *extension.get_or_insert(given) == given,
            Declared::Record => matches!(given, DataType::Composite(_)),
            Declared::Array => {
                arrays.push(given);
                given.element().is_some_and(&mut same)
            }
            Declared::PlainCompatible if given.is_array() => false,
            Declared::Compatible | Declared::PlainCompatible => {
                compatible.push(given);
                true
            }
            Declared::CompatibleArray => given.element().map(|element| compatible.push(element)).is_some(),
            Declared::Type(_) | Declared::Any => true,
        };
        if !fits {
            return None;
        }
    }
    let compatible = match compatible.as_slice() {
        [] => None,
        types => {
            let common = common_type(types).ok()?;
            let fits = |given: &DataType| can_cast(*given, common, CastContext::Implicit);
            Some(types.iter().all(fits).then_some(common)?)
        }
    };
    let vector = arrays.first().copied().filter(|of| of.is_vector() && arrays.iter().all(|array| array == of));
    Some(Decided { element, compatible, extension, vector })
}

impl Decided {
    /// The type of an extension, where nothing else says which one it is.
    pub(crate) fn or_extension(self, made: Option<DataType>) -> Decided {
        Decided { extension: self.extension.or(made), ..self }
    }

    /// Untyped literals are text where nothing else decides.
    pub fn or_text(self) -> Decided {
        Decided { compatible: self.compatible.or(Some(DataType::Text)), ..self }
    }
}
