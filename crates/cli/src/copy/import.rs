//! Data into a table: a COPY of the database's, which gets what a file holds or a program writes. All of it or nothing.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Stdio};

use cairndb::{Connection, SqlState};
use indicatif::ProgressBar;

use super::command::Copy;
use crate::progress;
use crate::report::Failure;
use crate::system::command;

/// Reads the file into the table; the number of rows.
pub fn import(connection: &Connection, copy: &Copy, path: &Path) -> Result<u64, Failure> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let bar = progress::bytes(file.metadata().map_or(0, |metadata| metadata.len()));
    let rows = copy_in(connection, copy, Counted { file, bar: &bar });
    bar.finish_and_clear();
    rows
}

/// Reads what a program writes; the number of rows. Where it does not end well, there are none.
pub fn import_program(connection: &Connection, copy: &Copy, program: &str) -> Result<u64, Failure> {
    let child = command(program).stdout(Stdio::piped()).spawn();
    let child = child.map_err(|error| Failure::Message(format!("{program}: {error}")))?;
    let mut output = ProgramOutput { child, failed: None };
    let rows = copy_in(connection, copy, &mut output);
    match output.failed.take() {
        Some(failed) if rows.is_err() => Err(Failure::Message(format!("program \"{program}\" failed: {failed}"))),
        _ => rows,
    }
}

/// As [`import`], from bytes.
pub fn copy_in(connection: &Connection, copy: &Copy, input: impl Read) -> Result<u64, Failure> {
    let statement = copy.statement();
    connection.copy_in(&statement, input).map_err(|error| {
        let is_format = error.sqlstate() == SqlState::BAD_COPY_FILE_FORMAT && error.hint().is_none();
        Failure::sql(
            match is_format && copy.may_mean_csv() {
                true => error.with_hint("Without a format it is COPY's text, with tabs between columns: for CSV, add csv, and header where the first line has names."),
                false => error,
            },
            &statement,
        )
    })
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

/// What a program writes, whose end is its own: it is waited for, and an error where it did not end well.
struct ProgramOutput {
    child: Child,
    /// How it ended, where not well.
    failed: Option<String>,
}

impl Read for ProgramOutput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.child.stdout.as_mut().map_or(Ok(0), |output| output.read(buffer))?;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        let status = self.child.wait()?;
        match status.success() {
            true => Ok(0),
            false => {
                self.failed = Some(status.to_string());
                Err(io::Error::other(status.to_string()))
            }
        }
    }
}

impl Drop for ProgramOutput {
    fn drop(&mut self) {
        // Nobody reads what it still has to say.
        drop(self.child.stdout.take());
        let _ = self.child.wait();
    }
}
