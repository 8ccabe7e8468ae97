//! `\copy` between a table and bytes that are no file.

use std::io::{Read, Write};

use cairndb::Connection;

use super::command::Copy;
use super::export::copy_out;
use super::import::copy_in;
use crate::report::Failure;

/// Reads what the bytes hold into the table that the arguments of a `\copy ... from ...` name, as the shell does; the number of rows.
/// The file they name is not opened.
pub fn copy_from(connection: &Connection, arguments: &str, bytes: impl Read) -> Result<u64, Failure> {
    let copy = Copy::parse(arguments).map_err(Failure::Message)?;
    copy_in(connection, &copy, bytes)
}

/// Writes what the arguments of a `\copy ... to ...` name, as the shell does; the number of rows.
pub fn copy_to(connection: &Connection, arguments: &str, out: &mut dyn Write) -> Result<u64, Failure> {
    let copy = Copy::parse(arguments).map_err(Failure::Message)?;
    copy_out(connection, &copy.statement(), out)
}
