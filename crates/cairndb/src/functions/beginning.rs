//! What texts that match a pattern begin with: so that an index, whose order is that of the characters' codes, is asked for those alone.
//!
//! Texts with a beginning lie from it on and before its [`after`], and no others lie there. What cannot be told of a pattern leaves
//! it unanswered: the beginning is then shorter than it might be, or there is none.

/// How a pattern is written, and so what it says of a text's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternKind {
    /// LIKE's, with a backslash for its escape.
    Like,
    /// A regular expression.
    Expression,
    /// The beginning itself.
    Beginning,
}

/// The texts that a pattern matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Matched {
    /// This one alone.
    One(String),
    /// Those that begin so, all of them if `all`.
    Begin { with: String, all: bool },
}

impl PatternKind {
    /// What can be told of a pattern's texts by their beginnings.
    pub(crate) fn matched(self, pattern: &str) -> Option<Matched> {
        let matched = match self {
            PatternKind::Like => by_like(pattern)?,
            PatternKind::Expression => by_expression(pattern)?,
            PatternKind::Beginning => Matched::Begin { with: pattern.to_owned(), all: true },
        };
        let says_nothing = matches!(&matched, Matched::Begin { with, .. } if with.is_empty());
        (!says_nothing).then_some(matched)
    }
}

/// The least text that is greater than all with the beginning; `None`: there is none.
pub(crate) fn after(beginning: &str) -> Option<String> {
    let mut characters: Vec<char> = beginning.chars().collect();
    while let Some(last) = characters.pop() {
        // (The codes of surrogates are no characters.)
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(last) + 1) };
        if let Some(next) = next {
            characters.push(next);
            return Some(characters.into_iter().collect());
        }
    }
    None
}

fn by_like(pattern: &str) -> Option<Matched> {
    let mut with = String::new();
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        match c {
            '%' => return Some(Matched::Begin { with, all: characters.all(|c| c == '%') }),
            '_' => return Some(Matched::Begin { with, all: false }),
            // (One that escapes nothing is an error where it is met.)
            '\\' => with.push(characters.next()?),
            c => with.push(c),
        }
    }
    Some(Matched::One(with))
}

/// Of `^abc` and what follows: `^(abc)$` as tools write it, too. Branches say nothing.
fn by_expression(pattern: &str) -> Option<Matched> {
    let anchored = pattern.strip_prefix('^')?;
    if anchored.contains('|') {
        return None;
    }
    let in_group = anchored.strip_prefix('(').and_then(|rest| rest.strip_suffix(")$"));
    if let Some(inner) = in_group.filter(|inner| !inner.starts_with('?')) {
        return literal(inner).filter(|(_, rest)| rest.is_empty()).map(|(text, _)| Matched::One(text));
    }
    let (with, rest) = literal(anchored)?;
    Some(if rest == "$" { Matched::One(with) } else { Matched::Begin { with, all: rest.is_empty() } })
}

/// The characters that an expression begins with, and the rest of it.
fn literal(expression: &str) -> Option<(String, &str)> {
    let (mut text, mut rest) = (String::new(), expression);
    loop {
        let (c, behind) = match rest.strip_prefix('\\') {
            // Letters and digits behind a backslash mean something.
            Some(escaped) => match escaped.chars().next() {
                Some(c) if !c.is_alphanumeric() && c != '_' => (c, &escaped[c.len_utf8()..]),
                _ => return Some((text, rest)),
            },
            None => match rest.chars().next() {
                Some(c) if !"^$.[](){}*+?".contains(c) => (c, &rest[c.len_utf8()..]),
                _ => return Some((text, rest)),
            },
        };
        match behind.chars().next() {
            // It may be missing.
            Some('*' | '?' | '{') => return Some((text, rest)),
            _ => text.push(c),
        }
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::exact_overload;
    use crate::types::{DataType, EvalContext, Value};

    const KINDS: [(&str, PatternKind); 3] =
        [("~~", PatternKind::Like), ("~", PatternKind::Expression), ("^@", PatternKind::Beginning)];

    /// All texts of up to so many of these characters.
    fn texts(characters: &[&str], length: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..length {
            last = last.iter().flat_map(|text| characters.iter().map(move |c| format!("{text}{c}"))).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    /// Every pattern of few characters, and every text: what is said of a pattern's texts is so, and of those that are said to be all no
    /// other matches.
    #[test]
    fn what_is_said_of_a_patterns_texts_holds_for_each_text() {
        let context = EvalContext::default();
        let texts = texts(&["a", "b", "\u{d7ff}", "\u{10ffff}", "\n", "(", "."], 3);
        let patterns = self::texts(&["a", "b", "%", "_", "\\", "^", "$", "(", ")", "*", "+", ".", "|", "?"], 3);
        let longer = [
            "^(ab)$", "^(a)$", "^(a.)$", "^a+$", "^ab*", "^a\\.", "^a{2}", "^a{0}b", "^[a]b", "(?n)^a", "^a\\Z",
            "***=^a",
        ];
        let (mut told, mut all_told) = (0, 0);
        for (symbol, kind) in KINDS {
            let function = exact_overload(symbol, &[DataType::Text, DataType::Text]).unwrap();
            assert_eq!(function.pattern, Some(kind));
            for pattern in patterns.iter().map(String::as_str).chain(longer) {
                let Some(matched) = kind.matched(pattern) else { continue };
                told += 1;
                for text in &texts {
                    let Ok(found) = function.call(&[Value::text(text.as_str()), Value::text(pattern)], &context) else {
                        break;
                    };
                    let (may, must) = match &matched {
                        Matched::One(one) => (text == one, text == one),
                        Matched::Begin { with, all } => {
                            let in_range = text >= with && after(with).is_none_or(|after| *text < after);
                            assert_eq!(in_range, text.starts_with(with), "{text:?} {with:?}");
                            all_told += usize::from(*all);
                            (in_range, in_range && *all)
                        }
                    };
                    let found = found == Value::Boolean(true);
                    assert!((!found || may) && (found || !must), "{text:?} {symbol} {pattern:?}: {found}, {matched:?}");
                }
            }
        }
        assert!(told > 1000 && all_told > 1000, "{told} {all_told}");
    }

    #[test]
    fn a_beginning_without_an_end_has_none() {
        assert_eq!(after("\u{10ffff}"), None);
        assert_eq!(after("a\u{10ffff}\u{10ffff}"), Some("b".into()));
        assert_eq!(after("a\u{d7ff}"), Some("a\u{e000}".into()));
        assert_eq!(PatternKind::Like.matched("%a"), None);
    }
}
