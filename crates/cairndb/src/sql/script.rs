//! Cuts a script into statements at its semicolons, token by token. What is in a statement is not looked at.

use cairn_parser::token::split_statements;

use super::parse::ParsedStatement;
use crate::Result;

/// Bytes that are cut at a time: places in them are counted in 32 bits.
const WINDOW: usize = u32::MAX as usize;

/// One statement's text within a script, without the spaces and comments before it and without its semicolon.
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
pub fn split_script(text: &str) -> Script<'_> {
    Script { text, at: 0, counted: 0, characters: 0 }
}

/// Iterator over a script's statements; empty statements are skipped.
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
        let end = (0..=rest.len().min(WINDOW)).rev().find(|end| rest.is_char_boundary(*end))?;
        let window = &rest[..end];
        let found = split_statements(window).next()?;
        // No statement of this size is run, but it is told as what it is, whole.
        let is_cut = window.len() < rest.len() && !found.complete;
        let text = if is_cut { rest.get(found.start..)? } else { found.text };
        let start = self.at + found.start;
        self.at = start + text.len();
        Some(SourceStatement { text, start, characters_before: self.count_to(start) })
    }
}

impl Script<'_> {
    fn count_to(&mut self, byte: usize) -> usize {
        self.characters += self.text.get(self.counted..byte).map_or(0, |piece| piece.chars().count());
        self.counted = byte;
        self.characters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<&str> {
        split_script(text).map(|statement| statement.text).collect()
    }

    #[test]
    fn statements_end_at_semicolons_outside_quotes_and_comments() {
        let script =
            "select ';' ; -- a;b\n select \";\"; /* ; /* ; */ */ select $$;$$; select $x$ ; $x$;; select E'\\';'";
        let expected = ["select ';'", "select \";\"", "select $$;$$", "select $x$ ; $x$", "select E'\\';'"];
        assert_eq!(pieces(script), expected);
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
}
