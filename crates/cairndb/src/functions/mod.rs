//! Scalar functions and operators over [`Value`](crate::types::Value)s, and the catalogue from which binding chooses
//! overloads.

mod aggregate;
mod arithmetic;
pub mod arrays;
mod beginning;
mod bits;
mod calls;
mod catalogue;
mod citext;
mod clock;
mod comparison;
pub mod composite;
mod cost;
mod counters;
mod crypt;
mod digest;
mod encoding;
mod enums;
pub(crate) mod extensions;
mod extract;
mod formatting;
pub(crate) mod hstore;
mod in_range;
mod intarray;
pub mod json;
mod kept;
mod like;
pub(crate) mod matching;
mod math;
mod nearest;
mod network;
mod of_catalog;
mod operator;
mod overlaps;
pub(crate) mod own_rows;
#[cfg(test)]
mod postgresql15;
mod quoting;
mod random;
pub(crate) mod regex;
mod register;
mod routine;
mod rows;
pub mod sample;
mod series;
mod signature;
mod special;
mod strings;
mod support;
mod system;
mod tablefunc;
mod temporal;
#[cfg(test)]
mod tests;
mod trigger;
mod trigrams;
mod unaccent;
pub mod users;
mod volatility;
mod window;

pub use crate::types::{EvalContext, cast};
pub(crate) use aggregate::StoredAggregate;
pub use aggregate::{Hypothetical, PlacedBy};
pub(crate) use beginning::{Matched, PatternKind, after};
pub(crate) use calls::{Caller, Calls};
pub use catalogue::{
    ANY, Accumulator, Aggregate, AggregateKind, Function, aggregate_overloads, exact_overload, function_names,
    overloads,
};
pub(crate) use catalogue::{Checked, OF_DOMAIN, Parameter, of_information_schema};
pub(crate) use cost::Cost;
pub(crate) use counters::Tally;
pub use in_range::{Distance, in_range_offsets, invalid_size};
pub(crate) use nearest::{Nearest, Nearness, nearness};
pub(crate) use of_catalog::Asks;
pub use operator::Operator;
pub(crate) use quoting::quote_literal;
use register::register_all;
pub(crate) use routine::{
    AggregateParts, Callee, Language, OfDomain, ParameterMode, Returns, Routine, RoutineKind, RoutineParameter,
};
pub use rows::SetRows;
pub(crate) use rows::{rows_of_array, unnest_side_by_side};
pub use series::Series;
pub use signature::{Decided, Declared, decide};
pub use special::Special;
pub(crate) use strings::{characters, substring_bounds};
pub(crate) use support::no_array_type;
pub(crate) use system::{DATABASE_NAME, database_oid};
pub(crate) use trigger::{Firing, TriggerCall, TriggerEvent, TriggerRunner};
pub use users::{AggregateFunction, Arguments, FunctionOptions};
pub(crate) use volatility::{Parallel, Volatility};
pub use window::{WindowFunction, WindowKind, window_names, window_overloads};
