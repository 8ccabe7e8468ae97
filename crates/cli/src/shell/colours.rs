//! Colours for what is typed, by the parser's lexer. The line editor asks for them on a terminal without `NO_COLOR` only.

use std::borrow::Cow;

use cairn_parser::TokenKind;
use cairn_parser::token::{KeywordClass, Piece, PieceKind, pieces};
use console::{Color, Style};

use super::help;

/// The text with colours; it takes the same room.
pub fn coloured(text: &str) -> Cow<'_, str> {
    if text.lines().last().is_some_and(|line| line.trim_start().starts_with('\\')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() * 2);
    for piece in pieces(text) {
        let written = &text[piece.start..piece.end];
        match colour(piece, written) {
            Some(colour) => out.push_str(&colour.force_styling(true).apply_to(written).to_string()),
            None => out.push_str(written),
        }
    }
    Cow::Owned(out)
}

fn colour(piece: Piece, written: &str) -> Option<Style> {
    use TokenKind as T;
    let PieceKind::Token(kind) = piece.kind else {
        return (piece.kind == PieceKind::Comment).then(|| Style::new().dim());
    };
    let style = match kind {
        // What is open may still be closed.
        T::Bad if written.starts_with("/*") => Style::new().dim(),
        T::Bad if written.starts_with('"') => return None,
        T::Bad if written.contains(['\'', '$']) => Style::new().fg(Color::Green),
        T::Bad => Style::new().fg(Color::Red),
        T::StringConst | T::BitConst | T::HexConst => Style::new().fg(Color::Green),
        T::IntegerConst | T::NumberConst => Style::new().fg(Color::Cyan),
        T::Param => Style::new().fg(Color::Magenta),
        kind if is_shown_as_keyword(kind, written) => Style::new().bold(),
        _ => return None,
    };
    Some(style)
}

/// Words that cannot be names, and those that we complete: most others are somebody's column.
fn is_shown_as_keyword(kind: TokenKind, written: &str) -> bool {
    match kind.class() {
        None => false,
        Some(KeywordClass::Reserved | KeywordClass::TypeFunctionName) => true,
        Some(_) => help::KEYWORDS.binary_search(&written.to_ascii_uppercase().as_str()).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_constants_and_comments_are_told_apart_and_nothing_is_lost() {
        let text = "SELECT name, 'a', 1 -- x\nFROM t";
        let shown = coloured(text);
        assert_eq!(console::strip_ansi_codes(&shown), text);
        for piece in ["\u{1b}[1mSELECT", "\u{1b}[32m'a'", "\u{1b}[36m1", "\u{1b}[2m-- x", "\u{1b}[1mFROM", " name, "] {
            assert!(shown.contains(piece), "{piece:?} in {shown:?}");
        }
    }

    #[test]
    fn what_is_open_has_its_colour_and_commands_have_none() {
        assert!(coloured("select 'ab").contains("\u{1b}[32m'ab"));
        assert!(coloured("select /* ab").contains("\u{1b}[2m/* ab"));
        assert_eq!(coloured("\\d select"), "\\d select");
        assert_eq!(coloured(""), "");
    }

    #[test]
    fn the_words_that_are_completed_are_in_order() {
        assert!(help::KEYWORDS.is_sorted());
    }
}
