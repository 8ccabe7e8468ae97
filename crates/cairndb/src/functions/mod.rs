//! Scalar functions and operators over [`Value`](crate::types::Value)s, and the catalogue from which binding chooses
//! overloads.

mod aggregate;
mod arithmetic;
mod catalogue;
mod comparison;
mod operator;
mod register;
mod support;
mod temporal;

pub use crate::types::{EvalContext, cast, cast_assign};
pub use aggregate::NumericSum;
pub use catalogue::{
    ANY, Accumulator, Aggregate, AggregateKind, Function, aggregate_overloads, exact_overload, function_names,
    overloads,
};
pub use operator::Operator;
use register::register_all;
