//! COPY's formats, text and CSV: bytes to records and values to bytes, the same for clients, scripts and the shell.

mod format;
mod reader;
mod writer;

pub(crate) use format::{Format, Header};
pub(crate) use reader::{Bad, Records};
pub(crate) use writer::write_row;
