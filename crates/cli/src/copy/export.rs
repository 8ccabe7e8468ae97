//! A table or a query out: a COPY of the database's, into a file or a program.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::Stdio;

use cairndb::{Connection, SqlState};

use super::command::Copy;
use crate::report::Failure;
use crate::system::command;

/// Bytes that are written at a time.
const WRITE_BYTES: usize = 1 << 20;

/// Writes the rows to a file; the number of rows. A file that is there stays as it is where there is nothing to write: where the statement fails at
/// its beginning.
pub fn export(connection: &Connection, copy: &Copy, path: &Path) -> Result<u64, Failure> {
    let mut out = BufWriter::with_capacity(WRITE_BYTES, Target { path, file: None });
    let done = copy_out(connection, &copy.statement(), &mut out);
    let told = |error: io::Error| Failure::file(path, &error);
    match done {
        Ok(count) => {
            out.flush().map_err(told)?;
            out.get_mut().made().map_err(told)?;
            Ok(count)
        }
        Err(failure) => {
            // (What waits to be written is no file's any more.)
            drop(out.into_parts());
            Err(failure)
        }
    }
}

/// Lets a program have the rows; their number. It is waited for, and an error where it does not end well.
pub fn export_program(connection: &Connection, copy: &Copy, program: &str) -> Result<u64, Failure> {
    let failed = |what: String| Failure::Message(format!("program \"{program}\" failed: {what}"));
    let child = command(program).stdin(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| failed(error.to_string()))?;
    let done = match child.stdin.take() {
        Some(input) => {
            let mut out = BufWriter::with_capacity(WRITE_BYTES, input);
            let done = copy_out(connection, &copy.statement(), &mut out);
            done.and_then(|count| Ok(out.flush().map(|()| count)?))
        }
        None => Err(failed("it reads nothing".to_owned())),
    };
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    match (done, status.success()) {
        // What it does not read it need not: `head` is such a program.
        (Ok(_) | Err(Failure::BrokenPipe), false) => Err(failed(status.to_string())),
        (Err(Failure::BrokenPipe), true) => Err(failed("it did not read to the end".to_owned())),
        (done, _) => done,
    }
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

/// A file that is made when it is written to.
struct Target<'p> {
    path: &'p Path,
    file: Option<File>,
}

impl Target<'_> {
    fn made(&mut self) -> io::Result<&mut File> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => Ok(none.insert(File::create(self.path)?)),
        }
    }
}

impl Write for Target<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.made()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
