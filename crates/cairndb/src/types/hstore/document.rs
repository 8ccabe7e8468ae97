//! The text of an hstore as a document of JSON.

use super::Hstore;
use crate::types::json::write_quoted;

/// `loose`: `t`, `f` and what is a number in JSON are none of its strings.
pub(crate) fn hstore_json(of: &Hstore, loose: bool) -> String {
    let mut out = String::from("{");
    for (at, (key, value)) in of.pairs().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        write_quoted(key, &mut out);
        out.push_str(": ");
        match value {
            None => out.push_str("null"),
            Some("t") if loose => out.push_str("true"),
            Some("f") if loose => out.push_str("false"),
            Some(number) if loose && is_number(number) => out.push_str(number),
            Some(text) => write_quoted(text, &mut out),
        }
    }
    out.push('}');
    out
}

/// A number as JSON writes one.
fn is_number(text: &str) -> bool {
    fn digits(text: &str) -> (usize, &str) {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        (text.len() - rest.len(), rest)
    }
    let text = text.strip_prefix('-').unwrap_or(text);
    let (whole, mut rest) = digits(text);
    if whole == 0 || whole > 1 && text.starts_with('0') {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix('.') {
        let (count, behind) = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = behind;
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let (count, behind) = digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
        return count > 0 && behind.is_empty();
    }
    rest.is_empty()
}
