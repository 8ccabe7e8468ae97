//! What the Tab key offers: keywords, tables, columns, backslash commands and file names, by what may stand there.

use std::borrow::Cow;
use std::path::Path;

use cairn_parser::token::quote_identifier;
use cairndb::schema::{self, RelationKind, Schema};
use rustyline::completion::Completer;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use super::colours::coloured;
use super::cursor::{Place, Source, look};
use super::help;
use super::splitter::{Piece, Splitter};

/// Backslash commands, without their backslash.
const COMMANDS: [&str; 19] = [
    "?", "copy", "d", "di", "dm", "ds", "dt", "dv", "echo", "format", "h", "i", "include", "o", "out", "pset", "q",
    "timing", "x",
];

/// A table or a view, and its columns.
struct Relation {
    name: String,
    columns: Vec<String>,
}

/// The line editor's helper.
#[derive(Default)]
pub struct Assistant {
    relations: Vec<Relation>,
}

impl Assistant {
    /// Takes the names that the schema has now.
    pub fn learn(&mut self, schema: &Schema) {
        let read = |relation: &schema::Relation| {
            let columns = match &relation.kind {
                RelationKind::Table(table) | RelationKind::MaterializedView(table, _) => {
                    table.columns.iter().map(|column| column.name.clone()).collect()
                }
                RelationKind::View(view) => view.columns.iter().map(|(name, _)| name.clone()).collect(),
                _ => return None,
            };
            Some(Relation { name: relation.shown.clone(), columns })
        };
        self.relations = schema.relations().iter().filter_map(read).collect();
    }

    /// Where the word before the cursor begins, and what it may become.
    fn candidates(&self, text: &str, cursor: usize) -> (usize, Vec<String>) {
        let line = text.get(..cursor).unwrap_or(text);
        if let Some(command) = line.rsplit('\n').next().and_then(|last| last.trim_start().strip_prefix('\\')) {
            return self.after_backslash(line, command);
        }
        let situation = look(text, line.len());
        let word = &line[situation.word_start..];
        let found = match &situation.place {
            Place::Inside => Vec::new(),
            Place::Statement => keywords(help::first_words(), word),
            Place::Relation => self.relations_or_keywords(word),
            Place::Column(of) => names(self.columns_of(of, &situation.sources), word),
            Place::Anything => self.anything(word, &situation.sources),
        };
        (situation.word_start, found)
    }

    fn relations_or_keywords(&self, word: &str) -> Vec<String> {
        let found = names(self.relations.iter().map(|relation| &relation.name), word);
        if found.is_empty() { keywords(help::KEYWORDS, word) } else { found }
    }

    /// The columns of what the statement calls so; of all relations before it says what that is.
    fn columns_of<'a>(&'a self, called: &'a str, sources: &'a [Source]) -> impl Iterator<Item = &'a String> {
        let source = sources.iter().find(|source| source.alias == called);
        let name = source.map_or(called, |source| source.relation.as_str());
        let unknown = sources.is_empty() && !self.relations.iter().any(|relation| relation.name == name);
        let meant = move |relation: &&Relation| unknown || relation.name == name;
        self.relations.iter().filter(meant).flat_map(|relation| &relation.columns)
    }

    /// What the statement's relations have; before any is written, what all have.
    fn anything(&self, word: &str, sources: &[Source]) -> Vec<String> {
        let mut found = names(sources.iter().map(|source| &source.alias), word);
        if sources.is_empty() {
            found.extend(names(self.relations.iter().map(|relation| &relation.name), word));
        }
        let columns = self
            .relations
            .iter()
            .filter(|relation| sources.is_empty() || sources.iter().any(|source| source.relation == relation.name));
        let mut columns = names(columns.flat_map(|relation| &relation.columns), word);
        columns.sort();
        columns.dedup();
        found.extend(columns);
        if !word.is_empty() {
            found.extend(keywords(help::KEYWORDS, word));
        }
        found
    }

    fn after_backslash(&self, line: &str, command: &str) -> (usize, Vec<String>) {
        let Some((name, rest)) = command.split_once(char::is_whitespace) else {
            return (line.len() - command.len(), starting_with(&COMMANDS, command));
        };
        let word = rest.rsplit(char::is_whitespace).next().unwrap_or_default();
        let relations = || names(self.relations.iter().map(|relation| &relation.name), word);
        let found = match name {
            "i" | "include" | "o" | "out" => files(word),
            "copy" => relations().into_iter().chain(files(word)).collect(),
            "format" => starting_with(&["table", "csv", "json", "markdown"], word),
            _ => relations(),
        };
        (line.len() - word.len(), found)
    }
}

/// Those that begin with the word, as SQL writes them.
fn names<'a>(known: impl Iterator<Item = &'a String>, word: &str) -> Vec<String> {
    let quoted = word.strip_prefix('"');
    let begins = |name: &&String| match quoted {
        Some(beginning) => name.starts_with(beginning),
        None => name.to_lowercase().starts_with(&word.to_lowercase()),
    };
    let written = |name: &String| match quoted {
        Some(_) => format!("\"{}\"", name.replace('"', "\"\"")),
        None => {
            let mut written = String::new();
            quote_identifier(name, &mut written);
            written
        }
    };
    known.filter(begins).map(written).collect()
}

/// Those that begin with the word, in its case.
fn keywords(known: impl IntoIterator<Item = &'static str>, word: &str) -> Vec<String> {
    let lower = word.chars().any(char::is_lowercase);
    let upper = word.to_ascii_uppercase();
    let cased = |keyword: &str| if lower { keyword.to_ascii_lowercase() } else { keyword.to_string() };
    known.into_iter().filter(|keyword| keyword.starts_with(&upper)).map(cased).collect()
}

fn starting_with(known: &[&str], word: &str) -> Vec<String> {
    known.iter().filter(|name| name.starts_with(word)).map(|name| (*name).to_string()).collect()
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
        Ok(self.candidates(line, position))
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

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        coloured(line)
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

    fn assistant() -> Assistant {
        let relation = |name: &str, columns: &[&str]| Relation {
            name: name.to_string(),
            columns: columns.iter().map(|name| (*name).to_string()).collect(),
        };
        let relations = vec![
            relation("crew", &["name", "seat", "mission_id"]),
            relation("missions", &["mission_id", "Launch day"]),
        ];
        Assistant { relations }
    }

    fn at_the_end(text: &str) -> (usize, Vec<String>) {
        assistant().candidates(text, text.len())
    }

    #[test]
    fn relations_are_offered_where_one_is_expected() {
        assert_eq!(at_the_end("select * from mi"), (14, vec!["missions".to_string()]));
        assert_eq!(at_the_end("select * from crew, "), (20, vec!["crew".to_string(), "missions".to_string()]));
        assert_eq!(at_the_end("select * from ").1, ["crew", "missions"]);
        assert_eq!(at_the_end("select * from lat").1, ["lateral"]);
    }

    #[test]
    fn elsewhere_columns_and_keywords_are_too_in_the_case_that_is_typed() {
        assert_eq!(at_the_end("select se").1, ["seat", "select", "sequence", "serializable", "set"]);
        assert_eq!(at_the_end("SEL").1, ["SELECT"]);
        assert_eq!(at_the_end("select mi").1, ["missions", "mission_id"]);
    }

    #[test]
    fn the_statement_says_whose_columns_are_meant() {
        let offered =
            |text: &str| assistant().candidates(&text.replacen('|', "", 1), text.find('|').expect("a cursor")).1;
        assert_eq!(offered("select | from missions"), ["missions", "Launch day", "mission_id"].map(quoted));
        assert_eq!(offered("select c.| from crew c"), ["name", "seat", "mission_id"]);
        assert_eq!(offered("select x.s|"), ["seat"]);
        assert_eq!(offered("select m.l| from crew c, missions m"), ["\"Launch day\""]);
        assert_eq!(offered("select \"La| from missions"), ["\"Launch day\""]);
        assert_eq!(offered("select 'mi| from missions"), Vec::<String>::new());
        assert_eq!(offered("insert into crew (se|"), ["seat", "select", "sequence", "serializable", "set"]);
    }

    fn quoted(name: &str) -> String {
        let mut written = String::new();
        quote_identifier(name, &mut written);
        written
    }

    #[test]
    fn backslash_commands_and_their_arguments_are_completed() {
        assert_eq!(at_the_end("\\ti"), (1, vec!["timing".to_string()]));
        assert_eq!(at_the_end("\\d cr"), (3, vec!["crew".to_string()]));
        assert_eq!(at_the_end("\\format j"), (8, vec!["json".to_string()]));
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
