//! COPY's formats, text, CSV and binary: bytes to records and values to bytes, the same for clients, scripts and the shell.

mod binary;
mod decoded;
mod format;
mod lines;
mod marks;
mod records;
mod split;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use binary::{BadTuple, Tuples, write_header, write_trailer, write_tuple};
pub(crate) use decoded::Decoded;
pub(crate) use format::{Format, Header};
pub(crate) use lines::{Bad, Lines};
pub(crate) use records::{Force, Records, Texts};
pub(crate) use writer::Writer;
