//! A compiled LIKE pattern.

use crate::{Error, Result, SqlState};

/// A LIKE pattern, split at its `%`: worth keeping where many texts meet it.
///
/// Matching never backtracks past a `%`: each part is found at its leftmost place, which is enough, so the time is
/// bounded by text length times pattern length.
#[derive(Clone, Debug)]
pub(crate) struct LikePattern {
    parts: Vec<Part>,
    /// The text must begin with the first part: the pattern does not begin with `%`.
    anchored_start: bool,
    /// The text must end with the last part.
    anchored_end: bool,
    folds_case: bool,
}

/// What stands between two `%`: literal bytes and `_`.
#[derive(Clone, Debug)]
enum Part {
    Literal(Vec<u8>),
    Mixed(Vec<Element>),
}

#[derive(Clone, Copy, Debug)]
enum Element {
    Byte(u8),
    AnyCharacter,
}

impl LikePattern {
    /// Compiles; `escape` is a backslash unless ESCAPE says otherwise. `folds_case`: ILIKE.
    ///
    /// # Errors
    /// SQLSTATE 22025 where the pattern ends in its escape character.
    pub(crate) fn new(pattern: &str, escape: Option<char>, folds_case: bool) -> Result<LikePattern> {
        let (mut parts, mut current) = (vec![], vec![]);
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            if Some(c) == escape {
                push_literal(&mut current, chars.next().ok_or_else(ends_with_escape)?, folds_case);
            } else {
                match c {
                    '%' => parts.push(std::mem::take(&mut current)),
                    '_' => current.push(Element::AnyCharacter),
                    c => push_literal(&mut current, c, folds_case),
                }
            }
        }
        let anchored_start = !parts.first().unwrap_or(&current).is_empty() || parts.is_empty();
        let anchored_end = !current.is_empty() || parts.is_empty();
        parts.push(current);
        let parts = parts.into_iter().filter(|part| !part.is_empty()).map(Part::new).collect();
        Ok(LikePattern { parts, anchored_start, anchored_end, folds_case })
    }

    /// Whether the whole text (UTF-8) matches. `folded` is for the text in small letters, where these are what is compared.
    pub(crate) fn matches(&self, text: &[u8], folded: &mut Vec<u8>) -> bool {
        if !self.folds_case {
            return self.matches_as_is(text);
        }
        folded.clear();
        if text.is_ascii() {
            folded.extend(text.iter().map(u8::to_ascii_lowercase));
        } else {
            folded.extend_from_slice(String::from_utf8_lossy(text).to_lowercase().as_bytes());
        }
        self.matches_as_is(folded)
    }

    fn matches_as_is(&self, text: &[u8]) -> bool {
        let mut parts = self.parts.as_slice();
        let mut position = 0;
        if self.anchored_start {
            let Some((first, rest)) = parts.split_first() else { return text.is_empty() };
            let Some(end) = first.match_at(text, 0) else { return false };
            if rest.is_empty() && self.anchored_end {
                return end == text.len();
            }
            (parts, position) = (rest, end);
        }
        let last = if self.anchored_end { parts.split_last() } else { None };
        let floating = last.map_or(parts, |(_, rest)| rest);
        for part in floating {
            match part.find(text, position) {
                Some(end) => position = end,
                None => return false,
            }
        }
        last.is_none_or(|(last, _)| last.match_end(text, position))
    }
}

fn push_literal(current: &mut Vec<Element>, c: char, folds_case: bool) {
    let mut push = |c: char| current.extend(c.encode_utf8(&mut [0; 4]).bytes().map(Element::Byte));
    if folds_case {
        c.to_lowercase().for_each(push);
    } else {
        push(c);
    }
}

fn ends_with_escape() -> Error {
    Error::new(SqlState::INVALID_ESCAPE_SEQUENCE, "LIKE pattern must not end with escape character")
}

impl Part {
    fn new(elements: Vec<Element>) -> Part {
        let literal: Option<Vec<u8>> = elements
            .iter()
            .map(|element| match element {
                Element::Byte(byte) => Some(*byte),
                Element::AnyCharacter => None,
            })
            .collect();
        literal.map_or(Part::Mixed(elements), Part::Literal)
    }

    /// Where the part ends if it matches at `start`.
    fn match_at(&self, text: &[u8], start: usize) -> Option<usize> {
        let rest = text.get(start..)?;
        match self {
            Part::Literal(literal) => rest.starts_with(literal).then_some(start + literal.len()),
            Part::Mixed(elements) => {
                let mut position = start;
                for element in elements {
                    position = match *element {
                        Element::Byte(byte) => (*text.get(position)? == byte).then_some(position + 1)?,
                        Element::AnyCharacter => position + character_len(*text.get(position)?),
                    };
                }
                (position <= text.len()).then_some(position)
            }
        }
    }

    /// Where its leftmost match at or after `start` ends.
    fn find(&self, text: &[u8], start: usize) -> Option<usize> {
        match self {
            Part::Literal(literal) => {
                let first = *literal.first()?;
                let mut position = start;
                loop {
                    position += text.get(position..)?.iter().position(|&byte| byte == first)?;
                    if let Some(end) = self.match_at(text, position) {
                        return Some(end);
                    }
                    position += 1;
                }
            }
            Part::Mixed(_) => starts(text, start).find_map(|position| self.match_at(text, position)),
        }
    }

    /// Whether it matches somewhere at or after `start` and ends where the text ends.
    fn match_end(&self, text: &[u8], start: usize) -> bool {
        match self {
            Part::Literal(literal) => text.len() >= start + literal.len() && text.ends_with(literal),
            Part::Mixed(_) => starts(text, start).any(|position| self.match_at(text, position) == Some(text.len())),
        }
    }
}

/// Where characters begin, from `start` on.
fn starts(text: &[u8], start: usize) -> impl Iterator<Item = usize> + '_ {
    (start..text.len()).filter(|&position| text[position] & 0xc0 != 0x80)
}

/// The length of the UTF-8 character that begins with `first`.
fn character_len(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::LikePattern;

    /// LIKE by its definition, slowly.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('%', rest)) => (0..=text.len()).any(|skip| naive(rest, &text[skip..])),
            Some(('_', rest)) => !text.is_empty() && naive(rest, &text[1..]),
            Some((c, rest)) => text.first() == Some(c) && naive(rest, &text[1..]),
        }
    }

    fn words(alphabet: &[char], length_max: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..length_max {
            last = last.iter().flat_map(|word| alphabet.iter().map(move |c| format!("{word}{c}"))).collect();
            all.extend(last.clone());
        }
        all
    }

    #[test]
    fn all_short_patterns_match_as_defined() {
        let texts = words(&['a', 'b', 'ü'], 4);
        for pattern in words(&['a', 'b', 'ü', '%', '_'], 4) {
            let compiled = LikePattern::new(&pattern, Some('\\'), false).unwrap();
            let pattern_chars: Vec<char> = pattern.chars().collect();
            for text in &texts {
                let expected = naive(&pattern_chars, &text.chars().collect::<Vec<_>>());
                assert_eq!(compiled.matches(text.as_bytes(), &mut vec![]), expected, "{text:?} LIKE {pattern:?}");
            }
        }
    }

    fn like(text: &str, pattern: &str) -> bool {
        LikePattern::new(pattern, Some('\\'), false).unwrap().matches(text.as_bytes(), &mut vec![])
    }

    #[test]
    fn an_escape_makes_the_next_character_literal() {
        assert!(like("50% off", "50\\%%"));
        assert!(!like("500", "50\\%%"));
    }

    #[test]
    fn small_letters_are_compared_where_case_is_folded() {
        let ilike = |text: &str, pattern: &str| {
            LikePattern::new(pattern, Some('\\'), true).unwrap().matches(text.as_bytes(), &mut b"left over".to_vec())
        };
        for (text, pattern) in
            [("äbc", "ÄB%"), ("ABC", "%b_"), ("Straße 9", "%STRAßE%"), ("\u{212a}", "k"), ("ÀÉ", "_é")]
        {
            assert!(ilike(text, pattern), "{text} ILIKE {pattern}");
        }
        assert!(!ilike("abd", "AB\\C"));
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
        assert!(LikePattern::new("a\\", None, false).unwrap().matches(b"a\\", &mut vec![]));
    }
}
