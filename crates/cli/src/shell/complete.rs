//! What the Tab key offers: keywords, tables, columns, backslash commands and file names, by what may stand there.

use std::borrow::Cow;
use std::path::Path;

use cairn_complete::Completer;
use cairndb::schema::Schema;
use rustyline::completion;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::colours::coloured;

/// Backslash commands, without their backslash.
const COMMANDS: [&str; 53] = [
    "!",
    "?",
    "a",
    "c",
    "connect",
    "conninfo",
    "copy",
    "d",
    "dD",
    "df",
    "di",
    "dm",
    "dn",
    "ds",
    "dT",
    "dt",
    "dv",
    "e",
    "echo",
    "edit",
    "elif",
    "else",
    "endif",
    "errverbose",
    "format",
    "g",
    "gdesc",
    "gset",
    "gx",
    "h",
    "i",
    "if",
    "include",
    "l",
    "o",
    "out",
    "p",
    "print",
    "prompt",
    "pset",
    "q",
    "r",
    "reset",
    "set",
    "sf",
    "sv",
    "t",
    "timing",
    "unset",
    "w",
    "watch",
    "write",
    "x",
];

/// Behind so much of a statement its next lines have no colours any more: all of it is looked at with every key.
const COLOURED_BYTES: usize = 1 << 16;

/// The line editor's helper.
#[derive(Default)]
pub struct Assistant {
    completer: Completer,
    /// The line is data: a tab is a tab.
    pub is_data: bool,
    /// The lines before the one that is typed, of the same statement.
    pub begun: String,
}

impl Assistant {
    /// Takes the names that the schema has now.
    pub fn learn(&mut self, schema: &Schema) {
        self.completer.learn(schema);
    }

    /// Where the word before the cursor begins, and what it may become.
    fn candidates(&self, text: &str, cursor: usize) -> (usize, Vec<String>) {
        let line = text.get(..cursor).unwrap_or(text);
        match line.rsplit('\n').next().and_then(|last| last.trim_start().strip_prefix('\\')) {
            Some(command) => self.after_backslash(line, command),
            None => self.completer.candidates(text, cursor),
        }
    }

    fn after_backslash(&self, line: &str, command: &str) -> (usize, Vec<String>) {
        let Some((name, rest)) = command.split_once(char::is_whitespace) else {
            return (line.len() - command.len(), starting_with(&COMMANDS, command));
        };
        let word = rest.rsplit(char::is_whitespace).next().unwrap_or_default();
        let relations = || self.completer.relations(word);
        let found = match name {
            "g" | "gx" | "i" | "include" | "o" | "out" | "w" | "write" => files(word),
            "copy" => relations().into_iter().chain(files(word)).collect(),
            "format" => starting_with(&["table", "unaligned", "csv", "json", "markdown"], word),
            _ => relations(),
        };
        (line.len() - word.len(), found)
    }
}

fn starting_with(known: &[&str], word: &str) -> Vec<String> {
    known.iter().filter(|name| name.starts_with(word)).map(|name| (*name).to_string()).collect()
}

/// Files and folders whose path begins with `word`, in quotes where it has blanks. What belongs to an open database is none of them.
fn files(word: &str) -> Vec<String> {
    let word = word.strip_prefix('\'').unwrap_or(word);
    let (folder, name) = word.rsplit_once('/').map_or(("", word), |(folder, name)| (&word[..=folder.len()], name));
    let Ok(entries) = std::fs::read_dir(if folder.is_empty() { Path::new(".") } else { Path::new(folder) }) else {
        return Vec::new();
    };
    let path = |entry: std::fs::DirEntry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let entry = entry.file_name().into_string().ok()?;
        let is_databases = ["-log", "-lock", "-socket"].iter().any(|end| entry.ends_with(end));
        let path = format!("{folder}{entry}{}", if is_folder { "/" } else { "" });
        let path = if path.contains(char::is_whitespace) { format!("'{}'", path.replace('\'', "''")) } else { path };
        (entry.starts_with(name) && !is_databases).then_some(path)
    };
    let mut found: Vec<String> = entries.flatten().filter_map(path).collect();
    found.sort();
    found
}

impl completion::Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        if self.is_data {
            return Ok((position, vec!["\t".to_string()]));
        }
        let text = format!("{}{line}", self.begun);
        let (start, found) = self.candidates(&text, self.begun.len() + position);
        Ok((start.saturating_sub(self.begun.len()), found))
    }
}

impl Validator for Assistant {}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        match self.is_data || self.begun.len() > COLOURED_BYTES {
            true => Cow::Borrowed(line),
            false => coloured(&self.begun, line),
        }
    }

    /// A character may change the colour of everything behind it.
    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor
    }
}

impl Helper for Assistant {}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_the_end(text: &str) -> (usize, Vec<String>) {
        let connection = cairndb::Database::open_in_memory().unwrap().connect().unwrap();
        connection.execute_script("CREATE TABLE crew (name text); CREATE TABLE missions (id int)").unwrap();
        let mut assistant = Assistant::default();
        assistant.learn(&connection.schema().unwrap());
        assistant.candidates(text, text.len())
    }

    #[test]
    fn backslash_commands_and_their_arguments_are_completed() {
        assert_eq!(at_the_end("\\ti"), (1, vec!["timing".to_string()]));
        assert_eq!(at_the_end("\\d cr"), (3, vec!["crew".to_string()]));
        assert_eq!(at_the_end("\\format j"), (8, vec!["json".to_string()]));
        assert_eq!(at_the_end("select * from mi"), (14, vec!["missions".to_string()]));
    }

    #[test]
    fn files_with_blanks_are_quoted_and_those_of_open_databases_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["my file.csv", "my.cairn", "my.cairn-log", "my.cairn-lock", "other"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let path = |name: &str| format!("{}/{name}", folder.path().display());
        let expected = [format!("'{}'", path("my file.csv")), path("my.cairn")];
        assert_eq!(files(&path("my")), expected);
        assert_eq!(files(&format!("'{}", path("my f"))), expected[..1]);
    }
}
