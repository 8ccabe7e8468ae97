//! Failures and how they are told: PostgreSQL's shape, with the SQLSTATE, the line and a caret under the place.

use std::fmt::{self, Write as _};
use std::io::{self, Write as _};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::shown;

/// The most columns of a source line that are shown around the place of an error, as in psql.
const EXCERPT_COLUMNS: usize = 60;

/// Why a command of the shell did not succeed.
#[derive(Clone, Debug)]
pub enum Failure {
    /// A statement failed.
    Sql {
        /// Why.
        error: cairndb::Error,
        /// What the error's position counts in; empty where there is no text.
        text: String,
        /// What was going on around it.
        context: Option<String>,
    },
    /// Anything else, ready to be shown.
    Message(String),
    /// Something was told already, at the place where it happened.
    Told,
    /// Nobody reads the output any more.
    BrokenPipe,
}

impl Failure {
    /// The failure of a statement with this text.
    pub fn sql(error: cairndb::Error, text: &str) -> Failure {
        Failure::Sql { error, text: text.to_string(), context: None }
    }

    /// A file could not be read or written.
    pub fn file(path: &std::path::Path, error: &io::Error) -> Failure {
        Failure::Message(format!("{}: {error}", path.display()))
    }
}

/// Writes a line for who asked for the command's output. That nobody reads it any more ends the command.
pub fn say(line: impl fmt::Display) -> Result<(), Failure> {
    Ok(writeln!(io::stdout().lock(), "{line}")?)
}

/// Writes a line beside the output: where nobody reads it, there is nobody to tell.
pub fn warn(line: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

impl From<cairndb::Error> for Failure {
    fn from(error: cairndb::Error) -> Failure {
        Failure::Sql { error, text: String::new(), context: None }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::Message(format!("cannot write: {error}")),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Sql { error, text, context } => f.write_str(&describe(error, text, context.as_deref())),
            Failure::Message(message) => f.write_str(&shown(message)),
            Failure::Told => f.write_str("stopped at the first error"),
            Failure::BrokenPipe => f.write_str("the output was closed"),
        }
    }
}

/// All that is known of a failure.
pub fn verbose(failure: &Failure) -> String {
    let mut out = failure.to_string();
    let Failure::Sql { error, .. } = failure else { return out };
    for (name, part) in [
        ("SCHEMA NAME", error.schema()),
        ("TABLE NAME", error.table()),
        ("COLUMN NAME", error.column()),
        ("DATATYPE NAME", error.data_type()),
        ("CONSTRAINT NAME", error.constraint()),
    ] {
        if let Some(part) = part {
            let _ = write!(out, "\n{name}:  {}", shown(part));
        }
    }
    out
}

fn describe(error: &cairndb::Error, text: &str, context: Option<&str>) -> String {
    let mut out = format!("ERROR:  {}: {}", error.sqlstate().0, shown(error.message()));
    if let Some((line, caret)) = error.position().and_then(|position| excerpt(text, position)) {
        let _ = write!(out, "\n{line}\n{caret}");
    }
    let context = context.or(error.context());
    for (name, part) in [("DETAIL", error.detail()), ("HINT", error.hint()), ("CONTEXT", context)] {
        if let Some(part) = part {
            let _ = write!(out, "\n{name}:  {}", shown(part));
        }
    }
    out
}

/// The source line of a 1-based character position, cut to what fits, and a line with the caret under the place.
fn excerpt(text: &str, position: usize) -> Option<(String, String)> {
    let before: String = text.chars().take(position.checked_sub(1)?).collect();
    if before.len() == text.len() && text.is_empty() {
        return None;
    }
    let number = before.matches('\n').count() + 1;
    let line = text.lines().nth(number - 1).unwrap_or_default();
    let column = before.rsplit('\n').next().map_or(0, |start| start.chars().count());
    let prefix = format!("LINE {number}: ");
    let (shown, caret) = window(line, column);
    let indent = " ".repeat(prefix.width() + caret);
    Some((format!("{prefix}{shown}"), format!("{indent}^")))
}

/// The part of `line` around character `column`, and the column of the caret in it.
fn window(line: &str, column: usize) -> (String, usize) {
    let line: Vec<char> = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let width = |part: &[char]| part.iter().map(|c| c.width().unwrap_or(0)).sum::<usize>();
    let column = column.min(line.len());
    let (mut from, mut to) = (0, line.len());
    if width(&line) > EXCERPT_COLUMNS {
        // Outwards from the place: the line may be a megabyte long.
        from = column - fitting(line[..column].iter().rev(), EXCERPT_COLUMNS - 15);
        to = column + fitting(line[column..].iter(), EXCERPT_COLUMNS - width(&line[from..column]));
    }
    let lead = if from > 0 { "..." } else { "" };
    let trail = if to < line.len() { "..." } else { "" };
    let shown: String = line[from..to].iter().collect();
    (format!("{lead}{shown}{trail}"), lead.len() + width(&line[from..column]))
}

/// How many of these characters have room in so many columns.
fn fitting<'c>(characters: impl Iterator<Item = &'c char>, mut columns: usize) -> usize {
    let has_room = |character: &&char| {
        let left = columns.checked_sub(character.width().unwrap_or(0));
        columns = left.unwrap_or(0);
        left.is_some()
    };
    characters.take_while(has_room).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairndb::{Error, SqlState};

    #[test]
    fn an_error_shows_its_line_with_a_caret_under_the_place() {
        let error = Error::new(SqlState::UNDEFINED_COLUMN, "column \"b\" does not exist").at(14).with_hint("Look.");
        let shown = Failure::sql(error, "select a,\n   b from t").to_string();
        let expected = "ERROR:  42703: column \"b\" does not exist\nLINE 2:    b from t\n           ^\nHINT:  Look.";
        assert_eq!(shown, expected);
    }

    #[test]
    fn wide_characters_before_the_place_move_the_caret() {
        let (line, caret) = excerpt("select '漢字' x", 13).unwrap();
        assert_eq!(line, "LINE 1: select '漢字' x");
        assert_eq!(caret.width(), "LINE 1: select '漢字' x".width());
    }

    #[test]
    fn a_very_long_line_is_shown_at_once() {
        let text = format!("select {}", "漢".repeat(300_000));
        let start = std::time::Instant::now();
        let (line, _) = excerpt(&text, 299_000).unwrap();
        assert!(line.width() < 120 && line.contains("..."), "{line}");
        assert!(start.elapsed().as_secs() < 5);
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("select {}, wrong, {}", "aaaa, ".repeat(30), "bbbb, ".repeat(30));
        let position = text.find("wrong").unwrap() + 1;
        let (line, caret) = excerpt(&text, position).unwrap();
        assert!(line.width() <= 60 + 8 + 6, "{line}");
        assert!(
            line.chars().skip(caret.chars().count() - 1).collect::<String>().starts_with("wrong"),
            "{line}\n{caret}"
        );
    }

    #[test]
    fn a_place_at_the_end_or_beyond_is_shown_at_the_end() {
        assert_eq!(excerpt("select", 7).unwrap().1.len(), "LINE 1: select".len() + 1);
        assert_eq!(excerpt("select", 900).unwrap().1.len(), "LINE 1: select".len() + 1);
        assert!(excerpt("", 1).is_none());
    }
}
