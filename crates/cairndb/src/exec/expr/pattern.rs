//! LIKE with a pattern known in advance, compiled once.

/// A LIKE pattern, split at its `%`.
///
/// Matching never backtracks past a `%`: each part is found at its leftmost place, which is enough, so the time is
/// bounded by text length times pattern length.
pub(super) struct Pattern {
    parts: Vec<Part>,
    /// The text must begin with the first part: the pattern does not begin with `%`.
    anchored_start: bool,
    /// The text must end with the last part.
    anchored_end: bool,
}

/// What stands between two `%`: literal bytes and `_`.
enum Part {
    Literal(Vec<u8>),
    Mixed(Vec<Element>),
}

#[derive(Clone, Copy)]
enum Element {
    Byte(u8),
    AnyCharacter,
}

impl Pattern {
    /// `None`: the pattern ends in its escape character, which is an error once it meets a text.
    pub(super) fn new(pattern: &str) -> Option<Pattern> {
        let (mut parts, mut current) = (vec![], vec![]);
        let mut bytes = pattern.bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'%' => parts.push(std::mem::take(&mut current)),
                b'_' => current.push(Element::AnyCharacter),
                b'\\' => current.push(Element::Byte(bytes.next()?)),
                byte => current.push(Element::Byte(byte)),
            }
        }
        let anchored_start = !parts.first().unwrap_or(&current).is_empty() || parts.is_empty();
        let anchored_end = !current.is_empty() || parts.is_empty();
        parts.push(current);
        let parts = parts.into_iter().filter(|part| !part.is_empty()).map(Part::new).collect();
        Some(Pattern { parts, anchored_start, anchored_end })
    }

    /// Whether the whole text (UTF-8) matches.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
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
    use super::Pattern;

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
            let compiled = Pattern::new(&pattern).unwrap();
            let pattern_chars: Vec<char> = pattern.chars().collect();
            for text in &texts {
                let expected = naive(&pattern_chars, &text.chars().collect::<Vec<_>>());
                assert_eq!(compiled.matches(text.as_bytes()), expected, "{text:?} LIKE {pattern:?}");
            }
        }
    }

    #[test]
    fn an_escape_makes_the_next_character_literal() {
        assert!(Pattern::new("50\\%%").unwrap().matches(b"50% off"));
        assert!(!Pattern::new("50\\%%").unwrap().matches(b"500"));
        assert!(Pattern::new("a\\").is_none());
    }
}
