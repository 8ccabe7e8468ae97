//! `numeric`: arbitrary-precision decimals with PostgreSQL's scales, limits and special values.

mod arith;
mod bytes;
mod math;
mod repr;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use arith::division_by_zero;
pub use repr::{Numeric, SCALE_MAX};
