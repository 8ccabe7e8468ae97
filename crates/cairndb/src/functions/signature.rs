//! What a function takes and gives: types, or pseudo-types that binding decides by the arguments, as PostgreSQL does.

use crate::types::{CastContext, DataType, can_cast, common_type};

/// A declared argument or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// This type.
    Type(DataType),
    /// `"any"`: as it is, each on its own.
    Any,
    /// Any type that is no array.
    NonArray,
    /// `anyelement`: any type, the same for each.
    Element,
    /// `anyarray`: an array of the `anyelement`.
    Array,
    /// `anyenum`: an enum, the same for each.
    Enum,
    /// `record`: any composite type, each on its own.
    Record,
    /// `anycompatible`: types that have one in common, to which they are converted.
    Compatible,
    /// `anycompatiblearray`: an array of the `anycompatible`.
    CompatibleArray,
}

/// What the pseudo-types stand for in a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decided {
    element: Option<DataType>,
    compatible: Option<DataType>,
}

impl Declared {
    /// The type it takes whatever the others are.
    pub fn fixed(self) -> Option<DataType> {
        match self {
            Declared::Type(data_type) => Some(data_type),
            _ => None,
        }
    }

    /// The type in a call; `None`: any, or nothing decides it.
    pub fn resolved(self, decided: Decided) -> Option<DataType> {
        match self {
            Declared::Type(data_type) => Some(data_type),
            Declared::Any | Declared::NonArray | Declared::Record => None,
            Declared::Element | Declared::Enum => decided.element,
            Declared::Array => decided.element?.array(),
            Declared::Compatible => decided.compatible,
            Declared::CompatibleArray => decided.compatible?.array(),
        }
    }
}

/// What the pseudo-types stand for where arguments of these types are given; `None`: they do not fit each other.
pub fn decide(declared: impl Iterator<Item = (Declared, DataType)> + Clone) -> Option<Decided> {
    let mut element = None;
    let mut same = |data_type: DataType| *element.get_or_insert(data_type) == data_type;
    let mut compatible = vec![];
    for (declared, given) in declared {
        let (given, unknown) = (given.base(), given == DataType::Unknown);
        let fits = match declared {
            _ if unknown => true,
            Declared::NonArray => !given.is_array(),
            Declared::Element => same(given),
            Declared::Enum => matches!(given, DataType::Enum(_)) && same(given),
            Declared::Record => matches!(given, DataType::Composite(_)),
            Declared::Array => given.element().is_some_and(&mut same),
            Declared::Compatible => {
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
    Some(Decided { element, compatible })
}

impl Decided {
    /// Untyped literals are text where nothing else decides.
    pub fn or_text(self) -> Decided {
        Decided { compatible: self.compatible.or(Some(DataType::Text)), ..self }
    }
}
