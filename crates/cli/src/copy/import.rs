//! CSV into a table: a COPY of the database's, which gets the file. All of it or nothing.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use cairndb::Connection;
use indicatif::ProgressBar;

use super::command::{Copy, Direction};
use crate::progress;
use crate::report::Failure;

/// Reads the file into the table; the number of rows.
pub fn import(connection: &Connection, copy: &Copy, path: &Path) -> Result<u64, Failure> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let bar = progress::bytes(file.metadata().map_or(0, |metadata| metadata.len()));
    let rows = import_from(connection, copy, Counted { file, bar: &bar });
    bar.finish_and_clear();
    rows
}

/// As [`import`], from bytes.
pub(super) fn import_from(connection: &Connection, copy: &Copy, input: impl Read) -> Result<u64, Failure> {
    Ok(connection.copy_in(&copy.statement(Direction::From), input)?)
}

/// Tells how much of it was read.
struct Counted<'b> {
    file: File,
    bar: &'b ProgressBar,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bar.inc(read as u64);
        Ok(read)
    }
}
