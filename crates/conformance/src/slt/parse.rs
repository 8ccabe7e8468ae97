//! Text to records. Nothing is copied: records borrow the script.

use std::fmt;

/// How expected results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite's: one value per line.
    Classic,
    /// Ours: one row per line, values joined by `|`.
    Scenario,
}

/// How results are ordered before they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// As they come.
    None,
    /// Rows sorted by their texts.
    Rows,
    /// All values sorted, rows forgotten.
    Values,
}

/// What a query should return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected<'a> {
    /// The lines themselves.
    Lines(Vec<&'a str>),
    /// This many values, with this MD5.
    Hash {
        /// Number of values.
        values: usize,
        /// Hexadecimal MD5 of all values, each followed by a line feed.
        md5: &'a str,
    },
}

/// What a record asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordKind<'a> {
    /// A statement that must succeed, and change this many rows where given.
    Ok(Option<u64>),
    /// A statement that must fail.
    Error {
        /// The SQLSTATE, where given.
        code: Option<&'a str>,
        /// The message, where given (behind `#`).
        message: Option<&'a str>,
    },
    /// A query: one letter per column, order, result.
    Query {
        /// `I`, `R` or `T` per column.
        letters: &'a str,
        /// Order of comparison.
        sort: Sort,
        /// The result.
        expected: Expected<'a>,
    },
    /// The rest of the script is not for this engine.
    Halt,
}

/// One record of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// 1-based line of its `statement` or `query`.
    pub line: usize,
    /// Which connection runs it; empty for the first.
    pub connection: &'a str,
    /// False where a `skipif` or `onlyif` excludes the label asked for.
    pub applies: bool,
    /// What it asks for.
    pub kind: RecordKind<'a>,
    /// The statement.
    pub sql: String,
}

/// A script that cannot be understood.
#[derive(Debug)]
pub struct ParseError {
    /// 1-based line.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// The records of a script, as an engine with this label sees them.
pub fn parse<'a>(text: &'a str, label: &str) -> Result<Vec<Record<'a>>, ParseError> {
    let mut parser = Parser { lines: text.lines().collect(), at: 0, label: label.to_owned() };
    let mut records = Vec::new();
    while let Some(record) = parser.record()? {
        records.push(record);
    }
    Ok(records)
}

struct Parser<'a> {
    lines: Vec<&'a str>,
    at: usize,
    label: String,
}

impl<'a> Parser<'a> {
    fn record(&mut self) -> Result<Option<Record<'a>>, ParseError> {
        let (mut applies, mut connection) = (true, "");
        while let Some(line) = self.lines.get(self.at) {
            self.at += 1;
            let mut words = line.split_whitespace();
            let word = words.next().unwrap_or("");
            match word {
                "skipif" => applies &= words.next() != Some(&self.label),
                "onlyif" => applies &= words.next() == Some(&self.label),
                "connection" => connection = words.next().unwrap_or(""),
                "statement" | "query" | "halt" => {
                    let (at, (kind, sql)) = (self.at, self.body(word, line)?);
                    return Ok(Some(Record { line: at, connection, applies, kind, sql }));
                }
                "hash-threshold" => {}
                _ if word.is_empty() || word.starts_with('#') => {}
                other => return Err(self.error(format!("unknown record \"{other}\""))),
            }
        }
        Ok(None)
    }

    fn body(&mut self, word: &str, header: &'a str) -> Result<(RecordKind<'a>, String), ParseError> {
        let words: Vec<&str> = header.split_whitespace().skip(1).collect();
        let note = header.split_once(" # ").map(|(_, note)| note.trim());
        match word {
            "halt" => Ok((RecordKind::Halt, String::new())),
            "statement" => {
                let kind = self.statement_kind(&words, note)?;
                Ok((kind, self.sql()))
            }
            _ => {
                let letters = words.first().copied().unwrap_or("");
                let sort = self.sort(words.get(1).copied())?;
                let sql = self.sql();
                let expected = self.expected();
                Ok((RecordKind::Query { letters, sort, expected }, sql))
            }
        }
    }

    fn statement_kind(&self, words: &[&'a str], note: Option<&'a str>) -> Result<RecordKind<'a>, ParseError> {
        match *words {
            ["ok", ..] => Ok(RecordKind::Ok(None)),
            ["count", number, ..] => match number.parse() {
                Ok(count) => Ok(RecordKind::Ok(Some(count))),
                Err(_) => Err(self.error(format!("\"{number}\" is no count"))),
            },
            ["error", code, ..] if !code.starts_with('#') => Ok(RecordKind::Error { code: Some(code), message: note }),
            ["error", ..] => Ok(RecordKind::Error { code: None, message: None }),
            _ => Err(self.error("a statement is ok, error or count".into())),
        }
    }

    fn sort(&self, word: Option<&str>) -> Result<Sort, ParseError> {
        match word {
            None | Some("nosort") => Ok(Sort::None),
            Some("rowsort") => Ok(Sort::Rows),
            Some("valuesort") => Ok(Sort::Values),
            Some(other) => Err(self.error(format!("unknown order \"{other}\""))),
        }
    }

    /// The statement's lines, up to an empty line or `----`.
    fn sql(&mut self) -> String {
        let start = self.at;
        while self.lines.get(self.at).is_some_and(|line| !line.trim().is_empty() && *line != "----") {
            self.at += 1;
        }
        self.lines.get(start..self.at).unwrap_or_default().join("\n")
    }

    fn expected(&mut self) -> Expected<'a> {
        if self.lines.get(self.at) != Some(&"----") {
            return Expected::Lines(Vec::new());
        }
        let start = self.at + 1;
        self.at = start;
        while self.lines.get(self.at).is_some_and(|line| !line.is_empty()) {
            self.at += 1;
        }
        let lines = self.lines.get(start..self.at).unwrap_or_default();
        hash(lines).unwrap_or_else(|| Expected::Lines(lines.to_vec()))
    }

    fn error(&self, message: String) -> ParseError {
        ParseError { line: self.at, message }
    }
}

/// `30 values hashing to 3c13dee48d9356ae19af2515e05e6b54`
fn hash<'a>(lines: &[&'a str]) -> Option<Expected<'a>> {
    let [line] = lines else { return None };
    let (count, md5) = line.split_once(" values hashing to ")?;
    Some(Expected::Hash { values: count.parse().ok()?, md5 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "hash-threshold 8\n\n# a comment\nstatement ok\nCREATE TABLE t(\n  a INTEGER)\n\n\
        onlyif mysql # DIV\nquery I rowsort label-1\nSELECT 1 DIV 1\n----\n1\n\n\
        query TR valuesort\nSELECT 'a', 1.5\n----\n1.500\na\n\n\
        query I nosort\nSELECT a FROM t\n----\n30 values hashing to 3c13dee48d9356ae19af2515e05e6b54\n\n\
        connection two\nstatement error 22012 # division by zero\nSELECT 1/0\n\nstatement count 3\nDELETE FROM t\n";

    #[test]
    fn records_carry_lines_conditions_and_expectations() {
        let records = parse(SCRIPT, "postgresql").unwrap();
        assert_eq!(records.iter().map(|r| r.line).collect::<Vec<_>>(), [4, 9, 14, 20, 26, 29]);
        assert_eq!(records.iter().map(|r| r.applies).collect::<Vec<_>>(), [true, false, true, true, true, true]);
        assert_eq!(records[0].sql, "CREATE TABLE t(\n  a INTEGER)");
        let expected = Expected::Lines(vec!["1.500", "a"]);
        assert_eq!(records[2].kind, RecordKind::Query { letters: "TR", sort: Sort::Values, expected });
        let expected = Expected::Hash { values: 30, md5: "3c13dee48d9356ae19af2515e05e6b54" };
        assert_eq!(records[3].kind, RecordKind::Query { letters: "I", sort: Sort::None, expected });
        assert_eq!(
            (records[4].connection, &records[4].kind),
            ("two", &RecordKind::Error { code: Some("22012"), message: Some("division by zero") })
        );
        assert_eq!(records[5].kind, RecordKind::Ok(Some(3)));
    }

    #[test]
    fn nonsense_is_refused_with_its_line() {
        let error = parse("statement ok\nSELECT 1\n\nfrobnicate\n", "x").unwrap_err();
        assert_eq!(error.to_string(), "line 4: unknown record \"frobnicate\"");
    }
}
