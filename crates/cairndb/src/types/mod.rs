//! SQL types and values, their text forms, comparison, casts, and their bytes in rows and keys.

mod cast;
mod coercion;
mod compare;
mod context;
mod data_type;
pub mod datetime;
mod from_ast;
pub mod key;
mod numeric;
pub mod row;
#[cfg(test)]
pub(crate) mod testing;
mod text;
mod value;

pub use cast::{cast, cast_assign};
pub use coercion::{CastContext, can_cast, cast_context, cast_is_immutable};
pub use compare::{compare_blank_padded, compare_f64, float_hash_bits};
pub use context::EvalContext;
pub use data_type::{DataType, TypeCategory};
pub use numeric::Numeric;
pub use text::{from_text, to_text, write_text};
pub use value::{Interval, Value};
