//! Cuts a script into statements at its semicolons, knowing strings, quoted names, dollar quotes and comments, in one
//! pass over the bytes and without recursion. What is in a statement is not looked at.

use super::parse::ParsedStatement;
use crate::Result;

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
        let bytes = self.text.as_bytes();
        self.at = skip_blank(bytes, self.at);
        if self.at >= bytes.len() {
            return None;
        }
        let start = self.at;
        let end = statement_end(bytes, start);
        self.at = end + 1;
        let text = self.text.get(start..end)?.trim_end();
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

/// The first byte at or after `at` that is not blank, a comment or a semicolon.
fn skip_blank(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match bytes.get(at) {
            Some(byte) if byte.is_ascii_whitespace() || *byte == b';' => at += 1,
            _ => match comment_end(bytes, at) {
                Some(end) => at = end,
                None => return at,
            },
        }
    }
}

/// The byte after the comment that starts at `at`, if one does. An unterminated block comment is left to the tokenizer.
fn comment_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    if rest.starts_with(b"--") {
        return Some(find(bytes, at, |byte| byte == b'\n'));
    }
    if rest.starts_with(b"/*") { block_comment_end(bytes, at) } else { None }
}

fn block_comment_end(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0usize);
    loop {
        match (bytes.get(at)?, bytes.get(at + 1)) {
            (b'/', Some(b'*')) => (depth, at) = (depth + 1, at + 2),
            (b'*', Some(b'/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// The byte of the semicolon that ends the statement, or the text's end.
fn statement_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b';' => return at,
            b'\'' => string_end(bytes, at, is_escape_string(bytes, start, at)),
            b'"' => (find(bytes, at + 1, |byte| byte == b'"') + 1).min(bytes.len()),
            b'$' if !follows_name(bytes, start, at) => dollar_end(bytes, at),
            b'-' | b'/' => match comment_end(bytes, at) {
                Some(end) => end,
                None if bytes.get(at..at + 2) == Some(b"/*") => bytes.len(),
                None => at + 1,
            },
            _ => at + 1,
        };
    }
    bytes.len()
}

fn find(bytes: &[u8], from: usize, wanted: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| wanted(*byte)).unwrap_or(rest.len())
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn follows_name(bytes: &[u8], start: usize, at: usize) -> bool {
    at > start && bytes.get(at - 1).is_some_and(|byte| is_name_byte(*byte))
}

/// Whether the quote at `at` opens an `E'...'` string.
fn is_escape_string(bytes: &[u8], start: usize, at: usize) -> bool {
    at > start
        && bytes.get(at - 1).is_some_and(|byte| byte.eq_ignore_ascii_case(&b'e'))
        && !follows_name(bytes, start, at - 1)
}

fn string_end(bytes: &[u8], open: usize, escapes: bool) -> usize {
    let mut at = open + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if escapes => at += 2,
            b'\'' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The byte after a dollar-quoted string, or after the dollar where none starts.
fn dollar_end(bytes: &[u8], open: usize) -> usize {
    let tag_end = find(bytes, open + 1, |byte| !is_name_byte(byte) || byte == b'$');
    let starts_with_digit = bytes.get(open + 1).is_some_and(u8::is_ascii_digit);
    if bytes.get(tag_end) != Some(&b'$') || starts_with_digit {
        return open + 1;
    }
    let Some(tag) = bytes.get(open..=tag_end) else { return open + 1 };
    let mut at = tag_end + 1;
    while at < bytes.len() {
        at = find(bytes, at, |byte| byte == b'$');
        if bytes.get(at..).is_some_and(|rest| rest.starts_with(tag)) {
            return at + tag.len();
        }
        at += 1;
    }
    bytes.len()
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
