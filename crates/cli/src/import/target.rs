//! The new database of an import: there when all is in it, and else not.

use std::path::Path;
use std::process::ExitCode;

use cairndb::{Connection, Options};

use super::report::Report;
use crate::report::Failure;
use crate::shell::open_file;

/// SQLSTATE-less failure where there is something already.
pub fn refuse_existing(into: &Path) -> Result<(), Failure> {
    match into.metadata().is_ok_and(|found| found.len() > 0) {
        true => {
            let message = format!("{}: exists already; an import makes a new database", into.display());
            Err(Failure::Message(message))
        }
        false => Ok(()),
    }
}

/// Makes the database `into` by `import`, and tells what came of it.
pub fn make(
    from: &Path,
    into: &Path,
    import: impl FnOnce(&Connection) -> Result<Report, Failure>,
) -> Result<ExitCode, Failure> {
    let existed = into.exists();
    let imported = open_file(into, Options::default()).and_then(|database| {
        let report = import(&database.connect()?)?;
        database.close()?;
        Ok(report)
    });
    match imported {
        Ok(report) => {
            let size = crate::maintenance::size(into)?;
            let mut lines = vec![format!("{} imported into {} ({size})", from.display(), into.display())];
            lines.extend(report.lines());
            crate::maintenance::tell(&lines, report.is_complete())
        }
        Err(failure) => {
            if !existed {
                // Half a database is none. Its log goes with it.
                let mut log = into.as_os_str().to_owned();
                log.push("-log");
                let _ = std::fs::remove_file(log);
                let _ = std::fs::remove_file(into);
            }
            Err(failure)
        }
    }
}
