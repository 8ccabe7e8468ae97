//! Texts that nobody types: `-c`, `-f`, `\i` and standard input. The first failure ends them, unless told to go on.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read, stderr, stdin, stdout};
use std::path::Path;
use std::time::{Duration, Instant};

use cairndb::{ClientCopy, Error, SqlState};
use indicatif::ProgressBar;

use super::condition::Conditions;
use super::meta;
use super::session::Session;
use super::splitter::{Piece, Splitter};
use crate::copy::Data;
use crate::import::is_of_server;
use crate::progress;
use crate::report::{Failure, warn};

/// How a script ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Well,
    /// Something failed and was told on standard error.
    Failed,
    /// Nobody reads the output any more.
    BrokenPipe,
}

/// Bytes that are read at a time.
const READ_BYTES: usize = 1 << 16;

/// A load that takes longer than this shows how far it is.
const QUIET: Duration = Duration::from_secs(2);

/// Runs the text of a `-c` argument.
pub fn run_text(session: &mut Session, text: &str, keep_going: bool) -> Ended {
    Script::new(text.as_bytes(), None, 0).run(session, keep_going, 0)
}

/// Runs a file; `-` is standard input.
pub fn run_file(session: &mut Session, path: &Path, keep_going: bool) -> Ended {
    if path == Path::new("-") {
        session.reads_stdin = true;
        return Script::new(stdin().lock(), Some("<stdin>".to_string()), 0).run(session, keep_going, 0);
    }
    match Script::open(path) {
        Ok(mut script) => script.run(session, keep_going, 0),
        Err(failure) => tell(session, &failure, None),
    }
}

/// Runs a file for `\i`, `depth` files deep.
pub fn include(session: &mut Session, path: &Path, depth: usize) -> Result<(), Failure> {
    match Script::open(path)?.run(session, false, depth) {
        Ended::Well => Ok(()),
        Ended::BrokenPipe => Err(Failure::BrokenPipe),
        Ended::Failed => Err(Failure::Told),
    }
}

/// A text that is being run. No more of it is held than the statement at hand.
struct Script<R> {
    input: BufReader<R>,
    /// For messages.
    name: Option<String>,
    splitter: Splitter,
    conditions: Conditions,
    line: Vec<u8>,
    progress: Progress,
}

impl Script<File> {
    fn open(path: &Path) -> Result<Script<File>, Failure> {
        let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        Ok(Script::new(file, Some(path.to_string_lossy().into_owned()), length))
    }
}

impl<R: Read> Script<R> {
    /// `length`: in bytes, if it is known.
    fn new(input: R, name: Option<String>, length: u64) -> Script<R> {
        Script {
            input: BufReader::with_capacity(READ_BYTES, input),
            name,
            splitter: Splitter::default(),
            conditions: Conditions::default(),
            line: Vec::new(),
            progress: Progress::new(length),
        }
    }

    fn run(&mut self, session: &mut Session, keep_going: bool, depth: usize) -> Ended {
        // What stands behind `-c` was typed.
        let around = session.in_script;
        session.in_script |= self.name.is_some();
        let ended = self.run_pieces(session, keep_going, depth);
        session.in_script = around;
        ended
    }

    fn run_pieces(&mut self, session: &mut Session, keep_going: bool, depth: usize) -> Ended {
        let mut ended = Ended::Well;
        loop {
            let pieces = match self.next_line(session) {
                Ok(Some(pieces)) => pieces,
                Ok(None) => break,
                Err(failure) => return tell(session, &failure, self.place(self.splitter.line() + 1).as_deref()),
            };
            for piece in pieces {
                match self.run_piece(session, &piece, depth) {
                    Ended::Well => {}
                    failed if keep_going && failed == Ended::Failed => ended = failed,
                    failed => return failed,
                }
                if session.quitting() {
                    return ended;
                }
            }
        }
        let last = self.splitter.finish();
        match last.map(|piece| self.run_piece(session, &piece, depth)) {
            None | Some(Ended::Well) => {}
            Some(failed) => return failed,
        }
        if self.conditions.depth() > 0 {
            let failure = Failure::Message("the text ends where a \\if still waits for its \\endif".to_string());
            return tell(session, &failure, self.place(self.splitter.line()).as_deref());
        }
        ended
    }

    /// What became complete with the next line.
    fn next_line(&mut self, session: &mut Session) -> Result<Option<Vec<Piece>>, Failure> {
        if !self.input.buffer().contains(&b'\n') {
            // It may take as long as somebody types, who wants to see what there is.
            session.flush()?;
        }
        self.line.clear();
        let read = self.input.read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| Failure::Message(format!("cannot read: {error}")))?;
        if read == 0 {
            return Ok(None);
        }
        self.progress.advance(read as u64);
        let line = line_of(&self.line, self.splitter.line() == 0)?;
        Ok(Some(self.splitter.push_line(line)))
    }

    fn run_piece(&mut self, session: &mut Session, piece: &Piece, depth: usize) -> Ended {
        let (result, line) = match piece {
            Piece::Command { text, line } if session.restricted.is_none() && self.splitter.is_empty() => {
                match self.conditions.take(text, &session.variables) {
                    Ok(false) if self.conditions.run() => (self.run_command(session, text, depth), *line),
                    taken => (taken.map(drop), *line),
                }
            }
            Piece::Statement { text, line } if !self.conditions.run() => (self.pass_data(text), *line),
            Piece::Command { line, .. } if !self.conditions.run() => (Ok(()), *line),
            Piece::Statement { text, line } if ClientCopy::of(text) == Some(ClientCopy::In) => {
                (self.copy_in(session, text), *line)
            }
            Piece::Statement { text, line } if self.name.is_some() && is_of_server(text).is_some() => {
                warn(format_args!("NOTICE:  {}", in_vain(text)));
                (Ok(()), *line)
            }
            Piece::Statement { text, line } => (session.execute(text), *line),
            Piece::Command { text, line } => (self.run_command(session, text, depth), *line),
        };
        let ended = match result {
            Ok(()) => Ended::Well,
            Err(failure) => self.progress.suspend(|| tell(session, &failure, self.place(line).as_deref())),
        };
        match session.tell_time() {
            Ok(()) => ended,
            Err(failure) => tell(session, &failure, None),
        }
    }

    fn run_command(&mut self, session: &mut Session, text: &str, depth: usize) -> Result<(), Failure> {
        match meta::copy_from_stdin(text) {
            Some(copy) if session.restricted.is_none() => self.copy_in(session, &copy),
            _ => session.flush().and_then(|()| meta::run(session, text, &mut self.splitter, depth)),
        }
    }

    /// Passes over the data of a COPY that is not run.
    fn pass_data(&mut self, text: &str) -> Result<(), Failure> {
        if ClientCopy::of(text) == Some(ClientCopy::In) && self.name.is_some() {
            let lines = Data::new(&mut self.input).finish();
            self.splitter.pass_lines(lines.map_err(|error| Failure::Message(format!("cannot read: {error}")))?);
        }
        Ok(())
    }

    /// Runs a COPY with the data that stands behind it; behind an argument, where nothing does, with standard input.
    fn copy_in(&mut self, session: &mut Session, text: &str) -> Result<(), Failure> {
        if self.name.is_none() && self.input.fill_buf().is_ok_and(<[u8]>::is_empty) {
            return session.copy_in(text, Data::new(&mut stdin().lock()));
        }
        let mut data = Data::new(&mut self.input);
        let done = session.copy_in(text, &mut data);
        let lines = data.finish().map_err(|error| Failure::Message(format!("cannot read: {error}")));
        self.splitter.pass_lines(lines?);
        done
    }

    fn place(&self, line: usize) -> Option<String> {
        self.name.as_ref().map(|name| format!("cairn:{name}:{line}: "))
    }
}

/// The text of a line, without its newline. A byte-order mark before the first is not part of it.
pub fn line_of(bytes: &[u8], first: bool) -> Result<&str, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let bad = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        let message = format!("invalid byte sequence for encoding \"UTF8\": 0x{bad:02x}");
        Failure::from(Error::new(SqlState::INVALID_BYTE_SEQUENCE, message))
    })?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    Ok(text.strip_prefix('\u{feff}').filter(|_| first).unwrap_or(text))
}

/// How far a long script is, on a terminal where no results are shown.
struct Progress {
    length: u64,
    read: u64,
    /// When the bar is looked at next, in bytes.
    next: u64,
    begun: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    fn new(length: u64) -> Progress {
        let wanted = stderr().is_terminal() && !stdout().is_terminal();
        let next = if wanted && length > 0 { READ_BYTES as u64 } else { u64::MAX };
        Progress { length, read: 0, next, begun: Instant::now(), bar: None }
    }

    fn advance(&mut self, bytes: u64) {
        self.read += bytes;
        if self.read < self.next {
            return;
        }
        self.next = self.read + READ_BYTES as u64;
        if self.begun.elapsed() >= QUIET {
            self.bar.get_or_insert_with(|| progress::bytes(self.length)).set_position(self.read);
        }
    }

    /// Writes to the terminal, the bar out of the way.
    fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What a statement about the server, where a dump came from one, is told to do; as `\\connect` is (`connect.rs`).
fn in_vain(text: &str) -> String {
    let words = is_of_server(text).unwrap_or_default();
    format!("{words} does nothing in a script: it goes into the database that was named, where there are no roles")
}

fn tell(session: &mut Session, failure: &Failure, place: Option<&str>) -> Ended {
    match failure {
        Failure::BrokenPipe => return Ended::BrokenPipe,
        Failure::Told => {}
        failure => {
            session.note_failure(failure);
            // Behind what came before it; that this can not be written is told by what is written next.
            let _ = session.flush();
            warn(format_args!("{}{failure}", place.unwrap_or_default()));
        }
    }
    Ended::Failed
}
