//! A compiled schema.

use super::pattern::Pattern;
use crate::types::{Jsonb, Numeric};

/// Rules that name each other by their places; the first is the whole.
pub(super) struct Schema {
    pub(super) rules: Vec<Rule>,
}

/// Where a rule stands in its schema.
pub(super) type Place = usize;

/// A schema or a part of one that is one.
pub(super) enum Rule {
    /// `false`
    Never,
    /// All of them hold; `true` and `{}` have none.
    All(Vec<Keyword>),
}

/// What is counted.
#[derive(Clone, Copy)]
pub(super) enum Measure {
    Characters,
    Elements,
    Properties,
}

/// How a number lies to a limit.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    Minimum,
    ExclusiveMinimum,
    Maximum,
    ExclusiveMaximum,
}

/// Kinds of values; an integer is a number without a fraction.
#[derive(Clone, Copy, Default)]
pub(super) struct Types {
    pub(super) null: bool,
    pub(super) boolean: bool,
    pub(super) integer: bool,
    pub(super) number: bool,
    pub(super) string: bool,
    pub(super) array: bool,
    pub(super) object: bool,
}

/// What a schema says of some kind of value; of another kind it says nothing.
pub(super) enum Keyword {
    Type(Types),
    /// `enum`; `const` is one of one.
    Values(Vec<Jsonb>),
    Limit(Bound, Numeric),
    MultipleOf(Numeric),
    Least(Measure, u64),
    Most(Measure, u64),
    Matches(Pattern),
    /// `prefixItems` and `items` of the rest.
    Elements(Vec<Place>, Option<Place>),
    Contains {
        rule: Place,
        least: u64,
        most: Option<u64>,
    },
    Unique,
    Properties(Properties),
    /// `propertyNames`
    Names(Place),
    Required(Vec<String>),
    /// Of an object that has the key: what else it has.
    RequiredWith(String, Vec<String>),
    /// Of an object that has the key.
    DependentRule(String, Place),
    AllOf(Vec<Place>),
    AnyOf(Vec<Place>),
    OneOf(Vec<Place>),
    Not(Place),
    If {
        condition: Place,
        then: Option<Place>,
        otherwise: Option<Place>,
    },
    Reference(Place),
}

/// `properties`, `patternProperties`, and `additionalProperties` of the rest.
#[derive(Default)]
pub(super) struct Properties {
    /// By their names, in their order.
    pub(super) named: Vec<(String, Place)>,
    pub(super) matching: Vec<(Pattern, Place)>,
    pub(super) rest: Option<Place>,
}

impl Properties {
    pub(super) fn named(&self, name: &str) -> Option<Place> {
        let found = self.named.binary_search_by(|(known, _)| known.as_str().cmp(name));
        found.ok().map(|at| self.named[at].1)
    }
}
