//! Operator classes: what the items of a value are, and which operators can be asked by them.

use crate::types::DataType;

/// What the items of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemClass {
    /// `array_ops`: an array's elements.
    Array,
    /// `jsonb_ops`: a document's keys, and its values wherever they stand.
    Jsonb,
    /// `jsonb_path_ops`: a document's values, each with the keys that lead to it.
    JsonbPath,
}

/// What an inverted index can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemOperator {
    /// `@>`
    Contains,
    /// `<@`
    ContainedBy,
    /// `&&`
    Overlaps,
    /// `=`
    Equal,
    /// `?`
    Exists,
    /// `?|`
    ExistsAny,
    /// `?&`
    ExistsAll,
    /// `@?`
    PathExists,
    /// `@@`
    PathMatches,
}

impl ItemClass {
    pub(crate) const ALL: [ItemClass; 3] = [ItemClass::Array, ItemClass::Jsonb, ItemClass::JsonbPath];

    /// The one that is taken where none is named.
    pub(crate) fn default_of(data_type: DataType) -> Option<ItemClass> {
        ItemClass::ALL.into_iter().find(|class| class.accepts(data_type))
    }

    pub(crate) fn named(name: &str) -> Option<ItemClass> {
        ItemClass::ALL.into_iter().find(|class| class.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            ItemClass::Array => "array_ops",
            ItemClass::Jsonb => "jsonb_ops",
            ItemClass::JsonbPath => "jsonb_path_ops",
        }
    }

    /// As the catalog keeps it.
    pub(crate) fn code(self) -> u64 {
        match self {
            ItemClass::Array => 1,
            ItemClass::Jsonb => 2,
            ItemClass::JsonbPath => 3,
        }
    }

    pub(crate) fn of_code(code: u64) -> Option<ItemClass> {
        ItemClass::ALL.into_iter().find(|class| class.code() == code)
    }

    pub(crate) fn accepts(self, data_type: DataType) -> bool {
        match self {
            ItemClass::Array => data_type.is_array(),
            ItemClass::Jsonb | ItemClass::JsonbPath => data_type == DataType::Jsonb,
        }
    }

    /// Its operator of this symbol.
    pub(crate) fn operator(self, symbol: &str) -> Option<ItemOperator> {
        use ItemOperator as O;
        Some(match (self, symbol) {
            (_, "@>") => O::Contains,
            (ItemClass::Array, "<@") => O::ContainedBy,
            (ItemClass::Array, "&&") => O::Overlaps,
            (ItemClass::Array, "=") => O::Equal,
            (ItemClass::Jsonb, "?") => O::Exists,
            (ItemClass::Jsonb, "?|") => O::ExistsAny,
            (ItemClass::Jsonb, "?&") => O::ExistsAll,
            (ItemClass::Jsonb | ItemClass::JsonbPath, "@?") => O::PathExists,
            (ItemClass::Jsonb | ItemClass::JsonbPath, "@@") => O::PathMatches,
            _ => return None,
        })
    }
}

impl ItemOperator {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            ItemOperator::Contains => "@>",
            ItemOperator::ContainedBy => "<@",
            ItemOperator::Overlaps => "&&",
            ItemOperator::Equal => "=",
            ItemOperator::Exists => "?",
            ItemOperator::ExistsAny => "?|",
            ItemOperator::ExistsAll => "?&",
            ItemOperator::PathExists => "@?",
            ItemOperator::PathMatches => "@@",
        }
    }
}

/// The symbol of the operator that says the same with its sides exchanged.
pub(crate) fn commuted(symbol: &str) -> Option<&'static str> {
    match symbol {
        "@>" => Some("<@"),
        "<@" => Some("@>"),
        "&&" => Some("&&"),
        "=" => Some("="),
        _ => None,
    }
}
