//! `numeric`: arbitrary-precision decimals with PostgreSQL's scales, limits and special values.

mod arith;
mod bytes;
mod lent;
mod math;
mod repr;
mod residue;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use arith::division_by_zero;
pub use lent::NumericRef;
pub use repr::{Numeric, SCALE_MAX};
pub(crate) use residue::Residues;
pub(crate) use text::plain_decimal;
