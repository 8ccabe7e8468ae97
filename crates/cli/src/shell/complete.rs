//! What the Tab key offers: keywords, tables, columns, backslash commands and file names, by what may stand there.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::Path;

use cairn_parser::token::{self, KeywordClass, find_keyword};
use cairn_parser::{Options, parse_statement};
use cairndb::reference::{Routine, RoutineKind, routines};
use cairndb::schema::{self, RelationKind, Schema};
use rustyline::completion::Completer;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::colours::coloured;
use super::cursor::{Place, Source, look};
use super::help;

/// Backslash commands, without their backslash.
const COMMANDS: [&str; 41] = [
    "!", "?", "c", "connect", "copy", "d", "dD", "df", "di", "dm", "dn", "ds", "dT", "dt", "dv", "e", "echo", "edit",
    "format", "g", "gset", "gx", "h", "i", "include", "l", "o", "out", "p", "print", "pset", "q", "r", "reset", "set",
    "sf", "sv", "timing", "unset", "watch", "x",
];

/// Behind so much of a statement its next lines have no colours any more: all of it is looked at with every key.
const COLOURED_BYTES: usize = 1 << 16;

/// A table or a view, and its columns.
struct Relation {
    name: String,
    columns: Vec<String>,
}

/// The line editor's helper.
#[derive(Default)]
pub struct Assistant {
    relations: Vec<Relation>,
    /// Functions and aggregates, once they are asked for.
    functions: OnceCell<Vec<String>>,
    /// The line is data: a tab is a tab.
    pub is_data: bool,
    /// The lines before the one that is typed, of the same statement.
    pub begun: String,
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
        let is_alias = situation.place == Place::Alias;
        let grammar = Grammar::before(&line[situation.start..situation.word_start], is_alias);
        let found = match &situation.place {
            Place::Inside => Vec::new(),
            Place::Statement => keywords(help::first_words(), word),
            Place::Relation => self.relations_or_keywords(word, &grammar),
            Place::Alias => keywords(help::KEYWORDS.into_iter().filter(|keyword| grammar.has(keyword)), word),
            Place::Column(of) => names(self.columns_of(of, &situation.sources), word),
            Place::Anything => self.anything(word, &situation.sources, &grammar),
        };
        (situation.word_start, found)
    }

    fn relations_or_keywords(&self, word: &str, grammar: &Grammar) -> Vec<String> {
        let found = names(self.relations.iter().map(|relation| &relation.name), word);
        if found.is_empty() { keywords(help::KEYWORDS.into_iter().filter(|k| grammar.has(k)), word) } else { found }
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
    fn anything(&self, word: &str, sources: &[Source], grammar: &Grammar) -> Vec<String> {
        let mut found = if grammar.has_names { self.named(word, sources) } else { Vec::new() };
        if !word.is_empty() {
            let functions = if grammar.has_calls { self.functions.get_or_init(functions) } else { &Vec::new() };
            let functions: Vec<String> =
                functions.iter().filter(|name| name.starts_with(&word.to_lowercase())).cloned().collect();
            let is_called =
                |keyword: &&str| functions.iter().any(|name| name[..name.len() - 1].eq_ignore_ascii_case(keyword));
            let words = help::KEYWORDS.into_iter().filter(|keyword| grammar.has(keyword) && !is_called(keyword));
            found.extend(keywords(words, word));
            found.extend(functions);
        }
        found
    }

    fn named(&self, word: &str, sources: &[Source]) -> Vec<String> {
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

/// What the grammar lets follow a text that is the beginning of a statement: the parser is asked.
struct Grammar<'a> {
    before: &'a str,
    /// The text is wrong already, or unknown to the parser: anything may follow.
    is_lost: bool,
    has_names: bool,
    has_calls: bool,
    /// A name here is another one for a table.
    is_alias: bool,
}

impl<'a> Grammar<'a> {
    fn before(before: &'a str, is_alias: bool) -> Grammar<'a> {
        let is_lost = !reads_on(before, "");
        let (has_names, has_calls) = (is_lost || reads_on(before, "zz"), is_lost || reads_on(before, "zz(1"));
        Grammar { before, is_lost, has_names, has_calls, is_alias }
    }

    /// Whether a keyword may follow, and as such: where a name may stand, one that is not reserved is a name.
    fn has(&self, keyword: &str) -> bool {
        let word = keyword.split(' ').next().unwrap_or(keyword).to_ascii_lowercase();
        let is_name = find_keyword(word.as_bytes()).is_some_and(|known| match known.class {
            KeywordClass::Unreserved => true,
            KeywordClass::ColumnName => self.is_alias,
            _ => false,
        });
        match (self.is_lost, is_name && self.has_names) {
            (true, _) => true,
            // Behind UPDATE's table, which may have another name, too.
            (_, true) => keyword == "SET" && reads_on(self.before, "SET zz = "),
            (_, false) => reads_on(self.before, keyword),
        }
    }
}

/// Whether the parser reads the text to its end, what is missing there aside.
fn reads_on(before: &str, more: &str) -> bool {
    let text = format!("{before}{more}");
    match parse_statement(&text, Options::default()) {
        Ok(_) => true,
        Err(error) => error.position as usize >= text.trim_end().len(),
    }
}

/// The names of functions with the parenthesis that follows them.
fn functions() -> Vec<String> {
    let is_called = |routine: &Routine| {
        // What is called without parentheses is a keyword.
        let bare = routine.name.starts_with("current_") || routine.name.ends_with("user");
        !matches!(routine.kind, RoutineKind::Operator)
            && routine.name.starts_with(|c: char| c.is_ascii_lowercase())
            && !bare
    };
    let mut names: Vec<String> = routines().into_iter().filter(is_called).map(|routine| routine.name + "(").collect();
    names.sort_unstable();
    names.dedup();
    names
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
        None => token::quoted(name),
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

impl Completer for Assistant {
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

    fn assistant() -> Assistant {
        let relation = |name: &str, columns: &[&str]| Relation {
            name: name.to_string(),
            columns: columns.iter().map(|name| (*name).to_string()).collect(),
        };
        let relations = vec![
            relation("crew", &["name", "seat", "mission_id"]),
            relation("missions", &["mission_id", "Launch day"]),
        ];
        Assistant { relations, functions: OnceCell::new(), is_data: false, begun: String::new() }
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
        assert_eq!(at_the_end("select sea").1, ["seat"]);
        assert_eq!(at_the_end("select set_c").1, ["set_config("]);
        assert_eq!(at_the_end("SEL").1, ["SELECT"]);
        assert_eq!(at_the_end("select mi").1, ["missions", "mission_id", "min(", "min_scale("]);
        assert_eq!(at_the_end("select coun").1, ["count("]);
    }

    #[test]
    fn the_statement_says_whose_columns_are_meant() {
        let offered =
            |text: &str| assistant().candidates(&text.replacen('|', "", 1), text.find('|').expect("a cursor")).1;
        assert_eq!(offered("select | from missions"), ["missions", "Launch day", "mission_id"].map(token::quoted));
        assert_eq!(offered("select c.| from crew c"), ["name", "seat", "mission_id"]);
        assert_eq!(offered("select x.s|"), ["seat"]);
        assert_eq!(offered("select m.l| from crew c, missions m"), ["\"Launch day\""]);
        assert_eq!(offered("select \"La| from missions"), ["\"Launch day\""]);
        assert_eq!(offered("select 'mi| from missions"), Vec::<String>::new());
        assert_eq!(offered("insert into crew (se|"), ["seat", "select"]);
    }

    #[test]
    fn keywords_are_offered_where_the_grammar_has_them() {
        let mut wrong = Vec::new();
        for (text, offered) in [
            ("update crew se", &["set"][..]),
            ("update crew set na", &["name"]),
            ("update crew set name = 'x' wh", &["where"]),
            ("delete from crew where sea", &["seat"]),
            ("select * from crew wh", &["where"]),
            ("select * from crew order by seat desc l", &["limit"]),
            ("select * from crew gr", &["group"]),
            ("select name from crew o", &["offset", "order"]),
            ("alter table crew a", &["add", "alter"]),
            ("create table t (a int pr", &["primary", "primary key"]),
            ("create ta", &["table"]),
            ("drop ta", &["table"]),
            ("insert into crew va", &["values"]),
            ("begin; select * from crew wh", &["where"]),
            // What is wrong already is no help.
            ("selct * fr", &["from"]),
        ] {
            let found = at_the_end(text).1;
            if found != offered {
                wrong.push(format!("{text}: {found:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn backslash_commands_and_their_arguments_are_completed() {
        assert_eq!(at_the_end("\\ti"), (1, vec!["timing".to_string()]));
        assert_eq!(at_the_end("\\d cr"), (3, vec!["crew".to_string()]));
        assert_eq!(at_the_end("\\format j"), (8, vec!["json".to_string()]));
    }
}
