//! The shell's variables: `\set name value`, and `:name`, `:'name'`, `:"name"` in statements.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cairn_parser::TokenKind;
use cairn_parser::token::{Piece, PieceKind, pieces};

/// Values by their names.
pub type Variables = BTreeMap<String, String>;

/// The text with the values of variables in their places: as it is, as a string of SQL, as a name of SQL. What names no
/// variable stays as it is; quotes and comments are not looked into.
pub fn expanded<'t>(text: &'t str, variables: &Variables) -> Cow<'t, str> {
    if variables.is_empty() || !text.contains(':') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = pieces(text).peekable();
    while let Some(piece) = rest.next() {
        let value = match (piece.kind, rest.peek()) {
            (PieceKind::Token(TokenKind::Colon), Some(next)) => value(text, *next, variables),
            _ => None,
        };
        match value {
            Some(value) => {
                rest.next();
                out.push_str(&value);
            }
            None => out.push_str(&text[piece.start..piece.end]),
        }
    }
    Cow::Owned(out)
}

/// What stands for the token behind a colon.
fn value(text: &str, next: Piece, variables: &Variables) -> Option<String> {
    let PieceKind::Token(kind) = next.kind else { return None };
    let word = &text[next.start..next.end];
    let inside = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
    Some(match kind {
        TokenKind::StringConst => format!("'{}'", variables.get(inside('\'')?)?.replace('\'', "''")),
        _ if word.starts_with('"') => format!("\"{}\"", variables.get(inside('"')?)?.replace('"', "\"\"")),
        kind if kind.is_label() => variables.get(word)?.clone(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_places_of_names() {
        let set = |name: &str, value: &str| (name.to_string(), value.to_string());
        let variables = Variables::from([set("n", "42"), set("s", "it's"), set("T", "my \"t"), set("select", "x")]);
        for (text, expected) in [
            ("select :n, :'s', :\"T\" from t", "select 42, 'it''s', \"my \"\"t\" from t"),
            ("select :n::text, a[1:n]", "select 42::text, a[142]"),
            ("select ':n', \":n\" -- :n\n, $$:n$$", "select ':n', \":n\" -- :n\n, $$:n$$"),
            ("select :m, :'m', : n, x::n, :select", "select :m, :'m', : n, x::n, x"),
            ("select 1:n", "select 142"),
            ("select :", "select :"),
        ] {
            assert_eq!(expanded(text, &variables), expected);
        }
        assert_eq!(expanded("select :n", &Variables::default()), "select :n");
    }
}
