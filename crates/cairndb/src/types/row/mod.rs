//! Rows as bytes, compact, with one column readable without the others. These bytes are part of the file format.
//!
//! ```text
//! header | widths | [null bitmap] | integers | other fixed-width columns | lengths of variable columns but the last | their bytes
//! ```
//!
//! - Header: bit 7 says that a null bitmap follows; bits 4 to 6 are the layout's version modulo 8; bits 0 to 3 are the
//!   width in bytes of the first integer, 0 where there is none.
//! - Widths of the other integers: four bits each, in column order, the lower half of a byte first.
//! - Null bitmap: one bit per column, lowest bit first, set where NULL; only in rows that have a NULL.
//! - Integers (`smallint`, `integer`, `bigint`, `date`, `time`, timestamps, the keys of enums) lie in column order as two's complement,
//!   little endian, in at least one byte and no more than their type has. Dates, times and enums are written in as few as they
//!   need; numbers above 127 (or below -128) with one to spare, so that most changes of a row fit where the old value lies.
//!   NULL takes none. Reading accepts any width.
//! - Other fixed-width columns lie in column order, little endian, unaligned; NULL keeps its width, zeroed. `boolean` one
//!   byte, `interval` months (4), days (4), microseconds (8), `uuid` its 16 bytes.
//! - Lengths are LEB128; a NULL's is 0. The last variable column ends where the row ends.
//! - Strings are UTF-8 (`char(n)` with its blanks), `bytea` and the addresses of cards themselves, an address of a network its family (4 or
//!   6), how many bits say the network, and its bytes, `numeric` as `Numeric::write_bytes` writes it, arrays as
//!   `types::array::bytes` says, composite values as `types::composite::bytes` does.
//!
//! Why widths are kept apart from the integers: the sum of up to fifteen of them is a few instructions on one word
//! (`Widths` in `integers`), so that every column is found without walking over those before it.
//!
//! Decoding accepts any bytes: what no encoder wrote is an error (XX001).

mod decode;
mod encode;
mod integers;
mod layout;
#[cfg(test)]
mod tests;

pub(super) use decode::decode_length;
pub use decode::decode_raw;
pub(crate) use decode::{integer_from_raw, interval_from_raw};
pub(crate) use encode::{RowValues, encode_value_raw, integer as integer_of};
pub(super) use encode::{encode_length, encode_plain};
pub(super) use integers::{bytes_needed, write as write_integer};
#[cfg(test)]
pub(crate) use layout::NoNulls;
pub use layout::RowLayout;
pub(crate) use layout::{ColumnBytes, IntegerPlace, Nulls, NullsOfRows};

use crate::Error;

/// Bit of the header that says that the row has NULLs.
const HAS_NULLS: u8 = 0x80;
/// The header without the first integer's width.
const HEADER_KIND: u8 = 0xf0;
/// How many versions of a layout can be told apart.
pub(crate) const VERSIONS: u32 = 8;

pub(crate) fn corrupted() -> Error {
    Error::damaged("a row's bytes are damaged")
}
