//! The interactive shell: reads lines with history, multi-line editing and completion.

use std::path::Path;
use std::process::ExitCode;

use rustyline::config::CompletionType;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use super::complete::Assistant;
use super::history;
use super::meta;
use super::session::{IN_MEMORY, Session};
use super::splitter::{Piece, Splitter};
use crate::args::ShellArgs;
use crate::report::Failure;

/// Statements that the history keeps.
const HISTORY_ENTRIES: usize = 10_000;

/// Runs the shell until `\q` or Ctrl-D.
pub fn run(session: &mut Session, args: &ShellArgs) -> Result<ExitCode, Failure> {
    let mut editor = editor().map_err(|error| Failure::Message(format!("no line editor: {error}")))?;
    let in_memory = args.file.as_deref().is_none_or(|file| file == Path::new(IN_MEMORY));
    let history = if in_memory { None } else { history::file() };
    if let Some(path) = &history {
        // A history that cannot be read is empty.
        let _ = editor.load_history(path);
    }
    println!("cairn {} - \\? for help, \\q to leave", env!("CARGO_PKG_VERSION"));
    if in_memory {
        println!("This database is in memory: it is gone when you leave.");
    }
    let mut begun = String::new();
    while !session.quitting() {
        if let (Some(assistant), Ok(schema)) = (editor.helper_mut(), session.schema()) {
            assistant.learn(&schema);
        }
        match editor.readline_with_initial(&prompt(session), (&std::mem::take(&mut begun), "")) {
            Ok(input) => {
                remember(&mut editor, &input, history.as_deref());
                begun = run_input(session, &input)?;
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(Failure::Message(format!("cannot read from the terminal: {error}"))),
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn editor() -> rustyline::Result<Editor<Assistant, FileHistory>> {
    let config = Config::builder()
        .max_history_size(HISTORY_ENTRIES)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Assistant::default()));
    Ok(editor)
}

fn remember(editor: &mut Editor<Assistant, FileHistory>, input: &str, history: Option<&Path>) {
    if input.trim().is_empty() {
        return;
    }
    let added = editor.add_history_entry(input.trim_end()).unwrap_or(false);
    if let (true, Some(path)) = (added, history) {
        // The shell is of use without its history.
        let _ = editor.append_history(path);
    }
}

/// `name=>`, with `*` in a transaction and `!` in one that failed, as in psql.
fn prompt(session: &Session) -> String {
    let connection = session.connection();
    let mark = match (connection.in_transaction(), connection.transaction_failed()) {
        (_, true) => "!",
        (true, _) => "*",
        _ => "",
    };
    format!("{}={mark}> ", session.name())
}

/// Runs what was typed; failures are told and the shell goes on. Gives back a statement that a backslash command
/// interrupted, to be finished.
fn run_input(session: &mut Session, input: &str) -> Result<String, Failure> {
    let mut splitter = Splitter::default();
    let pieces: Vec<Piece> = input.lines().flat_map(|line| splitter.push_line(line)).collect();
    for piece in pieces {
        let result = match &piece {
            Piece::Statement { text, .. } => session.execute(text),
            Piece::Command { text, .. } => meta::run(session, text, 0),
        };
        match result {
            Ok(()) | Err(Failure::Told) => {}
            Err(Failure::BrokenPipe) => return Err(Failure::BrokenPipe),
            Err(failure) => eprintln!("{failure}"),
        }
        if session.quitting() || session.interrupts().requested() {
            return Ok(String::new());
        }
    }
    Ok(match splitter.finish() {
        Some(Piece::Statement { text, .. }) => text + "\n",
        _ => String::new(),
    })
}
