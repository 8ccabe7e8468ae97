//! LIKE and ILIKE. A pattern is cut at its `%` into segments of fixed length: matching never backtracks beyond a
//! segment, so it takes at most the product of the lengths.

use super::beginning::PatternKind;
use super::catalogue::Catalogue;
use super::support::wrong_arguments;
use super::{Cost, Operator};
use crate::types::{DataType, EvalContext, Value};
use crate::{Error, Result, SqlState};

pub(super) fn register(catalogue: &mut Catalogue) {
    const PAIR: &[DataType] = &[DataType::Text, DataType::Text];
    const ESCAPED: &[DataType] = &[DataType::Text, DataType::Text, DataType::Text];
    // Of `char(n)` a pattern sees the blanks, too.
    const PADDED: &[DataType] = &[DataType::Char(0), DataType::Text];
    const PADDED_ESCAPED: &[DataType] = &[DataType::Char(0), DataType::Text, DataType::Text];
    let mut add = |op: Operator, eval| {
        for args in [PAIR, ESCAPED, PADDED, PADDED_ESCAPED] {
            let function = catalogue.add(op.symbol(), args, DataType::Boolean, eval).op(op);
            if matches!(op, Operator::Like | Operator::NotLike) {
                function.cost(Cost::Quotient);
            }
            if op == Operator::Like && args == PAIR {
                function.pattern(PatternKind::Like);
            }
        }
    };
    add(Operator::Like, like::<false, false>);
    add(Operator::NotLike, like::<true, false>);
    add(Operator::ILike, like::<false, true>);
    add(Operator::NotILike, like::<true, true>);
}

fn like<const NEGATED: bool, const FOLD_CASE: bool>(args: &[Value], _: &EvalContext) -> Result<Value> {
    let (text, pattern, escape) = match args {
        [Value::Text(text), Value::Text(pattern)] => (text, pattern, Some('\\')),
        [Value::Text(text), Value::Text(pattern), Value::Text(escape)] => (text, pattern, escape_char(escape)?),
        _ => return Err(wrong_arguments(args)),
    };
    let pattern = LikePattern::new(pattern, escape, FOLD_CASE)?;
    Ok(Value::Boolean(pattern.matches(text) != NEGATED))
}

/// ESCAPE's argument: one character, or none where it is empty.
pub fn escape_char(escape: &str) -> Result<Option<char>> {
    let mut chars = escape.chars();
    match (chars.next(), chars.next()) {
        (first, None) => Ok(first),
        _ => Err(Error::new(SqlState::INVALID_ESCAPE_SEQUENCE, "invalid escape string")
            .with_hint("Escape string must be empty or one character.")),
    }
}

/// A compiled LIKE pattern: worth keeping where many texts meet one pattern.
#[derive(Clone, Debug)]
pub struct LikePattern {
    /// At least one; between two of them any text may lie.
    segments: Vec<Segment>,
    fold_case: bool,
}

#[derive(Clone, Debug)]
enum Segment {
    Literal(String),
    /// `None`: any character.
    Mixed(Vec<Option<char>>),
}

impl LikePattern {
    /// Compiles; `escape` is `\` unless ESCAPE says otherwise. `fold_case`: ILIKE.
    pub fn new(pattern: &str, escape: Option<char>, fold_case: bool) -> Result<LikePattern> {
        let mut segments = Vec::new();
        let mut current = Vec::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            if Some(c) == escape {
                let literal = chars.next().ok_or_else(|| {
                    Error::new(SqlState::INVALID_ESCAPE_SEQUENCE, "LIKE pattern must not end with escape character")
                })?;
                push_literal(&mut current, literal, fold_case);
            } else if c == '%' {
                segments.push(Segment::new(std::mem::take(&mut current)));
            } else if c == '_' {
                current.push(None);
            } else {
                push_literal(&mut current, c, fold_case);
            }
        }
        segments.push(Segment::new(current));
        Ok(LikePattern { segments, fold_case })
    }

    /// The text matches, all of it.
    pub fn matches(&self, text: &str) -> bool {
        if self.fold_case { self.matches_folded(&text.to_lowercase()) } else { self.matches_folded(text) }
    }

    fn matches_folded(&self, text: &str) -> bool {
        let (Some(first), Some(last)) = (self.segments.first(), self.segments.last()) else { return false };
        let Some(mut rest) = first.strip_from(text) else { return false };
        if self.segments.len() == 1 {
            return rest.is_empty();
        }
        for middle in &self.segments[1..self.segments.len() - 1] {
            match middle.find_in(rest) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        last.ends(rest)
    }
}

fn push_literal(current: &mut Vec<Option<char>>, c: char, fold_case: bool) {
    if fold_case {
        current.extend(c.to_lowercase().map(Some));
    } else {
        current.push(Some(c));
    }
}

impl Segment {
    fn new(parts: Vec<Option<char>>) -> Segment {
        match parts.iter().copied().collect::<Option<String>>() {
            Some(literal) => Segment::Literal(literal),
            None => Segment::Mixed(parts),
        }
    }

    /// What follows the segment at the start of `text`.
    fn strip_from<'a>(&self, text: &'a str) -> Option<&'a str> {
        match self {
            Segment::Literal(literal) => text.strip_prefix(literal.as_str()),
            Segment::Mixed(parts) => {
                let mut chars = text.chars();
                let all = parts.iter().all(|part| match (part, chars.next()) {
                    (_, None) => false,
                    (None, Some(_)) => true,
                    (Some(wanted), Some(c)) => *wanted == c,
                });
                all.then_some(chars.as_str())
            }
        }
    }

    /// What follows the first place where the segment matches.
    fn find_in<'a>(&self, text: &'a str) -> Option<&'a str> {
        match self {
            Segment::Literal(literal) => text.find(literal.as_str()).map(|at| &text[at + literal.len()..]),
            Segment::Mixed(_) => text.char_indices().find_map(|(at, _)| self.strip_from(&text[at..])),
        }
    }

    fn ends(&self, text: &str) -> bool {
        match self {
            Segment::Literal(literal) => text.ends_with(literal.as_str()),
            Segment::Mixed(parts) => {
                let start = text.char_indices().rev().nth(parts.len() - 1);
                start.is_some_and(|(at, _)| self.strip_from(&text[at..]).is_some_and(str::is_empty))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        LikePattern::new(pattern, Some('\\'), false).unwrap().matches(text)
    }

    #[test]
    fn percent_and_underscore_match_as_in_sql() {
        for (text, pattern) in [
            ("abc", "abc"),
            ("abc", "a%"),
            ("abc", "%c"),
            ("abc", "%b%"),
            ("abc", "a_c"),
            ("abc", "%"),
            ("", "%"),
            ("", ""),
            ("aéc", "a_c"),
            ("abcabc", "%b_a%c"),
            ("a%c", "a\\%c"),
            ("aXbXc", "a%X%c"),
            ("aaab", "%aab"),
            ("special packages requests", "%special%requests%"),
        ] {
            assert!(like(text, pattern), "{text} LIKE {pattern}");
        }
        for (text, pattern) in [
            ("abc", "ab"),
            ("abc", "b%"),
            ("abc", "a_"),
            ("abc", "____"),
            ("", "_"),
            ("axc", "a\\%c"),
            ("ab", "ab%b"),
            ("abc", "%_____"),
            ("abc", "ABC"),
        ] {
            assert!(!like(text, pattern), "{text} NOT LIKE {pattern}");
        }
    }

    #[test]
    fn hostile_patterns_take_no_exponential_time() {
        let text = "a".repeat(20_000);
        let pattern = "%a_a".repeat(50) + "b";
        assert!(!like(&text, &pattern));
    }

    #[test]
    fn a_trailing_escape_is_an_error() {
        assert_eq!(LikePattern::new("a\\", Some('\\'), false).unwrap_err().sqlstate().0, "22025");
        assert!(LikePattern::new("a\\", None, false).unwrap().matches("a\\"));
        assert!(LikePattern::new("ÄB%", Some('\\'), true).unwrap().matches("äbc"));
    }
}
