//! `numeric`: arbitrary-precision decimals with PostgreSQL's scales, limits and special values.

mod repr;

pub use repr::{Numeric, SCALE_MAX};
