//! Rust's values as parameters of statements, and SQL's values as Rust's: the traits, and the types of other crates that are both.

mod array;
mod convert;
mod fit;
mod foreign;
mod params;

pub use array::ArrayElement;
pub use convert::FromValue;
pub(crate) use fit::{check_count, collect, fit};
pub use params::{Params, ToValue};
