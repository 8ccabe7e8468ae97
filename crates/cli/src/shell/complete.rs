//! What the Tab key offers: keywords, tables, columns, backslash commands and file names.

use std::path::Path;

use cairndb::catalog::Catalog;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use super::help;
use super::splitter::{Piece, Splitter};

/// Backslash commands, without their backslash.
const COMMANDS: [&str; 18] = [
    "?", "copy", "d", "di", "ds", "dt", "dv", "echo", "format", "h", "i", "include", "o", "out", "pset", "q", "timing",
    "x",
];

/// After these words a relation is expected.
const BEFORE_RELATIONS: [&str; 8] = ["FROM", "JOIN", "INTO", "UPDATE", "TABLE", "REFERENCES", "VIEW", "ANALYZE"];

/// The line editor's helper.
#[derive(Default)]
pub struct Assistant {
    relations: Vec<String>,
    columns: Vec<String>,
}

impl Assistant {
    /// Takes the names that the schema has now.
    pub fn learn(&mut self, catalog: &Catalog) {
        self.relations = catalog.tables.keys().chain(catalog.views.keys()).cloned().collect();
        let in_tables =
            catalog.tables.values().flat_map(|table| table.columns.iter().map(|column| column.name.clone()));
        let in_views = catalog.views.values().flat_map(|view| view.columns.iter().cloned());
        self.columns = in_tables.chain(in_views).collect();
        self.columns.sort();
        self.columns.dedup();
    }

    /// Where the word before the cursor begins, and what it may become.
    fn candidates(&self, line: &str) -> (usize, Vec<String>) {
        if let Some(command) = line.rsplit('\n').next().and_then(|last| last.trim_start().strip_prefix('\\')) {
            return self.after_backslash(line, command);
        }
        let start = word_start(line);
        let (before, word) = line.split_at(start);
        let previous = before.split_whitespace().next_back().unwrap_or_default().to_ascii_uppercase();
        let mut found = starting_with(&self.relations, word);
        if BEFORE_RELATIONS.contains(&previous.as_str()) && !found.is_empty() {
            return (start, found);
        }
        found.extend(starting_with(&self.columns, word));
        if !word.is_empty() {
            let lower = word.chars().any(char::is_lowercase);
            let upper = word.to_ascii_uppercase();
            let cased = |keyword: &str| if lower { keyword.to_ascii_lowercase() } else { keyword.to_string() };
            let keywords = help::KEYWORDS.iter().filter(|keyword| keyword.starts_with(&upper));
            found.extend(keywords.map(|keyword| cased(keyword)));
        }
        (start, found)
    }

    fn after_backslash(&self, line: &str, command: &str) -> (usize, Vec<String>) {
        let Some((name, rest)) = command.split_once(char::is_whitespace) else {
            let names: Vec<String> = COMMANDS.iter().map(|name| (*name).to_string()).collect();
            return (line.len() - command.len(), starting_with(&names, command));
        };
        let word = rest.rsplit(char::is_whitespace).next().unwrap_or_default();
        let found = match name {
            "i" | "include" | "o" | "out" => files(word),
            "copy" => starting_with(&self.relations, word).into_iter().chain(files(word)).collect(),
            "format" => starting_with(&["table", "csv", "json", "markdown"].map(str::to_string), word),
            _ => starting_with(&self.relations, word),
        };
        (line.len() - word.len(), found)
    }
}

fn word_start(line: &str) -> usize {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    line.char_indices().rev().take_while(|(_, c)| in_word(*c)).last().map_or(line.len(), |(at, _)| at)
}

fn starting_with(names: &[String], word: &str) -> Vec<String> {
    let word = word.to_lowercase();
    names.iter().filter(|name| name.to_lowercase().starts_with(&word)).cloned().collect()
}

/// Files and folders whose path begins with `word`.
fn files(word: &str) -> Vec<String> {
    let (folder, name) = word.rsplit_once('/').map_or(("", word), |(folder, name)| (&word[..=folder.len()], name));
    let Ok(entries) = std::fs::read_dir(if folder.is_empty() { Path::new(".") } else { Path::new(folder) }) else {
        return Vec::new();
    };
    let path = |entry: std::fs::DirEntry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let entry = entry.file_name().into_string().ok()?;
        entry.starts_with(name).then(|| format!("{folder}{entry}{}", if is_folder { "/" } else { "" }))
    };
    let mut found: Vec<String> = entries.flatten().filter_map(path).collect();
    found.sort();
    found
}

/// The input can be run: it ends a statement, is a backslash command, or is blank.
pub fn is_complete(input: &str) -> bool {
    let mut splitter = Splitter::default();
    let pieces: Vec<Piece> = input.lines().flat_map(|line| splitter.push_line(line)).collect();
    splitter.is_empty() || matches!(pieces.last(), Some(Piece::Command { .. }))
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(line.get(..position).unwrap_or(line)))
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let complete = is_complete(context.input());
        Ok(if complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Hinter for Assistant {
    type Hint = String;
}
impl Highlighter for Assistant {}
impl Helper for Assistant {}

#[cfg(test)]
mod tests {
    use super::*;

    fn assistant() -> Assistant {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect();
        Assistant { relations: names(&["crew", "missions"]), columns: names(&["mission_id", "seat"]) }
    }

    #[test]
    fn relations_are_offered_where_one_is_expected() {
        assert_eq!(assistant().candidates("select * from mi"), (14, vec!["missions".to_string()]));
        assert_eq!(assistant().candidates("select * from "), (14, vec!["crew".to_string(), "missions".to_string()]));
    }

    #[test]
    fn elsewhere_columns_and_keywords_are_too_in_the_case_that_is_typed() {
        assert_eq!(assistant().candidates("select se").1, ["seat", "select", "sequence", "set"]);
        assert_eq!(assistant().candidates("SEL").1, ["SELECT"]);
        assert_eq!(assistant().candidates("select mi").1, ["missions", "mission_id"]);
    }

    #[test]
    fn backslash_commands_and_their_arguments_are_completed() {
        assert_eq!(assistant().candidates("\\ti"), (1, vec!["timing".to_string()]));
        assert_eq!(assistant().candidates("\\d cr"), (3, vec!["crew".to_string()]));
        assert_eq!(assistant().candidates("\\format j"), (8, vec!["json".to_string()]));
    }

    #[test]
    fn a_statement_is_complete_with_its_semicolon_and_a_command_with_its_line() {
        assert!(is_complete("select 1;"));
        assert!(is_complete("\\d"));
        assert!(is_complete("  "));
        assert!(!is_complete("select 1"));
        assert!(!is_complete("select ';"));
        assert!(!is_complete("select 1; select"));
    }
}
