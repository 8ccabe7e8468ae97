//! The interactive shell: reads lines with history and completion until they make a statement.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cairndb::ClientCopy;
use rustyline::config::CompletionType;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use super::complete::Assistant;
use super::condition::Conditions;
use super::session::{IN_MEMORY, Session};
use super::splitter::{Piece, Splitter};
use super::{help, history, meta, script};
use crate::args::ShellArgs;
use crate::report::{Failure, say, warn};

/// Statements that the history keeps.
const HISTORY_ENTRIES: usize = 10_000;

/// Runs the shell until `\q` or Ctrl-D.
pub fn run(session: &mut Session, args: &ShellArgs) -> Result<ExitCode, Failure> {
    let editor = editor().map_err(|error| Failure::Message(format!("no line editor: {error}")))?;
    let in_memory = args.file.as_deref().is_none_or(|file| file == Path::new(IN_MEMORY));
    let history = if in_memory { None } else { history::file() };
    let mut prompt = Prompt {
        editor,
        history,
        splitter: Splitter::default(),
        conditions: Conditions::default(),
        entry: String::new(),
        typed: VecDeque::new(),
    };
    if let Some(path) = &prompt.history {
        // A history that cannot be read is empty.
        let _ = prompt.editor.load_history(path);
    }
    say(format_args!("cairn {} - \\? for help, \\q to leave", env!("CARGO_PKG_VERSION")))?;
    if in_memory {
        say("This database is in memory: it is gone when you leave.")?;
    }
    if !args.no_rc
        && let Some(path) = history::rc_file()
        && let Err(failure) = script::include(session, &path, 1)
        && !matches!(failure, Failure::Told)
    {
        warn(&failure);
    }
    while !session.quitting() {
        match prompt.next_line(session)? {
            Line::Typed(line) => prompt.run_line(session, &line)?,
            Line::Dropped => prompt.drop_begun(),
            Line::End => break,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// See the module's description.
struct Prompt {
    editor: Editor<Assistant, FileHistory>,
    history: Option<PathBuf>,
    splitter: Splitter,
    conditions: Conditions,
    /// What the history gets when the statement ends: its lines.
    entry: String,
    /// Lines that came together, by pasting or from the history, and have not been looked at.
    typed: VecDeque<String>,
}

/// What came of asking for a line.
enum Line {
    Typed(String),
    /// Ctrl-C.
    Dropped,
    /// Ctrl-D.
    End,
}

impl Prompt {
    fn next_line(&mut self, session: &Session) -> Result<Line, Failure> {
        if self.typed.is_empty()
            && let Some(assistant) = self.editor.helper_mut()
        {
            assistant.begun = self.splitter.begun().to_string();
            if let Ok(schema) = session.schema() {
                assistant.learn(&schema);
            }
        }
        let mark = if self.conditions.run() { self.splitter.mark() } else { '@' };
        let prompt = prompt(session, mark);
        self.read(&prompt)
    }

    fn read(&mut self, prompt: &str) -> Result<Line, Failure> {
        if let Some(line) = self.typed.pop_front() {
            return Ok(Line::Typed(line));
        }
        match self.editor.readline(prompt) {
            Ok(input) => {
                self.typed.extend(input.lines().map(str::to_string));
                Ok(Line::Typed(self.typed.pop_front().unwrap_or_default()))
            }
            Err(ReadlineError::Interrupted) => Ok(Line::Dropped),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(Failure::Message(format!("cannot read from the terminal: {error}"))),
        }
    }

    /// Forgets the statement that was begun.
    fn drop_begun(&mut self) {
        self.splitter = Splitter::default();
        self.entry.clear();
        self.typed.clear();
    }

    /// Runs what becomes complete with the line; failures are told and the shell goes on.
    fn run_line(&mut self, session: &mut Session, line: &str) -> Result<(), Failure> {
        self.entry.push_str(line);
        let word = line.trim().trim_end_matches(';').trim_end().to_ascii_lowercase();
        let pieces = match (word.as_str(), self.splitter.mark()) {
            ("exit" | "quit", '=') => vec![Piece::Command { text: "q".to_string(), line: 0 }],
            ("help", '=') => {
                session.say(help::FIRST)?;
                vec![]
            }
            ("exit" | "quit" | "help", _) => {
                session.say("A statement is begun: Ctrl-C drops it, \\q leaves, ; ends it.")?;
                self.splitter.push_line(line)
            }
            _ => self.splitter.push_line(line),
        };
        for piece in pieces {
            let result = match &piece {
                Piece::Command { text, .. } if session.restricted.is_none() && self.splitter.is_empty() => {
                    match self.conditions.take(text, &session.variables) {
                        Ok(false) if self.conditions.run() => self.run_command(session, text),
                        taken => taken.map(drop),
                    }
                }
                _ if !self.conditions.run() => Ok(()),
                Piece::Statement { text, .. } if ClientCopy::of(text) == Some(ClientCopy::In) => {
                    self.copy_in(session, text)
                }
                Piece::Statement { text, .. } => session.execute(text),
                Piece::Command { text, .. } => self.run_command(session, text),
            };
            match result {
                Ok(()) | Err(Failure::Told) => {}
                Err(Failure::BrokenPipe) => return Err(Failure::BrokenPipe),
                Err(failure) => {
                    session.note_failure(&failure);
                    warn(&failure);
                }
            }
            session.tell_time()?;
            if session.quitting() {
                break;
            }
            if session.interrupts().take_requested() {
                self.drop_begun();
                break;
            }
        }
        self.remember();
        Ok(())
    }

    fn run_command(&mut self, session: &mut Session, text: &str) -> Result<(), Failure> {
        match meta::copy_from_stdin(text) {
            Some(copy) if session.restricted.is_none() => self.copy_in(session, &copy),
            _ => meta::run(session, text, &mut self.splitter, 0),
        }
    }

    /// Runs a COPY with the data that is typed or pasted behind it, up to a line of `\.` or Ctrl-D.
    fn copy_in(&mut self, session: &mut Session, text: &str) -> Result<(), Failure> {
        session.say("Data for the COPY, line by line; \\. on a line of its own, or Ctrl-D, ends it.")?;
        let data = self.read_data();
        self.set_data(false);
        match data? {
            Some(data) => session.copy_in(text, data.as_bytes()).and_then(|()| session.flush()),
            None => Err(Failure::Message("COPY was not run".to_string())),
        }
    }

    /// None after Ctrl-C.
    fn read_data(&mut self) -> Result<Option<String>, Failure> {
        self.set_data(true);
        let mut data = String::new();
        loop {
            match self.read(">> ")? {
                Line::Typed(line) if line == "\\." => return Ok(Some(data)),
                Line::Typed(line) => data = data + &line + "\n",
                Line::End => return Ok(Some(data)),
                Line::Dropped => return Ok(None),
            }
        }
    }

    fn set_data(&mut self, is_data: bool) {
        if let Some(assistant) = self.editor.helper_mut() {
            assistant.is_data = is_data;
        }
    }

    /// Gives the history what was typed, a statement at a time.
    fn remember(&mut self) {
        if !self.splitter.is_empty() {
            self.entry.push('\n');
            return;
        }
        let entry = std::mem::take(&mut self.entry);
        if entry.trim().is_empty() {
            return;
        }
        let added = self.editor.add_history_entry(entry.trim_end()).unwrap_or(false);
        if let (true, Some(path)) = (added, &self.history) {
            // The shell is of use without its history.
            let _ = self.editor.append_history(path);
        }
    }
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

/// `name=>`, with `*` in a transaction and `!` in one that failed, as in psql; instead of `=` what is begun.
fn prompt(session: &Session, begun: char) -> String {
    let connection = session.connection();
    let mark = match (connection.in_transaction(), connection.transaction_failed()) {
        (_, true) => "!",
        (true, _) => "*",
        _ => "",
    };
    format!("{}{begun}{mark}> ", session.name())
}
