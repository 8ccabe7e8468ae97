//! A script's statements, one after another: cut at semicolons without a look at what they say, for who only wants their
//! texts, or cut and parsed in one pass, for who runs them.

use cairn_parser::token::split_statements;
use cairn_parser::{FirstStatement, Room, parse_first};

use super::limits::{MAX_TEXT_BYTES, OPTIONS};
use super::parse::{ParsedStatement, refusal};
use crate::{Error, Result, SqlState};

/// Bytes that are cut at a time: places in them are counted in 32 bits.
const WINDOW: usize = u32::MAX as usize;

/// One statement's text within a script, without the spaces and comments before it and without its semicolon.
///
/// ```
/// let script = "SELECT 1; SELECT +";
/// let last = cairndb::split_script(script).last().expect("two");
/// assert_eq!((last.text, last.start, last.characters_before), ("SELECT +", 10, 10));
/// assert_eq!(last.parse().unwrap_err().position(), Some(19));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceStatement<'a> {
    /// The statement.
    pub text: &'a str,
    /// Byte offset of `text` in the script.
    pub start: usize,
    /// Characters of the script before `text`.
    pub characters_before: usize,
}

impl SourceStatement<'_> {
    /// Parses the statement. Errors carry positions in the script.
    pub fn parse(&self) -> Result<ParsedStatement> {
        ParsedStatement::parse(self.text, self.characters_before)
    }
}

/// The statements of `text`, found one at a time.
///
/// ```
/// let statements: Vec<&str> = cairndb::split_script("SELECT ';'; -- one\n SELECT 2").map(|found| found.text).collect();
/// assert_eq!(statements, ["SELECT ';'", "SELECT 2"]);
/// ```
pub fn split_script(text: &str) -> Script<'_> {
    Script { text, at: 0, counted: 0, characters: 0 }
}

/// Iterator over a script's statements; empty statements are skipped.
///
/// ```
/// assert_eq!(cairndb::split_script("SELECT 1; SELECT 2;").count(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Script<'a> {
    text: &'a str,
    at: usize,
    /// `characters` counts the characters of the text before byte `counted`.
    counted: usize,
    characters: usize,
}

impl<'a> Iterator for Script<'a> {
    type Item = SourceStatement<'a>;

    fn next(&mut self) -> Option<SourceStatement<'a>> {
        let rest = self.text.get(self.at..)?;
        let window = beginning(rest, WINDOW);
        let found = split_statements(window).next()?;
        // No statement of this size is run, but it is told as what it is, whole.
        let is_cut = window.len() < rest.len() && !found.complete;
        let text = if is_cut { rest.get(found.start..)? } else { found.text };
        let start = self.at + found.start;
        self.at = start + text.len();
        Some(SourceStatement { text, start, characters_before: self.count_to(start) })
    }
}

impl<'a> Script<'a> {
    /// The next statement's text, and what it is, parsed in the buffers of the one before.
    pub(crate) fn next_parsed(&mut self, room: &mut Room) -> Option<(&'a str, Result<ParsedStatement>)> {
        let rest = self.text.get(self.at..)?;
        let window = beginning(rest, MAX_TEXT_BYTES);
        match parse_first(window, OPTIONS, room) {
            Ok(None) if window.len() == rest.len() => None,
            Ok(Some(first)) if first.complete || window.len() == rest.len() => Some(self.parsed(window, first)),
            // Too much for one statement, or for what is blank before it.
            _ => self.next().map(|statement| (statement.text, statement.parse())),
        }
    }

    /// The data that stands behind the statement that came last: from the next line to one of `\\.`, or to the end. SQLSTATE
    /// 42601 where something stands behind the statement on its line.
    pub(crate) fn take_data(&mut self) -> Result<&'a str> {
        let rest = self.text.get(self.at..).unwrap_or("");
        let (behind, data) = rest.split_once('\n').unwrap_or((rest, ""));
        let behind = behind.trim_start_matches(';').trim();
        if !behind.is_empty() && !behind.starts_with("--") {
            let message = "COPY ... FROM STDIN must be the last statement on its line";
            let hint = "Its data begins on the next line.";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).with_hint(hint));
        }
        let start = self.text.len() - data.len();
        let mut end = 0;
        for line in data.split_inclusive('\n') {
            if line.trim_end_matches(['\n', '\r']) == "\\." {
                self.at = start + end + line.len();
                return Ok(&data[..end]);
            }
            end += line.len();
        }
        self.at = self.text.len();
        Ok(data)
    }

    fn parsed(&mut self, window: &'a str, first: FirstStatement<'a>) -> (&'a str, Result<ParsedStatement>) {
        let FirstStatement { parsed, span, behind, .. } = first;
        let characters_before = self.count_to(self.at);
        self.at += behind;
        let parsed = match parsed {
            Ok(mut parsed) => {
                parsed.tree.cut_source(behind);
                Ok(ParsedStatement::of(parsed, characters_before))
            }
            Err(error) => Err(refusal(&error, window, characters_before)),
        };
        (window.get(span.start as usize..span.end as usize).unwrap_or(""), parsed)
    }

    fn count_to(&mut self, byte: usize) -> usize {
        self.characters += self.text.get(self.counted..byte).map_or(0, |piece| piece.chars().count());
        self.counted = byte;
        self.characters
    }
}

/// The first bytes of a text, at most `most`.
fn beginning(text: &str, most: usize) -> &str {
    (0..=text.len().min(most)).rev().find_map(|end| text.get(..end)).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<&str> {
        split_script(text).map(|statement| statement.text).collect()
    }

    #[test]
    fn a_body_is_one_statement_to_its_end() {
        let body = "CREATE OR REPLACE FUNCTION f(a int) RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE a WHEN $1 THEN 2 END; END";
        assert_eq!(pieces(&format!("{body}; SELECT 1; BEGIN; SELECT 2")), [body, "SELECT 1", "BEGIN", "SELECT 2"]);
        assert_eq!(pieces("CREATE TABLE atomic (a int); SELECT 1").len(), 2);
        assert_eq!(pieces("CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2;").len(), 1);
    }

    #[test]
    fn statements_end_at_semicolons_outside_quotes_and_comments() {
        let script =
            "select ';' ; -- a;b\n select \";\"; /* ; /* ; */ */ select $$;$$; select $x$ ; $x$;; select E'\\';'";
        let expected = ["select ';'", "select \";\"", "select $$;$$", "select $x$ ; $x$", "select E'\\';'"];
        assert_eq!(pieces(script), expected);
    }

    #[test]
    fn data_stands_behind_a_statement_up_to_its_mark() {
        let mut script = split_script("copy t from stdin;\n'\t\"\n/*;\n\\.\nselect 1; copy u from stdin; -- data\nx");
        let mut room = Room::default();
        assert_eq!(script.next_parsed(&mut room).map(|(text, _)| text), Some("copy t from stdin"));
        assert_eq!(script.take_data().expect("data"), "'\t\"\n/*;\n");
        assert_eq!(script.next_parsed(&mut room).map(|(text, _)| text), Some("select 1"));
        assert!(script.clone().take_data().is_err());
        assert_eq!(script.next_parsed(&mut room).map(|(text, _)| text), Some("copy u from stdin"));
        assert_eq!(script.take_data().expect("data"), "x");
        assert!(script.next_parsed(&mut room).is_none());
    }

    #[test]
    fn doubled_quotes_and_parameters_do_not_confuse() {
        assert_eq!(
            pieces("select 'it''s;' ; select $1; select a$b$c;"),
            ["select 'it''s;'", "select $1", "select a$b$c"]
        );
    }

    #[test]
    fn unterminated_pieces_run_to_the_end() {
        assert_eq!(pieces("select 1; select 'a; b"), ["select 1", "select 'a; b"]);
        assert_eq!(pieces("select 1 /* ; "), ["select 1 /* ;"]);
        assert_eq!(pieces("  ; -- nothing"), Vec::<&str>::new());
    }

    #[test]
    fn a_statement_knows_its_place() {
        let statements: Vec<_> = split_script("select 'é';\n  select 2").collect();
        assert_eq!((statements[1].start, statements[1].characters_before), (15, 14));
    }

    /// What one pass tells of the script's statements: texts, and trees as SQL or errors with their places.
    fn in_one_pass(text: &str) -> Vec<String> {
        let (mut script, mut room) = (split_script(text), Room::default());
        std::iter::from_fn(|| script.next_parsed(&mut room)).map(|(text, parsed)| told(text, parsed)).collect()
    }

    fn told(text: &str, parsed: Result<ParsedStatement>) -> String {
        match parsed {
            Ok(parsed) => format!("{text} is {}", parsed.tree.print(parsed.statement)),
            Err(error) => format!("{:?} {error:?}", error.position()),
        }
    }

    #[test]
    fn cutting_and_parsing_in_one_pass_finds_what_both_find_after_another() {
        for text in [
            "",
            " ;; -- nothing\n ; /* at all */",
            "select 1",
            "select ';', 'é' ; -- a;b\n insert into t values (1, 'x;y');;\n\n select \"ü\" from t /* ; */ where $$;$$ = a;  ",
            "begin; create table t (a int); commit",
            "select 1; select 'a; b",
            "select 1; select 2 +",
            "select 'é'; select from where; select 3",
        ] {
            let both: Vec<_> = split_script(text).map(|one| told(one.text, one.parse())).collect();
            assert_eq!(in_one_pass(text), both, "{text}");
        }
    }

    #[test]
    fn a_semicolon_that_comes_too_early_is_named() {
        let told = in_one_pass("select 'é';\n select 2 +;");
        assert!(told[1].starts_with("Some(24)") && told[1].contains("at or near \";\""), "{told:?}");
    }

    #[test]
    fn what_follows_a_statement_in_a_long_script_is_not_copied() {
        let text = "select 1; ".repeat(1000);
        let (mut script, mut room) = (split_script(&text), Room::default());
        while let Some((_, parsed)) = script.next_parsed(&mut room) {
            assert!(parsed.expect("it parses").text().len() < 12);
        }
    }
}
