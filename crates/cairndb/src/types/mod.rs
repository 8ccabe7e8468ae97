//! SQL types and values, their text forms, comparison, casts, and their bytes in rows and keys.

mod data_type;
mod value;

pub use data_type::DataType;
pub use value::{Interval, Numeric, Value};
