//! Backslash commands about the statement that is begun, or the last one: `\g`, `\gx`, `\gset`, `\gdesc`, `\watch`, `\e`, `\w`.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use cairn_parser::TokenKind;
use cairn_parser::token::{PieceKind, pieces};

use super::session::Session;
use super::splitter::{Piece, Splitter};
use crate::output::{Column, Expanded, Grid, cells_of};
use crate::report::Failure;
use crate::system::command;

/// Between two runs of `\watch`.
const WATCH_SECONDS: f64 = 2.0;

/// How soon Ctrl-C is noticed between them.
const NOTICE: Duration = Duration::from_millis(20);

/// The statement that is begun, which is so no more; the last one where none is.
fn taken(session: &Session, splitter: &mut Splitter) -> Result<String, Failure> {
    let text = splitter.take_begun().or_else(|| session.last().map(str::to_string));
    text.ok_or_else(|| Failure::Message("no statement is begun, and none was run before".to_string()))
}

/// What a statement begins with; `None`: there is nothing but blanks and comments.
pub fn first_token(text: &str) -> Option<TokenKind> {
    pieces(text).find_map(|piece| match piece.kind {
        PieceKind::Token(kind) => Some(kind),
        _ => None,
    })
}

/// `\g [FILE]`, `\g |COMMAND`, `\gx`.
pub fn run(session: &mut Session, splitter: &mut Splitter, target: &str, expanded: bool) -> Result<(), Failure> {
    let text = taken(session, splitter)?;
    let before = session.style.expanded;
    if expanded {
        session.style.expanded = Expanded::On;
    }
    let redirected = match target.strip_prefix('|') {
        _ if target.is_empty() => Ok(()),
        Some(command) => session.write_to_command(command),
        None => session.write_to_file(Path::new(target)),
    };
    let done = redirected.and_then(|()| session.execute(&text));
    session.style.expanded = before;
    if !target.is_empty() {
        session.write_to_stdout();
    }
    done
}

/// `\gset [PREFIX]`: the only row's values become variables.
pub fn set(session: &mut Session, splitter: &mut Splitter, prefix: &str) -> Result<(), Failure> {
    let text = taken(session, splitter)?;
    let text = super::variables::expanded(&text, &session.variables).into_owned();
    let context = session.context();
    let found = {
        let interrupts = session.interrupts().clone();
        let _running = interrupts.run();
        let mut rows = session.connection().query(&text, ()).map_err(|error| Failure::sql(error, &text))?;
        let names: Vec<String> = rows.columns().iter().map(|column| column.name.clone()).collect();
        let first = rows.next()?.map(|row| cells_of(&row, &context));
        (names, first, rows.next()?.is_some())
    };
    match found {
        (_, None, _) => Err(Failure::Message("no rows returned for \\gset".to_string())),
        (.., true) => Err(Failure::Message("more than one row returned for \\gset".to_string())),
        (names, Some(cells), false) => {
            for (name, cell) in names.into_iter().zip(cells) {
                let name = format!("{prefix}{name}");
                match cell {
                    Some(value) => session.variables.insert(name, value),
                    None => session.variables.remove(&name),
                };
            }
            Ok(())
        }
    }
}

/// `\gdesc`: the columns that it gives, without running it.
pub fn describe(session: &mut Session, splitter: &mut Splitter) -> Result<(), Failure> {
    let text = taken(session, splitter)?;
    let text = super::variables::expanded(&text, &session.variables).into_owned();
    let rows: Vec<Vec<Option<String>>> = {
        let statement = session.connection().prepare(&text).map_err(|error| Failure::sql(error, &text))?;
        let row = |field: &cairndb::Field| vec![Some(field.name.clone()), Some(field.data_type.to_string())];
        statement.columns().iter().map(row).collect()
    };
    if rows.is_empty() {
        return session.say("The statement has no result, or one without columns.");
    }
    session.show(Grid { columns: ["Column", "Type"].map(Column::text).to_vec(), rows, ..Grid::default() })
}

/// `\w FILE`, `\w |COMMAND`: the statement that is begun, or the last one, is written there.
pub fn write(session: &mut Session, splitter: &Splitter, target: &str) -> Result<(), Failure> {
    let text = if splitter.is_empty() { session.last().unwrap_or_default() } else { splitter.begun() };
    let text = format!("{}\n", text.trim_end());
    match target.strip_prefix('|') {
        _ if target.is_empty() => Err(Failure::Message("\\w: a file, or |COMMAND, is missing".to_string())),
        Some(program) => {
            session.flush()?;
            pipe(program, text.as_bytes())
        }
        None => fs::write(target, text).map_err(|error| Failure::file(Path::new(target), &error)),
    }
}

fn pipe(program: &str, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Message(format!("{program}: {error}"));
    let mut child = command(program).stdin(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(bytes).map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    if status.success() { Ok(()) } else { Err(Failure::Message(format!("{program}: {status}"))) }
}

/// `\watch [SECONDS] [c=TIMES]`: again and again, until Ctrl-C or an error.
pub fn watch(session: &mut Session, splitter: &mut Splitter, words: &[String]) -> Result<(), Failure> {
    let (mut seconds, mut times) = (WATCH_SECONDS, u64::MAX);
    for word in words {
        let wrong = || Failure::Message(format!("\\watch: \"{word}\" is neither seconds nor c=TIMES"));
        match word.split_once('=') {
            Some(("c", count)) => times = count.parse().map_err(|_| wrong())?,
            Some(("i", count)) => seconds = count.parse().map_err(|_| wrong())?,
            _ => seconds = word.parse().map_err(|_| wrong())?,
        }
    }
    let pause = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs_f64(WATCH_SECONDS));
    let text = taken(session, splitter)?;
    let pager = std::mem::replace(&mut session.pager, false);
    let done = watch_text(session, &text, pause, times);
    session.pager = pager;
    done
}

fn watch_text(session: &mut Session, text: &str, pause: Duration, times: u64) -> Result<(), Failure> {
    let interrupts = session.interrupts().clone();
    let _running = interrupts.run();
    for run in 1..=times {
        let done = session.execute(text);
        if interrupts.requested() {
            return Ok(());
        }
        done?;
        session.tell_time()?;
        let until = Instant::now() + pause;
        while run < times && Instant::now() < until {
            if interrupts.requested() {
                return Ok(());
            }
            thread::sleep(NOTICE);
        }
    }
    Ok(())
}

/// `\e [FILE]`: in an editor; what ends with a semicolon there is run.
pub fn edit(session: &mut Session, splitter: &mut Splitter, file: &str) -> Result<(), Failure> {
    let own = file.is_empty();
    let path = if own { new_file(&taken(session, splitter).unwrap_or_default())? } else { PathBuf::from(file) };
    let edited = run_editor(&path).and_then(|()| match fs::read_to_string(&path) {
        Ok(text) => Ok(text),
        Err(error) => Err(Failure::file(&path, &error)),
    });
    if own {
        let _ = fs::remove_file(&path);
    }
    let text = edited?;
    let mut pieces: Vec<Piece> = Vec::new();
    for line in text.split_terminator('\n') {
        pieces.extend(splitter.push_line(line));
    }
    for piece in pieces {
        if let Piece::Statement { text, .. } = piece {
            session.say(&text)?;
            session.execute(&text)?;
            session.tell_time()?;
        }
    }
    if !splitter.is_empty() {
        session.say(splitter.begun().trim_end())?;
    }
    Ok(())
}

fn run_editor(path: &Path) -> Result<(), Failure> {
    let named = ["CAIRN_EDITOR", "VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
    let editor = named.unwrap_or_else(|| if cfg!(windows) { "notepad" } else { "vi" }.to_string());
    let status = command(&format!("{editor} \"{}\"", path.display())).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Message(format!("{editor}: {status}"))),
        Err(error) => Err(Failure::Message(format!("{editor}: {error}"))),
    }
}

/// A file of its own that only the user can read.
fn new_file(text: &str) -> Result<PathBuf, Failure> {
    let stamp = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let path = std::env::temp_dir().join(format!("cairn-{}-{stamp}.sql", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map(|()| path.clone()).map_err(|error| Failure::file(&path, &error))
}
