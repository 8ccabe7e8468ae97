//! Opening and closing databases for the shell. A file that is not there is made when something is to be written.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use cairn_parser::TokenKind;
use cairndb::{Connection, Database, Error, Options, SqlState};
use indicatif::ProgressBar;

use super::foreign;
use super::statement::first_token;
use crate::progress;
use crate::report::{Failure, warn};

/// Opens the file, and says what it was when it cannot.
pub fn open_file(path: &Path, options: Options) -> Result<Database, Failure> {
    let bar = Arc::new(OnceLock::<ProgressBar>::new());
    let shown = bar.clone();
    let options = options.on_opening(move |progress| {
        shown.get_or_init(|| progress::opening(progress.log_bytes)).set_position(progress.applied_bytes);
    });
    let opened = Database::open_with(path, options.clone());
    if let Some(bar) = bar.get() {
        bar.finish_and_clear();
    }
    opened.map_err(|error| Failure::Sql {
        error: match foreign::hint(path).or_else(|| hint_to_read(path, options, &error)) {
            Some(hint) => error.with_hint(hint),
            None => error,
        },
        text: String::new(),
        context: Some(format!("opening {}", PathBuf::from(path).display())),
    })
}

/// What opens a file that can be read and not written: on read-only media, or somebody else's.
fn hint_to_read(path: &Path, options: Options, error: &Error) -> Option<String> {
    let is_of_the_system = [SqlState::UNDEFINED_FILE, SqlState::IO_ERROR].contains(&error.sqlstate());
    let is_refused = is_of_the_system && path.is_file();
    let is_read = is_refused && Database::open_with(path, options.read_only(true)).and_then(Database::close).is_ok();
    is_read.then(|| {
        "It can be read: cairn --read-only opens it, cairn backup copies it to where it can be written.".to_string()
    })
}

/// Opens the file that is there. One that is not is made when something is to be written: that somebody has mistyped a name leaves no file.
pub fn open_or_wait(path: &Path, options: Options) -> Result<(Database, Option<PathBuf>), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.symlink_metadata().is_ok() || !folder.is_dir() {
        return Ok((open_file(path, options)?, None));
    }
    Ok((Database::open_in_memory_with(options)?, Some(path.to_path_buf())))
}

/// A connection to a database, which answers `cairn backup` from now on; to one that stands for a file that is not made, one that writes nothing.
pub fn connected(database: &Database, is_unmade: bool) -> Result<Connection, Failure> {
    answer_backups(database);
    let connection = database.connect()?;
    if is_unmade {
        connection.execute("SET default_transaction_read_only = on", ())?;
    }
    Ok(connection)
}

/// Whether a statement can be one that writes nothing, by how it begins, and gives nothing that the file would give otherwise.
pub fn may_only_read(text: &str) -> bool {
    use TokenKind::{Explain, LeftParen, Select, Show, Table, Values, With};

    // What a session keeps would be lost with it.
    let text_lower = text.to_ascii_lowercase();
    if ["read_only", "set_config", "setseed", "advisory"].iter().any(|word| text_lower.contains(word)) {
        return false;
    }
    matches!(first_token(text), None | Some(Explain | LeftParen | Select | Show | Table | Values | With))
}

/// It may be open for long: `cairn backup` works meanwhile. Where it can not, it is who asks that has to know.
pub fn answer_backups(database: &Database) {
    let _ = database.answer_backups();
}

/// Closes a database; that its files are somewhere else by now is no error.
pub fn close(database: Database) -> Result<(), Failure> {
    if let Some(notice) = database.misplaced() {
        warn(&notice);
    }
    Ok(database.close()?)
}
