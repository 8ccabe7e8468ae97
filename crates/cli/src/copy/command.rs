//! The text of a `\copy` command, read as psql reads it: `table [(columns)] | (query) from | to file | program 'command' | stdin | ... [options]`.
//!
//! What is copied, and the options, are the database's to understand: they go to its COPY as they stand here.

use std::path::PathBuf;

use cairn_parser::TokenKind;
use cairn_parser::token::{PieceKind, pieces};

use crate::words::{Word, Words};

/// A parsed `\copy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// What stands before the direction.
    source: String,
    pub direction: Direction,
    pub end: End,
    /// What stands behind the other end.
    options: String,
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    From,
    To,
}

/// Where the data comes from, or goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// STDIN, STDOUT: what stands behind the command, where results go.
    Own,
    /// PSTDIN, PSTDOUT: the process's standard input and output.
    Process,
    File(PathBuf),
    /// A command of the operating system's shell.
    Program(String),
}

impl Copy {
    /// Reads the arguments of the command; what is wrong with them otherwise.
    pub fn parse(text: &str) -> Result<Copy, String> {
        let text = text.trim().trim_end_matches(';').trim_end();
        let (at, direction) = direction(text)?;
        let source = text[..at].trim().to_owned();
        if source.is_empty() {
            return Err("a table or a query in parentheses is missing".to_owned());
        }
        let mut words = Words::new(text[at..].trim_start_matches(|c: char| c.is_alphabetic()));
        let end = match words.next()?.ok_or("a file name is missing")? {
            Word::Bare(word) if word.eq_ignore_ascii_case("program") => match words.next()? {
                Some(Word::Quoted(command)) => End::Program(command),
                _ => return Err("PROGRAM needs a command in quotes".to_owned()),
            },
            Word::Bare(word) => match word.to_ascii_lowercase().as_str() {
                "stdin" | "stdout" => End::Own,
                "pstdin" | "pstdout" => End::Process,
                _ => End::File(word.into()),
            },
            Word::Quoted(path) => End::File(path.into()),
        };
        Ok(Copy { source, direction, end, options: words.rest().to_owned() })
    }

    /// The COPY that does it, with the shell at the other end.
    pub fn statement(&self) -> String {
        let Copy { source, direction, options, .. } = self;
        let end = match direction {
            Direction::From => "FROM STDIN",
            Direction::To => "TO STDOUT",
        };
        // (A comment in a query ends before what follows.)
        let between = if source.contains("--") { "\n" } else { " " };
        format!("COPY {source}{between}{end} {options}").trim_end().to_owned()
    }

    /// Whether nothing is said of how the data is written, and the file's name says that it is CSV.
    pub fn may_mean_csv(&self) -> bool {
        let is_csv = |path: &PathBuf| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        let says = |word: &str| ["csv", "binary", "format"].iter().any(|format| word.eq_ignore_ascii_case(format));
        let words = self.options.split(|c: char| !c.is_alphanumeric());
        matches!(&self.end, End::File(path) if is_csv(path)) && !words.into_iter().any(says)
    }
}

/// Where the word stands that says which way: the first FROM or TO that is in no parentheses.
fn direction(text: &str) -> Result<(usize, Direction), String> {
    let mut depth = 0_usize;
    for piece in pieces(text) {
        match piece.kind {
            PieceKind::Token(TokenKind::LeftParen) => depth += 1,
            PieceKind::Token(TokenKind::RightParen) => depth = depth.saturating_sub(1),
            PieceKind::Token(TokenKind::From) if depth == 0 => return Ok((piece.start, Direction::From)),
            PieceKind::Token(TokenKind::To) if depth == 0 => return Ok((piece.start, Direction::To)),
            _ => {}
        }
    }
    Err(match depth {
        0 => "expected FROM or TO".to_owned(),
        _ => "a parenthesis is not closed".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_and_the_options_are_the_databases() {
        for (text, end, statement) in [
            (
                "public.People (id, \"Full Name\") from 'my file.csv' csv header delimiter ';' null 'NULL'",
                End::File("my file.csv".into()),
                "COPY public.People (id, \"Full Name\") FROM STDIN csv header delimiter ';' null 'NULL'",
            ),
            (
                "t to /tmp/x with (format csv, force_quote (a), encoding 'LATIN1');",
                End::File("/tmp/x".into()),
                "COPY t TO STDOUT with (format csv, force_quote (a), encoding 'LATIN1')",
            ),
            (
                "(select f(')'), 'to' from t -- to\n) to stdout header",
                End::Own,
                "COPY (select f(')'), 'to' from t -- to\n)\nTO STDOUT header",
            ),
            ("t FROM PSTDIN where a > 1", End::Process, "COPY t FROM STDIN where a > 1"),
            ("\"from\" from program 'echo ''1'''", End::Program("echo '1'".into()), "COPY \"from\" FROM STDIN"),
            ("t from 'it''s'", End::File("it's".into()), "COPY t FROM STDIN"),
            ("binary t to 't'", End::File("t".into()), "COPY binary t TO STDOUT"),
        ] {
            let copy = Copy::parse(text).unwrap();
            assert_eq!((&copy.end, &*copy.statement()), (&end, statement), "{text}");
        }
    }

    #[test]
    fn csv_is_meant_where_the_name_says_so_and_nothing_else_does() {
        for (text, means) in [
            ("t from x.csv", true),
            ("t from X.CSV header", true),
            ("t from x.csv csv", false),
            ("t from x.csv (format text)", false),
            ("t from x.txt", false),
            ("t from stdin", false),
        ] {
            assert_eq!(Copy::parse(text).unwrap().may_mean_csv(), means, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        let error = |text: &str| Copy::parse(text).unwrap_err();
        assert!(error("").contains("expected FROM or TO"));
        assert!(error("from f").contains("is missing"));
        assert!(error("t from").contains("is missing"));
        assert!(error("t into f").contains("expected FROM or TO"));
        assert!(error("(select 1 from f").contains("not closed"));
        assert!(error("t from 'f").contains("not closed"));
        assert!(error("t from program ls").contains("in quotes"));
    }
}
