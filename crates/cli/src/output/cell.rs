//! A value as it may stand on a terminal: control characters are shown, never sent, so that no value can move the
//! cursor or change the terminal's state; a tab goes to the next multiple of eight columns.

use unicode_width::UnicodeWidthChar;

/// A text of the database's as it may stand on a terminal outside of tables.
pub fn shown(text: &str) -> String {
    lines(text).into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n")
}

/// One line of a cell, and how many columns it takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    pub width: usize,
}

/// The lines of a value; at least one.
pub fn lines(value: &str) -> Vec<Line> {
    value.split('\n').map(line).collect()
}

/// Whether a value is one line of ASCII that goes to a terminal as it is.
pub fn is_plain(value: &str) -> bool {
    value.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// How many columns a value's widest line takes.
pub fn width(value: &str) -> usize {
    if is_plain(value) {
        return value.len();
    }
    lines(value).iter().map(|line| line.width).max().unwrap_or(0)
}

fn line(text: &str) -> Line {
    let mut line = Line::default();
    for c in text.chars() {
        match c {
            '\t' => {
                let blanks = 8 - line.width % 8;
                line.text.extend(std::iter::repeat_n(' ', blanks));
                line.width += blanks;
            }
            '\r' => line.push_shown("\\r"),
            c if c.is_ascii_control() => line.push_shown(&format!("\\x{:02X}", u32::from(c))),
            c if c.is_control() || is_directional(c) => line.push_shown(&format!("\\u{:04X}", u32::from(c))),
            c => {
                line.text.push(c);
                line.width += c.width().unwrap_or(0);
            }
        }
    }
    line
}

/// Characters that reorder what follows them on a terminal.
fn is_directional(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

impl Line {
    fn push_shown(&mut self, shown: &str) {
        self.text.push_str(shown);
        self.width += shown.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_sent() {
        let shown = lines("a\tb\u{1}\u{1b}[31m\r\u{9b}\u{202e}");
        assert_eq!(shown[0].text, "a       b\\x01\\x1B[31m\\r\\u009B\\u202E");
        assert_eq!(shown[0].width, shown[0].text.len());
    }

    #[test]
    fn wide_and_combining_characters_take_their_columns() {
        assert_eq!(lines("漢字")[0].width, 4);
        assert_eq!(lines("e\u{301}")[0].width, 1);
        assert_eq!(lines("one\ntwo three").iter().map(|line| line.width).collect::<Vec<_>>(), [3, 9]);
    }
}
