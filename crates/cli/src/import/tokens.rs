//! The tokens of SQLite's dialect, as far as its texts have to be understood.

/// A token; comments and blanks are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub start: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Word,
    /// In quotes, brackets or backticks.
    Quoted,
    String,
    /// `x'..'`
    Blob,
    Number,
    Sign,
}

impl Token<'_> {
    /// The word is this one.
    pub fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// The name that it is, or the string's text.
    pub fn value(&self) -> String {
        let inside = || self.text.get(1..self.text.len().saturating_sub(1)).unwrap_or_default();
        match self.text.chars().next() {
            Some(quote @ ('"' | '`' | '\'')) if self.kind != Kind::Word => {
                inside().replace(&String::from_iter([quote, quote]), &quote.to_string())
            }
            Some('[') if self.kind == Kind::Quoted => inside().to_string(),
            _ => self.text.to_string(),
        }
    }
}

/// Cuts a text. What is not closed ends with the text.
pub fn tokens(sql: &str) -> Vec<Token<'_>> {
    let bytes = sql.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &sql[at..];
        let (kind, length) = match byte {
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'-' if rest.starts_with("--") => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.starts_with("/*") => {
                at += rest.find("*/").map_or(rest.len(), |end| end + 2);
                continue;
            }
            b'\'' => (Kind::String, quoted(rest, b'\'')),
            b'x' | b'X' if rest[1..].starts_with('\'') => (Kind::Blob, 1 + quoted(&rest[1..], b'\'')),
            b'"' | b'`' => (Kind::Quoted, quoted(rest, byte)),
            b'[' => (Kind::Quoted, rest.find(']').map_or(rest.len(), |end| end + 1)),
            b'0'..=b'9' => (Kind::Number, span(rest, |c| c.is_ascii_alphanumeric() || c == '.')),
            _ if is_word(rest) => {
                (Kind::Word, span(rest, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii()))
            }
            _ => {
                let two = ["==", "!=", "<>", "<=", ">=", "||", "<<", ">>", "->"];
                (Kind::Sign, if two.iter().any(|sign| rest.starts_with(sign)) { 2 } else { 1 })
            }
        };
        found.push(Token { kind, text: &rest[..length], start: at });
        at += length;
    }
    found
}

fn is_word(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii())
}

fn span(rest: &str, belongs: impl Fn(char) -> bool) -> usize {
    rest.find(|c| !belongs(c)).unwrap_or(rest.len())
}

/// The bytes of what begins with a quote, doubled ones inside.
fn quoted(rest: &str, quote: u8) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        if byte == quote {
            match bytes.get(at) {
                Some(&next) if next == quote => at += 1,
                _ => return at,
            }
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_of_all_kinds_and_comments_are_known() {
        let sql = "a [b ]]\"c\"\"d\" `e``f` 'it''s' x'0a' 1.5e3 -- '\n/* \" */ <= é";
        let texts: Vec<(Kind, String)> = tokens(sql).iter().map(|token| (token.kind, token.value())).collect();
        let expected = [
            (Kind::Word, "a"),
            (Kind::Quoted, "b "),
            (Kind::Sign, "]"),
            (Kind::Quoted, "c\"d"),
            (Kind::Quoted, "e`f"),
            (Kind::String, "it's"),
            (Kind::Blob, "x'0a'"),
            (Kind::Number, "1.5e3"),
            (Kind::Sign, "<="),
            (Kind::Word, "é"),
        ];
        assert_eq!(texts, expected.map(|(kind, text)| (kind, text.to_string())));
    }

    #[test]
    fn what_is_not_closed_ends_with_the_text() {
        for text in ["'a", "\"", "[", "x'", "/*", "--", "`é"] {
            tokens(text);
        }
    }
}
