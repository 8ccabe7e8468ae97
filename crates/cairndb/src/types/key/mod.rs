//! Ordered keys: encodings whose order as bytes is the order of the values, self-delimiting, for trees of rows and
//! indexes. These bytes are part of the file format.
//!
//! | type | bytes |
//! |---|---|
//! | NULL | `00` where NULLs come first, `ff` where last (never inverted) |
//! | boolean, integers of all widths, date, time, timestamp, timestamptz, enums (their keys) | 0 to 127: `20 + n`; larger: `a0 + c`, then the `c` significant bytes, big endian; negative: `18 - c`, then the low `c` bytes of the two's complement |
//! | real, double precision | `20`, then the bits, big endian: sign bit set where positive, all inverted where negative; one zero, one NaN (greatest) |
//! | numeric | `-Infinity 08`, negative `10`, zero `18`, positive `20`, `Infinity 28`, `NaN 30`; then the power of 100 of the value as an integer above, then pairs of decimal digits: `2d + 1`, the last one `2d`; all bytes after the first inverted where negative |
//! | text, varchar, char (without its trailing blanks) | each byte plus one, but `00` as `02 01` and `01` as `02 02`; then `01` |
//! | bytea | `20`, bytes with `00` as `00 ff`, then `00 00` |
//! | interval | `20`, then its span in microseconds (a month is 30 days) as a 16-byte big-endian integer, sign bit inverted |
//! | uuid | `20`, then the 16 bytes |
//! | inet, cidr | `24` (IPv4) or `26` (IPv6), then the network's address (4 or 16 bytes), how many bits say the network, and where those are not all the address itself |
//! | macaddr, macaddr8 | `20`, then the 6 or 8 bytes |
//! | jsonb | `21` for `[]`; within: null `22`, string `23` and its text as above, number `24` and its numeric as above, false `25`, true `26`, array `27`, count, elements, object `28`, count, keys (texts) each before its value; counts are integers above |
//! | arrays | `20`, then the elements, each as in a column of its type with NULLs last; `00`; the number of dimensions, their lengths and their lower bounds as integers above |
//!
//! Descending columns have every byte inverted, except NULL's. Equal values have equal bytes, so where equal values can
//! look different (`1.0` and `1.00`, `-0` and `0`, `1 month` and `30 days`) the key does not tell the value:
//! [`is_decodable`] is false, and the row keeps the column too.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub(crate) use decode::IntegerStart;
pub use decode::{decode_integer, decode_value, is_decodable, is_integer, is_null, skip_value};
pub(crate) use encode::encode_integer;
pub use encode::{encode_ref, encode_text_prefix, encode_value, prefix_end};

const NULL_FIRST: u8 = 0x00;
const NULL_LAST: u8 = 0xff;
/// Opens the encodings of types that need no other header.
const PLAIN: u8 = 0x20;
/// Integers: `INT_SMALL + n` for 0 to 127.
const INT_SMALL: u8 = 0x20;
/// Integers: `INT_LARGE + count` of bytes.
const INT_LARGE: u8 = 0xa0;
/// Negative integers: `INT_NEGATIVE - count` of bytes.
const INT_NEGATIVE: u8 = 0x18;

const NUMERIC_NEGATIVE_INFINITY: u8 = 0x08;
const NUMERIC_NEGATIVE: u8 = 0x10;
const NUMERIC_ZERO: u8 = 0x18;
const NUMERIC_POSITIVE: u8 = 0x20;
const NUMERIC_INFINITY: u8 = 0x28;
const NUMERIC_NAN: u8 = 0x30;

const TEXT_END: u8 = 0x01;
const TEXT_ESCAPE: u8 = 0x02;
const BYTES_ESCAPED_ZERO: u8 = 0xff;
/// Less than what any element begins with.
const ARRAY_END: u8 = 0x00;
