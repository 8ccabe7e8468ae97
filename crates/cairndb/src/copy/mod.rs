//! COPY's formats, text, CSV and binary: bytes to records and values to bytes, the same for clients, scripts and the shell.

mod binary;
mod format;
mod reader;
mod writer;

pub(crate) use binary::{Tuples, write_header, write_trailer, write_tuple};
pub(crate) use format::{Format, Header};
pub(crate) use reader::{Bad, Records};
pub(crate) use writer::Writer;
