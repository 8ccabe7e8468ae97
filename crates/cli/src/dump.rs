//! `cairn dump`: the database as a script that `cairn` and `psql` load, which is the library's.

use std::fs::File;
use std::io::{self, BufWriter, Write, stdout};
use std::path::Path;

use cairndb::{Database, DumpOptions, Options, SqlState};

use crate::copy::Noting;
use crate::maintenance::open_existing;
use crate::report::{Failure, warn};

/// Writes the script to `output`, or to standard output.
pub fn run(file: &Path, output: Option<&Path>, schema_only: bool) -> Result<(), Failure> {
    let database = open_existing(file, Options::default().read_only(true))?;
    match output {
        None => {
            let mut out = BufWriter::new(stdout().lock());
            write(&database, &mut out, schema_only)?;
            out.flush()?;
        }
        Some(path) => {
            let file = File::create_new(path).map_err(|error| Failure::file(path, &error))?;
            let mut out = BufWriter::new(Script { file, path });
            let written = write(&database, &mut out, schema_only).and_then(|()| {
                out.flush()?;
                out.get_ref().file.sync_all().map_err(|error| Failure::file(path, &error))
            });
            // Half a script is none; another's file that has the name by now stays.
            if written.is_err() && has_name(&out.get_ref().file, path) {
                let _ = std::fs::remove_file(path);
            }
            written?;
        }
    }
    Ok(database.close()?)
}

/// The script's file, whose errors say which it is.
struct Script<'p> {
    file: File,
    path: &'p Path,
}

impl Script<'_> {
    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}; the script is not kept", self.path.display()))
    }
}

impl Write for Script<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.named(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.named(error))
    }
}

/// Whether this is the file that is open.
#[cfg(unix)]
fn has_name(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (open, named) = (file.metadata(), std::fs::symlink_metadata(path));
    matches!((open, named), (Ok(open), Ok(named)) if (open.dev(), open.ino()) == (named.dev(), named.ino()))
}

/// An open file keeps its name there.
#[cfg(not(unix))]
fn has_name(_file: &File, _path: &Path) -> bool {
    true
}

/// Writes the script, and says on standard error of views what is wrong with those that are not in it.
fn write(database: &Database, out: &mut dyn Write, schema_only: bool) -> Result<(), Failure> {
    let mut options = DumpOptions::default();
    options.schema_only = schema_only;
    let mut out = Noting::new(out);
    let left_out = database.dump(&options, &mut out).map_err(|error| match out.into_failed() {
        // That nobody reads any more is no fault of the database's.
        Some(failed) if error.sqlstate() == SqlState::IO_ERROR => failed.into(),
        _ => Failure::from(error),
    })?;
    for left_out in left_out {
        let (view, message) = (&left_out.view, left_out.error.message());
        warn(format_args!("WARNING:  view {view} is left out of the dump: {message}"));
        warn("HINT:  Drop it, or make it anew with CREATE OR REPLACE VIEW; its query stands in the dump as a comment.");
    }
    Ok(())
}
