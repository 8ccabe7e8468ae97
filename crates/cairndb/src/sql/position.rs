//! Where in the text: the tokenizer counts lines and columns, PostgreSQL's errors count characters.

use sqlparser::tokenizer::Location;

/// A statement's text and its place in the text that the user handed in.
#[derive(Clone, Debug, Default)]
pub struct TextPosition {
    text: Box<str>,
    characters_before: usize,
}

impl TextPosition {
    /// `characters_before`: how many characters of the user's text precede `text`.
    pub fn new(text: &str, characters_before: usize) -> TextPosition {
        TextPosition { text: text.into(), characters_before }
    }

    /// The statement's text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The 1-based character position of a token's location; `None` where the parser knew none.
    pub fn of(&self, location: Location) -> Option<usize> {
        let byte = self.byte_of(location)?;
        Some(self.of_byte(byte))
    }

    /// The 1-based character position of a byte of the statement's text.
    pub fn of_byte(&self, byte: usize) -> usize {
        let before = self.text.get(..byte).map_or(0, |head| head.chars().count());
        self.characters_before + before + 1
    }

    /// The byte offset of a location.
    pub fn byte_of(&self, location: Location) -> Option<usize> {
        let (line, column) = (usize::try_from(location.line).ok()?, usize::try_from(location.column).ok()?);
        let line_start = line_start(&self.text, line.checked_sub(1)?)?;
        let rest = self.text.get(line_start..)?;
        let column = column.checked_sub(1)?;
        let within = rest.char_indices().map(|(at, _)| at).nth(column).unwrap_or(rest.len());
        Some(line_start + within)
    }
}

/// The byte at which the line with this 0-based number starts.
fn line_start(text: &str, line: usize) -> Option<usize> {
    match line.checked_sub(1) {
        None => Some(0),
        Some(breaks) => text.match_indices('\n').nth(breaks).map(|(at, _)| at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_become_characters() {
        let text = TextPosition::new("sélect\n  x", 10);
        assert_eq!(text.of(Location { line: 1, column: 1 }), Some(11));
        assert_eq!(text.of(Location { line: 2, column: 3 }), Some(20));
        assert_eq!(text.of(Location { line: 0, column: 0 }), None);
    }
}
