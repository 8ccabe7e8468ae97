//! `cairn import postgres`: a new database of what `pg_dump` wrote.
//!
//! Statements run one by one; one that fails is left out, and what rests on it with it: causes are told apart from what followed from
//! them. A script that would be read otherwise than it was written (backslashes, encodings) is refused as a whole.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use cairndb::{ClientCopy, Connection, Error, SqlState};
use indicatif::ProgressBar;

use super::report::Report;
use super::subject::{Subject, is_of_server};
use super::target;
use crate::copy::Data;
use crate::progress;
use crate::report::Failure;
use crate::shell::{Piece, Splitter, line_of};

/// Bytes that are read at a time.
const READ_BYTES: usize = 1 << 16;

/// Errors of the machine, of a disk that is full, of an interruption: nothing that the next statement would not meet too.
const FATAL_CLASSES: &[&str] = &["53", "57", "58", "XX"];

/// Errors of what rests on something that is not there.
const MISSING: &[SqlState] = &[
    SqlState::UNDEFINED_TABLE,
    SqlState::UNDEFINED_OBJECT,
    SqlState::UNDEFINED_FUNCTION,
    SqlState::UNDEFINED_COLUMN,
    SqlState::INVALID_SCHEMA_NAME,
];

/// What is said of something: nobody misses it where that is not there.
const SAID_OF: &[&str] = &["comment on ", "grant ", "owner of ", "revoke "];

/// What extensions that may be missing bring along, by which dumps name it.
const OF_EXTENSIONS: &[(&str, &[&str])] = &[
    ("citext", &["citext"]),
    ("cube", &["cube"]),
    ("hstore", &["hstore", "hstore_to_json", "hstore_to_jsonb"]),
    ("isn", &["ean13", "isbn", "isbn13", "issn", "upc"]),
    ("ltree", &["ltree", "lquery", "ltxtquery", "nlevel", "subpath"]),
    ("pg_trgm", &["gin_trgm_ops", "gist_trgm_ops", "similarity"]),
    ("postgis", &["geometry", "geography", "box2d", "box3d", "raster", "spatial_ref_sys"]),
    ("vector", &["vector", "halfvec", "sparsevec", "vector_cosine_ops", "vector_l2_ops"]),
];

/// Imports what was dumped to `from` into the new database `into`.
pub fn postgres(from: &Path, into: &Path) -> Result<ExitCode, Failure> {
    target::refuse_existing(into)?;
    let mut dump = Dump::open(from)?;
    target::make(from, into, |connection| {
        // There is no new file where it does not come to its end, and its end is a checkpoint.
        connection.execute("SET durability = off", ())?;
        let mut import = Import { connection, into, report: Report::default(), missing: HashMap::new() };
        let script = BufReader::with_capacity(READ_BYTES, dump.script()?);
        let read = import.run(script, &dump.bar);
        dump.bar.finish_and_clear();
        dump.finish(read)?;
        Ok(import.report)
    })
}

/// What is imported.
struct Dump {
    script: Option<Box<dyn Read>>,
    restore: Option<Child>,
    bar: ProgressBar,
}

impl Dump {
    /// A script as it is, or what `pg_restore` makes one of.
    fn open(from: &Path) -> Result<Dump, Failure> {
        let wrong = |error: std::io::Error| Failure::file(from, &error);
        let found = from.metadata().map_err(wrong)?;
        let is_folder = found.is_dir();
        if is_folder && !from.join("toc.dat").exists() {
            let message = format!("{}: no folder that pg_dump made (it has no toc.dat)", from.display());
            return Err(Failure::Message(message));
        }
        let mut first = Vec::new();
        if !is_folder {
            File::open(from).and_then(|file| file.take(512).read_to_end(&mut first)).map_err(wrong)?;
        }
        if first.starts_with(&[0x1f, 0x8b]) {
            let message = format!("{}: is compressed; gunzip it first", from.display());
            return Err(Failure::Message(message));
        }
        if is_folder || first.starts_with(b"PGDMP") || first.get(257..262) == Some(b"ustar") {
            return Dump::restored(from);
        }
        let script = File::open(from).map_err(wrong)?;
        Ok(Dump { script: Some(Box::new(script)), restore: None, bar: progress::bytes(found.len()) })
    }

    fn restored(from: &Path) -> Result<Dump, Failure> {
        let started =
            Command::new("pg_restore").arg("--file=-").arg(from).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut restore = started.map_err(|error| {
            let (from, error) = (from.display(), if error.kind() == std::io::ErrorKind::NotFound {
                "it is not there (PostgreSQL's client programs have it)".to_string()
            } else {
                error.to_string()
            });
            Failure::Message(format!(
                "{from}: is read by PostgreSQL's pg_restore: {error}. Without it, import what pg_dump --format=plain writes"
            ))
        })?;
        let script = restore.stdout.take().map(|script| Box::new(script) as Box<dyn Read>);
        Ok(Dump { script, restore: Some(restore), bar: progress::busy("restoring") })
    }

    fn script(&mut self) -> Result<Box<dyn Read>, Failure> {
        self.script.take().ok_or_else(|| Failure::Message("pg_restore has no output".to_string()))
    }

    /// Waits for who made the script.
    fn finish(&mut self, read: Result<(), Failure>) -> Result<(), Failure> {
        let Some(mut restore) = self.restore.take() else { return read };
        if read.is_err() {
            // It writes to nobody.
            let _ = restore.kill();
        }
        let status = restore.wait().map_err(|error| Failure::Message(format!("pg_restore: {error}")));
        read?;
        match status?.success() {
            true => Ok(()),
            false => Err(Failure::Message("pg_restore failed; nothing is imported".to_string())),
        }
    }
}

/// What an import works with.
struct Import<'a> {
    connection: &'a Connection,
    into: &'a Path,
    report: Report,
    /// What is not there, by its name, and because of what.
    missing: HashMap<String, usize>,
}

impl Import<'_> {
    fn run(&mut self, mut script: BufReader<Box<dyn Read>>, bar: &ProgressBar) -> Result<(), Failure> {
        let (mut splitter, mut line) = (Splitter::default(), Vec::new());
        loop {
            line.clear();
            let read = script
                .read_until(b'\n', &mut line)
                .map_err(|error| Failure::Message(format!("cannot read: {error}")))?;
            let number = splitter.line() + 1;
            let pieces = match read {
                0 => splitter.finish().into_iter().collect(),
                _ => splitter.push_line(line_of(&line, number == 1).map_err(|_| not_utf8(number))?),
            };
            bar.inc(read as u64);
            for piece in pieces {
                match piece {
                    Piece::Command { text, line } => self.command(&text, line)?,
                    Piece::Statement { text, .. } if ClientCopy::of(&text) == Some(ClientCopy::In) => {
                        let mut data = Data::new(&mut script);
                        let copied = self.copy(&text, &mut data, bar);
                        let lines = data.finish().map_err(|error| Failure::Message(format!("cannot read: {error}")))?;
                        splitter.pass_lines(lines);
                        copied?;
                    }
                    Piece::Statement { text, .. } => self.statement(&text)?,
                }
            }
            if read == 0 {
                return Ok(());
            }
        }
    }

    /// What is for psql.
    fn command(&mut self, text: &str, line: usize) -> Result<(), Failure> {
        let mut words = text.split_whitespace();
        match words.next() {
            // Since 2025 dumps stand between these, so that they can have no others.
            Some("restrict" | "unrestrict") => {}
            Some("connect" | "c") => {
                let name = words.next().unwrap_or_default();
                let into = self.into.display();
                self.report
                    .change(&format!("\\connect {name}"), &format!("does nothing: all of the dump is in {into}"));
            }
            word => {
                let message = format!("line {line}: \\{}: an import runs no commands", word.unwrap_or_default());
                return Err(Failure::Message(message));
            }
        }
        Ok(())
    }

    fn copy(&mut self, text: &str, data: impl Read, bar: &ProgressBar) -> Result<(), Failure> {
        let subject = Subject::of(text);
        let table = subject.on.clone().unwrap_or_default();
        match self.connection.copy_in(text, Counted { data, bar }) {
            Ok(rows) => self.report.rows(&table, rows),
            Err(error) => self.left_out(&subject, &error, text)?,
        }
        self.tell_notices();
        Ok(())
    }

    fn statement(&mut self, text: &str) -> Result<(), Failure> {
        if let Some(words) = is_of_server(text) {
            self.report.change(&words, "does nothing: it is of the server that the dump came from");
            return Ok(());
        }
        let subject = Subject::of(text);
        // Each statement stands for itself: one that fails takes none with it.
        // And notices are what the report is made of.
        let first: Vec<&str> = subject.what.split(' ').collect();
        if matches!(first[..], ["begin" | "commit" | "start" | "end", ..] | ["set", "client_min_messages", ..]) {
            return Ok(());
        }
        let mut rows = 0;
        let done = self.connection.run(text, |outcome| {
            rows += outcome.affected();
            for notice in outcome.notices() {
                change_of(&mut self.report, &notice.message);
            }
            Ok(())
        });
        match done {
            Ok(()) => {
                if let Some(table) = subject.what.strip_prefix("rows of ") {
                    self.report.rows(table, rows);
                }
                Ok(())
            }
            // Dumps of old servers make what every database has.
            Err(error) if subject.what == "schema public" && error.sqlstate() == SqlState::DUPLICATE_SCHEMA => Ok(()),
            Err(error) if is_about_reading(text) => Err(refused(&error, text)),
            Err(error) => self.left_out(&subject, &error, text),
        }
    }

    fn tell_notices(&mut self) {
        for notice in self.connection.take_notices() {
            change_of(&mut self.report, &notice.message);
        }
    }

    /// Notes what is not there, and why. The failure where nothing would be any more.
    fn left_out(&mut self, subject: &Subject, error: &Error, text: &str) -> Result<(), Failure> {
        if FATAL_CLASSES.iter().any(|class| error.sqlstate().as_str().starts_with(class)) {
            return Err(Failure::sql(error.clone(), text));
        }
        let cause = match self.cause(subject, error) {
            Some(cause) => {
                if !SAID_OF.iter().any(|said| subject.what.starts_with(said)) {
                    self.report.follow(cause, &subject.what);
                }
                cause
            }
            None => {
                let hint = error.hint().map_or(String::new(), |hint| format!(" ({})", hint.trim_end_matches('.')));
                self.report.cause(&subject.what, &format!("{}{hint}", error.message()))
            }
        };
        if let Some(name) = &subject.makes {
            self.missing.insert(name.clone(), cause);
            let brought = OF_EXTENSIONS.iter().filter(|(of, _)| subject.what == format!("extension {of}"));
            brought.flat_map(|(_, names)| *names).for_each(|name| {
                self.missing.insert((*name).to_string(), cause);
            });
        }
        Ok(())
    }

    /// The cause that this failure followed from.
    fn cause(&self, subject: &Subject, error: &Error) -> Option<usize> {
        let of_name =
            |name: &str| self.missing.get(name).or_else(|| self.missing.get(name.rsplit('.').next()?)).copied();
        let on = subject.on.as_deref().and_then(|on| self.missing.get(on).copied());
        if on.is_some() || !MISSING.contains(&error.sqlstate()) {
            return on;
        }
        let is_name = |ch: char| ch.is_alphanumeric() || matches!(ch, '_' | '.' | '$');
        let unquoted = error.message().replace('"', "");
        unquoted.split(|ch: char| !is_name(ch)).filter(|word| !word.is_empty()).find_map(of_name)
    }
}

/// COPY's data, with how far it is.
struct Counted<'b, R> {
    data: R,
    bar: &'b ProgressBar,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.data.read(buffer)?;
        self.bar.inc(read as u64);
        Ok(read)
    }
}

/// A notice as a change. What was not there to be dropped is as it is to be.
fn change_of(report: &mut Report, notice: &str) {
    match notice.split_once(" does nothing") {
        Some((what, why)) => report.change(what, &format!("does nothing{why}")),
        None if notice.ends_with(", skipping") => {}
        None => report.change("NOTICE", notice),
    }
}

/// Whether a statement says how what follows is to be read.
fn is_about_reading(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let is_set = text.split_whitespace().next() == Some("set") || text.contains("set_config");
    is_set && ["standard_conforming_strings", "client_encoding"].iter().any(|name| text.contains(name))
}

fn refused(error: &Error, text: &str) -> Failure {
    let hint = "What follows would be read otherwise than it was written: dump with pg_dump --encoding=UTF8, of a database whose \
                standard_conforming_strings is on.";
    Failure::sql(error.clone().with_hint(hint), text)
}

fn not_utf8(number: usize) -> Failure {
    Failure::Message(format!("line {number} is not UTF-8; dump with pg_dump --encoding=UTF8"))
}
