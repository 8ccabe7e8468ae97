//! Schema objects as catalog entries, by kind. The bytes are part of the file's format.

mod column;
mod constraint;
mod definition;
mod extension;
mod index;
mod sequence;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod view;

pub(super) use constraint::{decode_check, encode_check};
pub(super) use definition::{decode_known_column, decode_references, encode_definition};
pub(super) use extension::{decode_extension, encode_extension};
pub(super) use sequence::{decode_sequence, encode_sequence};
pub(crate) use table::encode_described;
pub(super) use table::{decode_table, encode_table};
pub(super) use text::{decode_text, encode_text};
pub(super) use view::{decode_view, encode_view};
