//! Scalar functions and operators over [`Value`](crate::types::Value)s, and the catalogue from which binding chooses
//! overloads.

mod aggregate;
mod arithmetic;
mod catalogue;
mod clock;
mod comparison;
mod extract;
mod formatting;
mod like;
mod math;
mod md5;
mod operator;
mod quoting;
mod random;
mod regex;
mod register;
mod series;
mod strings;
mod support;
mod system;
mod temporal;
#[cfg(test)]
mod tests;

pub use crate::types::{EvalContext, cast, cast_assign};
pub use aggregate::NumericSum;
pub use catalogue::{
    ANY, Accumulator, Aggregate, AggregateKind, Function, aggregate_overloads, exact_overload, function_names,
    overloads,
};
pub use like::{LikePattern, escape_char};
pub use operator::Operator;
pub use quoting::{quote_ident, quote_literal};
use register::register_all;
pub use series::{Series, SeriesForm, series_forms};
