//! A table or a query into CSV: a COPY of the database's, into a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use cairndb::{Connection, SqlState};

use super::command::{Copy, Direction};
use crate::report::Failure;

/// Writes the rows to the command's file, or to `own_output`; the number of rows.
pub fn export(connection: &Connection, copy: &Copy, own_output: &mut dyn Write) -> Result<u64, Failure> {
    let statement = copy.statement(Direction::To);
    let Some(path) = &copy.file else { return copy_out(connection, &statement, own_output) };
    let file = File::create(path).map_err(|error| Failure::file(path, &error))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let count = copy_out(connection, &statement, &mut out)?;
    out.flush().map_err(|error| Failure::file(path, &error))?;
    Ok(count)
}

/// Runs a COPY TO STDOUT; the number of rows.
pub fn copy_out(connection: &Connection, statement: &str, out: &mut dyn Write) -> Result<u64, Failure> {
    let mut out = Noting::new(out);
    let done = connection.copy_out(statement, &mut out);
    done.map_err(|error| match out.into_failed() {
        // That nobody reads any more is no fault of the statement's.
        Some(failed) if error.sqlstate() == SqlState::IO_ERROR => failed.into(),
        _ => Failure::sql(error, statement),
    })
}

/// Remembers why it could not be written to.
pub struct Noting<'o> {
    out: &'o mut dyn Write,
    failed: Option<io::Error>,
}

impl<'o> Noting<'o> {
    pub fn new(out: &'o mut dyn Write) -> Noting<'o> {
        Noting { out, failed: None }
    }

    /// Why not.
    pub fn into_failed(self) -> Option<io::Error> {
        self.failed
    }
}

impl Write for Noting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).map_err(|error| {
            let kind = error.kind();
            self.failed = Some(error);
            kind.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
