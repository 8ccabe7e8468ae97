//! Expressions over batches: compiled once per execution, evaluated a batch at a time.

#[cfg(test)]
mod alike;
mod arithmetic;
mod branch;
mod comparison;
mod compile;
mod convert;
mod decimal;
mod evaluator;
mod in_list;
mod integer_limits;
mod logic;
mod native;
mod rebind;
mod subplan;
#[cfg(test)]
mod tests;

pub(crate) use compile::{compile, compile_all, unify_keys};
pub(crate) use evaluator::{Evaluator, Frame};
pub(crate) use integer_limits::IntegerLimits;
pub(crate) use rebind::rebind_all;
