//! Colours for what is typed, by the parser's lexer. The line editor asks for them on a terminal without `NO_COLOR` only.

use std::borrow::Cow;

use cairn_parser::TokenKind;
use cairn_parser::token::{KeywordClass, Piece, PieceKind, pieces};
use console::{Color, Style};

use super::splitter::is_dot_command;

/// The line with colours, behind the lines of the same statement that are `begun`; it takes the same room.
pub fn coloured<'l>(begun: &str, line: &'l str) -> Cow<'l, str> {
    if line.trim_start().starts_with('\\') || (begun.is_empty() && is_dot_command(line)) {
        return Cow::Borrowed(line);
    }
    let text = format!("{begun}{line}");
    let mut out = String::with_capacity(line.len() * 2);
    for piece in pieces(&text).filter(|piece| piece.end > begun.len()) {
        let (token, shown) = (&text[piece.start..piece.end], &text[piece.start.max(begun.len())..piece.end]);
        match colour(piece, token) {
            Some(colour) => out.push_str(&colour.force_styling(true).apply_to(shown).to_string()),
            None => out.push_str(shown),
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
        Some(_) => cairn_complete::KEYWORDS.binary_search(&written.to_ascii_uppercase().as_str()).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_constants_and_comments_are_told_apart_and_nothing_is_lost() {
        let text = "SELECT name, 'a', 1 -- x\nFROM t";
        let shown = coloured("", text);
        assert_eq!(console::strip_ansi_codes(&shown), text);
        for piece in ["\u{1b}[1mSELECT", "\u{1b}[32m'a'", "\u{1b}[36m1", "\u{1b}[2m-- x", "\u{1b}[1mFROM", " name, "] {
            assert!(shown.contains(piece), "{piece:?} in {shown:?}");
        }
    }

    #[test]
    fn what_is_open_has_its_colour_and_commands_have_none() {
        assert!(coloured("", "select 'ab").contains("\u{1b}[32m'ab"));
        assert!(coloured("", "select /* ab").contains("\u{1b}[2m/* ab"));
        assert_eq!(coloured("", "\\d select"), "\\d select");
        assert_eq!(coloured("", ".mode csv"), ".mode csv");
        assert_eq!(coloured("", ""), "");
    }

    #[test]
    fn a_line_has_the_colours_of_what_began_before_it() {
        assert_eq!(coloured("select 'a\n", "b', 1"), "\u{1b}[32mb'\u{1b}[0m, \u{1b}[36m1\u{1b}[0m");
        assert_eq!(coloured("select /* a\n", "b"), "\u{1b}[2mb\u{1b}[0m");
    }
}
