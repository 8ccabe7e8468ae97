//! What may stand at the cursor, by the names of a schema and by the grammar, which the parser is asked for.

use std::sync::OnceLock;

use cairn_parser::token::{self, KeywordClass, find_keyword};
use cairn_parser::{Options, parse_statement};
use cairndb::reference::{self, Routine, RoutineKind, routines};
use cairndb::schema::{self, RelationKind, Schema};

use crate::cursor::{Place, Source, look};
use crate::words::{KEYWORDS, first_words};

/// A table or a view, and its columns.
struct Relation {
    name: String,
    /// As SQL has it: in quotes where it needs them, with its schema where another would be found without.
    shown: String,
    columns: Vec<String>,
}

/// Offers what may stand at a cursor, once it has [learned](Completer::learn) what there is.
#[derive(Default)]
pub struct Completer {
    relations: Vec<Relation>,
}

/// Functions and aggregates, once they are asked for.
static FUNCTIONS: OnceLock<Vec<String>> = OnceLock::new();

impl Completer {
    /// Takes the names that the schema has now: see [`Completer::relations`].
    pub fn learn(&mut self, schema: &Schema) {
        let read = |relation: &schema::Relation| {
            let columns = match &relation.kind {
                RelationKind::Table(table) | RelationKind::MaterializedView(table, _) => {
                    table.columns.iter().map(|column| column.name.clone()).collect()
                }
                RelationKind::View(view) => view.columns.iter().map(|(name, _)| name.clone()).collect(),
                _ => return None,
            };
            Some(Relation { name: relation.name.clone(), shown: relation.shown.clone(), columns })
        };
        self.relations = schema.relations().iter().filter_map(read).collect();
    }

    /// Where the word before the cursor begins, and what it may become; both places are in bytes.
    ///
    /// ```
    /// let offered = cairn_complete::Completer::default().candidates("SELECT * FROM crew WH", 21);
    /// assert_eq!(offered, (19, vec!["WHERE".to_string()]));
    /// ```
    pub fn candidates(&self, text: &str, cursor: usize) -> (usize, Vec<String>) {
        let line = text.get(..cursor).unwrap_or(text);
        let situation = look(text, line.len());
        let word = &line[situation.word_start..];
        let is_alias = situation.place == Place::Alias;
        let grammar = Grammar::before(&line[situation.start..situation.word_start], is_alias);
        let found = match &situation.place {
            Place::Inside => Vec::new(),
            Place::Statement => keywords(first_words(), word),
            Place::Relation => self.relations_or_keywords(word, &grammar),
            Place::Alias => keywords(KEYWORDS.into_iter().filter(|keyword| grammar.has(keyword)), word),
            Place::Column(of) => names(self.columns_of(of, &situation.sources), word),
            Place::Anything => self.anything(word, &situation.sources, &grammar),
            Place::Setting { changed } => settings(*changed, word, &grammar),
            Place::Value(of) => values(of, word),
        };
        (situation.word_start, found)
    }

    /// The tables and views whose names begin with the word, as SQL writes them.
    ///
    /// ```
    /// # let connection = cairndb::Database::open_in_memory()?.connect()?;
    /// connection.execute("CREATE TABLE \"Crew\" (name text)", ())?;
    /// let mut completer = cairn_complete::Completer::default();
    /// completer.learn(&connection.schema()?);
    /// assert_eq!(completer.relations("cr"), ["\"Crew\""]);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn relations(&self, word: &str) -> Vec<String> {
        let begun = |relation: &&Relation| begins(&relation.name, word) || relation.shown.starts_with(word);
        let written = |relation: &Relation| match word.starts_with('"') && relation.shown == relation.name {
            true => in_quotes(&relation.name),
            false => relation.shown.clone(),
        };
        self.relations.iter().filter(begun).map(written).collect()
    }

    fn relations_or_keywords(&self, word: &str, grammar: &Grammar) -> Vec<String> {
        let found = self.relations(word);
        if found.is_empty() { keywords(KEYWORDS.into_iter().filter(|k| grammar.has(k)), word) } else { found }
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
            let functions = if grammar.has_calls { FUNCTIONS.get_or_init(functions) } else { &Vec::new() };
            let functions: Vec<String> =
                functions.iter().filter(|name| name.starts_with(&word.to_lowercase())).cloned().collect();
            let is_called =
                |keyword: &&str| functions.iter().any(|name| name[..name.len() - 1].eq_ignore_ascii_case(keyword));
            let words = KEYWORDS.into_iter().filter(|keyword| grammar.has(keyword) && !is_called(keyword));
            found.extend(keywords(words, word));
            found.extend(functions);
        }
        found
    }

    fn named(&self, word: &str, sources: &[Source]) -> Vec<String> {
        let mut found = names(sources.iter().map(|source| &source.alias), word);
        if sources.is_empty() {
            found.extend(self.relations(word));
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
}

/// Words that may stand where a setting does, and how it goes on then: most of them would be names otherwise.
const BESIDE_SETTINGS: [(&str, &str); 7] = [
    ("ALL", "ALL"),
    ("CONSTRAINTS", "CONSTRAINTS ALL DEFERRED"),
    ("LOCAL", "LOCAL zz = 1"),
    ("ROLE", "ROLE NONE"),
    ("SESSION", "SESSION zz = 1"),
    ("TIME ZONE", "TIME ZONE 'zz'"),
    ("TRANSACTION", "TRANSACTION READ ONLY"),
];

/// The settings whose names begin with the word, and the other words that may stand there, once one is begun.
fn settings(changed: bool, word: &str, grammar: &Grammar) -> Vec<String> {
    let known = reference::settings().filter(|of| of.is_changeable || !changed).map(|of| of.name);
    let mut found: Vec<String> = known.filter(|name| begins(name, word)).map(str::to_string).collect();
    if !word.is_empty() {
        let is_next = |(_, example): &(&str, &str)| reads_on(grammar.before, example);
        found.extend(keywords(BESIDE_SETTINGS.into_iter().filter(is_next).map(|(keyword, _)| keyword), word));
    }
    found
}

/// The values of a setting that begin with the word.
fn values(setting: &str, word: &str) -> Vec<String> {
    let listed = reference::settings().find(|of| of.name.eq_ignore_ascii_case(setting));
    let listed = listed.iter().flat_map(|of| of.values).filter(|value| begins(value, word));
    // (Not every value is a word that stands without quotes.)
    let is_bare = |value: &str| value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let written = |value: &&str| if is_bare(value) { (*value).to_string() } else { format!("'{value}'") };
    let mut found: Vec<String> = listed.map(written).collect();
    found.extend(keywords(["DEFAULT"], word));
    found
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
    let written = |name: &String| match word.starts_with('"') {
        true => in_quotes(name),
        false => token::quoted(name),
    };
    known.filter(|name| begins(name, word)).map(written).collect()
}

fn in_quotes(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Whether a name begins with what was typed, which may be in quotes.
fn begins(name: &str, word: &str) -> bool {
    match word.strip_prefix('"') {
        Some(beginning) => name.starts_with(beginning),
        None => name.to_lowercase().starts_with(&word.to_lowercase()),
    }
}

/// Those that begin with the word, in its case.
fn keywords(known: impl IntoIterator<Item = &'static str>, word: &str) -> Vec<String> {
    let lower = word.chars().any(char::is_lowercase);
    let upper = word.to_ascii_uppercase();
    let cased = |keyword: &str| if lower { keyword.to_ascii_lowercase() } else { keyword.to_string() };
    known.into_iter().filter(|keyword| keyword.starts_with(&upper)).map(cased).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completer() -> Completer {
        let relation = |name: &str, columns: &[&str]| Relation {
            name: name.to_string(),
            shown: token::quoted(name),
            columns: columns.iter().map(|name| (*name).to_string()).collect(),
        };
        let relations = vec![
            relation("crew", &["name", "seat", "mission_id"]),
            relation("missions", &["mission_id", "Launch day"]),
            relation("Vehicle", &["mass"]),
        ];
        Completer { relations }
    }

    fn at_the_end(text: &str) -> (usize, Vec<String>) {
        completer().candidates(text, text.len())
    }

    #[test]
    fn relations_are_offered_where_one_is_expected() {
        assert_eq!(at_the_end("select * from mi"), (14, vec!["missions".to_string()]));
        assert_eq!(
            at_the_end("select * from crew, "),
            (20, ["crew", "missions", "\"Vehicle\""].map(str::to_string).to_vec())
        );
        assert_eq!(at_the_end("select * from ").1, ["crew", "missions", "\"Vehicle\""]);
        assert_eq!(at_the_end("select * from crew, ve").1, ["\"Vehicle\""]);
        assert_eq!(at_the_end("select * from \"Ve").1, ["\"Vehicle\""]);
        assert_eq!(at_the_end("select * from \"cr").1, ["\"crew\""]);
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
            |text: &str| completer().candidates(&text.replacen('|', "", 1), text.find('|').expect("a cursor")).1;
        assert_eq!(offered("select | from missions"), ["missions", "Launch day", "mission_id"].map(token::quoted));
        assert_eq!(offered("select c.| from crew c"), ["name", "seat", "mission_id"]);
        assert_eq!(offered("select v.| from \"Vehicle\" v"), ["mass"]);
        assert_eq!(offered("select x.s|"), ["seat"]);
        assert_eq!(offered("select m.l| from crew c, missions m"), ["\"Launch day\""]);
        assert_eq!(offered("select \"La| from missions"), ["\"Launch day\""]);
        assert_eq!(offered("select 'mi| from missions"), Vec::<String>::new());
        assert_eq!(offered("insert into crew (se|"), ["seat", "select"]);
    }

    #[test]
    fn settings_and_their_values_are_offered() {
        assert_eq!(at_the_end("set work_m").1, ["work_mem"]);
        assert_eq!(at_the_end("SET LOCAL statement_t"), (10, vec!["statement_timeout".to_string()]));
        assert_eq!(at_the_end("set datest").1, ["DateStyle"]);
        assert_eq!(at_the_end("SET LOC").1, ["lock_timeout", "LOCAL"]);
        assert_eq!(at_the_end("reset loc").1, ["lock_timeout"]);
        assert_eq!(at_the_end("set ti").1, ["TimeZone", "time zone"]);
        assert_eq!(at_the_end("set synchronous_commit to o").1, ["on", "off"]);
        assert_eq!(at_the_end("set synchronous_commit = d").1, ["default"]);
        // Shown, but not changed.
        assert_eq!(at_the_end("show server_version_n").1, ["server_version_num"]);
        assert_eq!(at_the_end("reset server_version_n").1, Vec::<String>::new());
        assert!(at_the_end("show ").1.len() > 100);
        assert_eq!(at_the_end("show al").1, ["all"]);
        assert_eq!(at_the_end("update crew set se").1, ["seat"]);
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
}
