//! Names: the one place where they are folded to lower case, cut to length, and quoted again.

use super::keyword::{KeywordClass, find_keyword};

/// PostgreSQL's `NAMEDATALEN` less one.
pub const IDENTIFIER_BYTES_MAX: usize = 63;

/// An unquoted name as PostgreSQL knows it: ASCII letters in lower case, at most 63 bytes.
pub fn fold_identifier(name: &str) -> String {
    cut_identifier(name).to_ascii_lowercase()
}

/// The first 63 bytes, no character cut in two.
pub fn cut_identifier(name: &str) -> &str {
    let mut end = name.len().min(IDENTIFIER_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// The name as SQL: quoted where it would be folded, cut or taken for a keyword otherwise.
pub fn quote_identifier(name: &str, out: &mut String) {
    if is_plain(name) {
        out.push_str(name);
        return;
    }
    out.push('"');
    out.push_str(&name.replace('"', "\"\""));
    out.push('"');
}

/// The same on its own.
pub fn quoted(name: &str) -> String {
    let mut out = String::new();
    quote_identifier(name, &mut out);
    out
}

fn is_plain(name: &str) -> bool {
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
    starts
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && find_keyword(name.as_bytes()).is_none_or(|keyword| keyword.class == KeywordClass::Unreserved)
}
