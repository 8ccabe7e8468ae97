//! The text of a `\copy` command: `table [(columns)] from|to file [options]` or `(query) to file [options]`.

use std::path::PathBuf;

use crate::output::Dialect;

/// A parsed `\copy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    pub source: Source,
    pub direction: Direction,
    /// `None`: the shell's own output.
    pub file: Option<PathBuf>,
    pub header: bool,
    pub dialect: Dialect,
}

/// What is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Table { name: String, columns: Vec<String> },
    Query(String),
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    From,
    To,
}

impl Copy {
    /// Reads the arguments of the command; what is wrong with them otherwise.
    pub fn parse(text: &str) -> Result<Copy, String> {
        let mut words = Words::new(text);
        let source = parse_source(&mut words)?;
        let direction = match words.keyword()?.as_str() {
            "from" => Direction::From,
            "to" => Direction::To,
            other => return Err(format!("\\copy: expected FROM or TO, not \"{other}\"")),
        };
        if direction == Direction::From && matches!(source, Source::Query(_)) {
            return Err("\\copy: a query can only be copied TO a file".to_string());
        }
        let file = match words.next()?.ok_or("\\copy: a file name is missing")? {
            Word::Bare(word) if word.eq_ignore_ascii_case("stdout") && direction == Direction::To => None,
            word => Some(PathBuf::from(word.into_text())),
        };
        let mut copy = Copy { source, direction, file, header: false, dialect: Dialect::default() };
        copy.read_options(&mut words)?;
        Ok(copy)
    }

    fn read_options(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        while let Some(word) = words.next()? {
            let Word::Bare(word) = word else { return Err(unexpected(&word.into_text())) };
            match word.to_ascii_lowercase().as_str() {
                "with" | "csv" | "as" | "(" | ")" | "," => {}
                "header" => self.header = words.switch()?,
                "format" => match words.value("format")?.as_str() {
                    "csv" => {}
                    other => return Err(format!("\\copy: format \"{other}\" is not supported, only csv is")),
                },
                "delimiter" => self.dialect.delimiter = one_byte("delimiter", &words.value("delimiter")?)?,
                "quote" => self.dialect.quote = one_byte("quote", &words.value("quote")?)?,
                "null" => self.dialect.null = words.value("null")?,
                _ => return Err(unexpected(&word)),
            }
        }
        match self.dialect.delimiter == self.dialect.quote {
            true => Err("\\copy: delimiter and quote must be different".to_string()),
            false => Ok(()),
        }
    }
}

fn unexpected(word: &str) -> String {
    format!("\\copy: unexpected \"{word}\" (options: csv, header, delimiter 'x', quote 'x', null 'text')")
}

fn one_byte(option: &str, text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if !matches!(byte, b'\n' | b'\r') => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        _ => Err(format!("\\copy: {option} must be a single one-byte character")),
    }
}

fn parse_source(words: &mut Words<'_>) -> Result<Source, String> {
    if let Some(query) = words.parenthesized()? {
        return Ok(Source::Query(query));
    }
    let name = words.next()?.ok_or("\\copy: a table or a query in parentheses is missing")?.into_name();
    let columns = match words.parenthesized()? {
        Some(list) => column_names(&list)?,
        None => Vec::new(),
    };
    Ok(Source::Table { name, columns })
}

fn column_names(list: &str) -> Result<Vec<String>, String> {
    let mut words = Words::new(list);
    let mut names = Vec::new();
    while let Some(word) = words.next()? {
        if word != Word::Bare(",".to_string()) {
            names.push(word.into_name());
        }
    }
    Ok(names)
}

/// A word of the command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Bare(String),
    Quoted(String),
}

impl Word {
    fn into_text(self) -> String {
        match self {
            Word::Bare(text) | Word::Quoted(text) => text,
        }
    }

    /// As a name in SQL: folded to lower case unless quoted; `public.` says nothing.
    fn into_name(self) -> String {
        match self {
            Word::Bare(text) => {
                let name = text.to_lowercase();
                name.strip_prefix("public.").map_or(name.clone(), str::to_string)
            }
            Word::Quoted(text) => text,
        }
    }
}

struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Words<'a> {
        Words { rest: text.trim().trim_end_matches(';') }
    }

    fn next(&mut self) -> Result<Option<Word>, String> {
        self.rest = self.rest.trim_start();
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        match first {
            '\'' | '"' => self.quoted(first).map(|text| Some(Word::Quoted(text))),
            '(' | ')' | ',' => Ok(Some(Word::Bare(self.split(1)))),
            _ => {
                let end = self.rest.find(|c: char| c.is_whitespace() || "(),".contains(c)).unwrap_or(self.rest.len());
                Ok(Some(Word::Bare(self.split(end))))
            }
        }
    }

    fn keyword(&mut self) -> Result<String, String> {
        Ok(self.next()?.map(Word::into_text).unwrap_or_default().to_lowercase())
    }

    fn value(&mut self, option: &str) -> Result<String, String> {
        match self.next()? {
            Some(Word::Bare(word)) if word.eq_ignore_ascii_case("as") => self.value(option),
            Some(word) => Ok(word.into_text()),
            None => Err(format!("\\copy: {option} needs a value")),
        }
    }

    /// The value of a switch, which may be left out.
    fn switch(&mut self) -> Result<bool, String> {
        let before = self.rest;
        match self.keyword()?.as_str() {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            _ => {
                self.rest = before;
                Ok(true)
            }
        }
    }

    fn split(&mut self, end: usize) -> String {
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.to_string()
    }

    /// A quoted word: doubled quotes stand for one.
    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1).peekable();
        while let Some((at, c)) = characters.next() {
            match c {
                c if c == quote && characters.peek().is_some_and(|(_, next)| *next == quote) => {
                    characters.next();
                    text.push(quote);
                }
                c if c == quote => {
                    self.split(at + 1);
                    return Ok(text);
                }
                c => text.push(c),
            }
        }
        Err(format!("\\copy: a {quote} is not closed"))
    }

    /// What stands in the parentheses that come next, if any do; strings in it may hold parentheses.
    fn parenthesized(&mut self) -> Result<Option<String>, String> {
        self.rest = self.rest.trim_start();
        if !self.rest.starts_with('(') {
            return Ok(None);
        }
        let (mut depth, mut quote) = (0usize, None);
        for (at, c) in self.rest.char_indices() {
            match (c, quote) {
                (c, Some(open)) if c == open => quote = None,
                ('\'' | '"', None) => quote = Some(c),
                ('(', None) => depth += 1,
                (')', None) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let inside = self.split(at + 1);
                return Ok(Some(inside[1..inside.len() - 1].to_string()));
            }
        }
        Err("\\copy: a parenthesis is not closed".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_copied_from_a_file_with_options() {
        let copy =
            Copy::parse("public.People (id, \"Full Name\") from 'my file.csv' csv header delimiter ';' null 'NULL'");
        let columns = vec!["id".to_string(), "Full Name".to_string()];
        let expected = Copy {
            source: Source::Table { name: "people".to_string(), columns },
            direction: Direction::From,
            file: Some("my file.csv".into()),
            header: true,
            dialect: Dialect { delimiter: b';', quote: b'"', null: "NULL".to_string() },
        };
        assert_eq!(copy, Ok(expected));
    }

    #[test]
    fn options_may_stand_in_parentheses() {
        let copy = Copy::parse("t to /tmp/x.csv with (format csv, header false, delimiter E'x', quote '''')");
        assert!(copy.is_err());
        let copy = Copy::parse("t to /tmp/x.csv with (format csv, header false, quote '''');").unwrap();
        assert_eq!((copy.header, copy.dialect.quote), (false, b'\''));
    }

    #[test]
    fn a_query_keeps_its_own_parentheses_and_strings() {
        let copy = Copy::parse("(select f(')') from t) to stdout header").unwrap();
        assert_eq!(copy.source, Source::Query("select f(')') from t".to_string()));
        assert_eq!((copy.file, copy.header), (None, true));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let error = |text: &str| Copy::parse(text).unwrap_err();
        assert!(error("").contains("is missing"));
        assert!(error("t into f").contains("expected FROM or TO"));
        assert!(error("(select 1) from f").contains("only be copied TO"));
        assert!(error("t from f binary").contains("unexpected \"binary\""));
        assert!(error("t from f format text").contains("only csv"));
        assert!(error("t from 'f").contains("not closed"));
        assert!(error("t from f delimiter 'ab'").contains("one-byte"));
    }
}
