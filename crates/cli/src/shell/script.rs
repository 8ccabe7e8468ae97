//! Texts that nobody types: `-c`, `-f`, `\i` and standard input. The first failure ends them, unless told to go on.

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::Path;

use cairndb::{Error, SqlState};

use super::meta;
use super::session::Session;
use super::splitter::{Piece, Splitter};
use crate::report::Failure;

/// How a script ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Well,
    /// Something failed and was told on standard error.
    Failed,
    /// Nobody reads the output any more.
    BrokenPipe,
}

/// Runs the text of a `-c` argument.
pub fn run_text(session: &mut Session, text: &str, keep_going: bool) -> Ended {
    run_lines(session, text.as_bytes(), None, keep_going, 0)
}

/// Runs a file; `-` is standard input.
pub fn run_file(session: &mut Session, path: &Path, keep_going: bool) -> Ended {
    if path == Path::new("-") {
        return run_lines(session, stdin().lock(), Some("<stdin>"), keep_going, 0);
    }
    match open(path) {
        Ok(file) => run_lines(session, file, Some(&path.to_string_lossy()), keep_going, 0),
        Err(failure) => tell(&failure, None),
    }
}

/// Runs a file for `\i`, `depth` files deep.
pub fn include(session: &mut Session, path: &Path, depth: usize) -> Result<(), Failure> {
    let file = open(path)?;
    match run_lines(session, file, Some(&path.to_string_lossy()), false, depth) {
        Ended::Well => Ok(()),
        Ended::BrokenPipe => Err(Failure::BrokenPipe),
        Ended::Failed => Err(Failure::Told),
    }
}

fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    Ok(BufReader::new(file))
}

fn run_lines(
    session: &mut Session,
    mut input: impl BufRead,
    name: Option<&str>,
    keep_going: bool,
    depth: usize,
) -> Ended {
    let mut splitter = Splitter::default();
    let mut ended = Ended::Well;
    loop {
        let pieces = match read_line(&mut input, splitter.line() + 1) {
            Ok(Some(line)) => splitter.push_line(&line),
            Ok(None) => break,
            Err((failure, line)) => return tell(&failure, place(name, line).as_deref()),
        };
        for piece in pieces {
            match run_piece(session, &piece, name, depth) {
                Ended::Well => {}
                failed if keep_going && failed == Ended::Failed => ended = failed,
                failed => return failed,
            }
            if session.quitting() {
                return ended;
            }
        }
    }
    match splitter.finish().map(|piece| run_piece(session, &piece, name, depth)) {
        None | Some(Ended::Well) => ended,
        Some(failed) => failed,
    }
}

fn run_piece(session: &mut Session, piece: &Piece, name: Option<&str>, depth: usize) -> Ended {
    let (result, line) = match piece {
        Piece::Statement { text, line } => (session.execute(text), *line),
        Piece::Command { text, line } => (meta::run(session, text, depth), *line),
    };
    match result {
        Ok(()) => Ended::Well,
        Err(failure) => tell(&failure, place(name, line).as_deref()),
    }
}

/// One line without its end. A byte-order mark before the first is not part of it.
fn read_line(input: &mut impl BufRead, number: usize) -> Result<Option<String>, (Failure, usize)> {
    let mut bytes = Vec::new();
    let read = input.read_until(b'\n', &mut bytes);
    let read = read.map_err(|error| (Failure::Message(format!("cannot read: {error}")), number))?;
    if read == 0 {
        return Ok(None);
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let bad = error.as_bytes().get(error.utf8_error().valid_up_to()).copied().unwrap_or_default();
        let message = format!("invalid byte sequence for encoding \"UTF8\": 0x{bad:02x}");
        (Failure::from(Error::new(SqlState::INVALID_BYTE_SEQUENCE, message)), number)
    })?;
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    if number == 1 && text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(Some(text))
}

fn place(name: Option<&str>, line: usize) -> Option<String> {
    name.map(|name| format!("cairn:{name}:{line}: "))
}

fn tell(failure: &Failure, place: Option<&str>) -> Ended {
    match failure {
        Failure::BrokenPipe => return Ended::BrokenPipe,
        Failure::Told => {}
        failure => eprintln!("{}{failure}", place.unwrap_or_default()),
    }
    Ended::Failed
}
