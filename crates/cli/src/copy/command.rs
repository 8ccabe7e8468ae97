//! The text of a `\copy` command: `table [(columns)] from|to file [options]` or `(query) to file [options]`.

use std::path::PathBuf;

use crate::output::Dialect;
use crate::words::{Word, Words};

/// What stands for itself without blanks around it.
const PUNCTUATION: &str = "(),";

/// A parsed `\copy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    pub source: Source,
    pub direction: Direction,
    /// `None`: the shell's own output, or what stands behind the command.
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
        let mut words = Words::new(text, PUNCTUATION);
        let source = parse_source(&mut words)?;
        let direction = match words.keyword()?.as_str() {
            "from" => Direction::From,
            "to" => Direction::To,
            other => return Err(format!("expected FROM or TO, not \"{other}\"")),
        };
        if direction == Direction::From && matches!(source, Source::Query(_)) {
            return Err("a query can only be copied TO a file".to_string());
        }
        let file = match words.next()?.ok_or("a file name is missing")? {
            Word::Bare(word) if word.eq_ignore_ascii_case("stdout") && direction == Direction::To => None,
            Word::Bare(word) if word.eq_ignore_ascii_case("stdin") && direction == Direction::From => None,
            word => Some(PathBuf::from(word.into_text())),
        };
        let mut copy = Copy { source, direction, file, header: false, dialect: Dialect::default() };
        copy.read_options(&mut words)?;
        Ok(copy)
    }

    /// The COPY that does it, with the shell at the other end.
    pub fn statement(&self, direction: Direction) -> String {
        let name = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
        let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let byte = |byte: u8| text(&char::from(byte).to_string());
        let source = match &self.source {
            Source::Query(query) => format!("({query}\n)"),
            Source::Table { name: table, columns } if columns.is_empty() => name(table),
            Source::Table { name: table, columns } => {
                let columns: Vec<String> = columns.iter().map(name).collect();
                format!("{} ({})", name(table), columns.join(", "))
            }
        };
        let end = match direction {
            Direction::From => "FROM STDIN",
            Direction::To => "TO STDOUT",
        };
        let Dialect { delimiter, quote, null } = &self.dialect;
        let (delimiter, quote, null) = (byte(*delimiter), byte(*quote), text(null));
        let header = self.header;
        format!(
            "COPY {source} {end} WITH (FORMAT csv, HEADER {header}, DELIMITER {delimiter}, QUOTE {quote}, NULL {null})"
        )
    }

    fn read_options(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        while let Some(word) = words.next()? {
            let Word::Bare(word) = word else { return Err(unexpected(&word.into_text())) };
            match word.to_ascii_lowercase().as_str() {
                "with" | "csv" | "as" | "(" | ")" | "," => {}
                "header" => self.header = words.switch()?,
                "format" => match words.value("format")?.as_str() {
                    "csv" => {}
                    other => return Err(format!("format \"{other}\" is not supported, only csv is")),
                },
                "delimiter" => self.dialect.delimiter = one_byte("delimiter", &words.value("delimiter")?)?,
                "quote" => self.dialect.quote = one_byte("quote", &words.value("quote")?)?,
                "null" => self.dialect.null = words.value("null")?,
                _ => return Err(unexpected(&word)),
            }
        }
        match self.dialect.delimiter == self.dialect.quote {
            true => Err("delimiter and quote must be different".to_string()),
            false => Ok(()),
        }
    }
}

fn unexpected(word: &str) -> String {
    format!("unexpected \"{word}\" (options: csv, header, delimiter 'x', quote 'x', null 'text')")
}

fn one_byte(option: &str, text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if !matches!(byte, b'\n' | b'\r') => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        _ => Err(format!("{option} must be a single one-byte character")),
    }
}

fn parse_source(words: &mut Words<'_>) -> Result<Source, String> {
    if let Some(query) = words.parenthesized()? {
        return Ok(Source::Query(query));
    }
    let name = words.next()?.ok_or("a table or a query in parentheses is missing")?.into_name();
    let columns = match words.parenthesized()? {
        Some(list) => column_names(&list)?,
        None => Vec::new(),
    };
    Ok(Source::Table { name, columns })
}

fn column_names(list: &str) -> Result<Vec<String>, String> {
    let mut words = Words::new(list, PUNCTUATION);
    let mut names = Vec::new();
    while let Some(word) = words.next()? {
        if word != Word::Bare(",".to_string()) {
            names.push(word.into_name());
        }
    }
    Ok(names)
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
    fn it_is_a_copy_of_the_databases() {
        let copy = Copy::parse("t (\"A b\") from f delimiter ';' quote '''' null 'it''s'").unwrap();
        let expected =
            "COPY \"t\" (\"A b\") FROM STDIN WITH (FORMAT csv, HEADER false, DELIMITER ';', QUOTE '''', NULL 'it''s')";
        assert_eq!(copy.statement(copy.direction), expected);
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
