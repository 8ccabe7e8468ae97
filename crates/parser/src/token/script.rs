//! For shells and editors: cutting a script into statements without parsing it, and its text into pieces to colour.

use super::body::RoutineBody;
use super::kind::TokenKind;
use super::lexer::{Lexer, Placeholders, Token, comment_end, line_end};

/// One statement's text within a script, without what is blank around it and without its semicolon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceStatement<'a> {
    /// The statement.
    pub text: &'a str,
    /// Byte offset of `text` in the script.
    pub start: usize,
    /// Whether a semicolon ends it. Without one a shell asks for more.
    pub complete: bool,
}

/// Cuts a script at its semicolons, but those within a body (BEGIN ATOMIC); empty statements are skipped. What never ends
/// (a quote, a comment) runs to the text's end.
pub fn split_statements(text: &str) -> impl Iterator<Item = SourceStatement<'_>> + Clone {
    Splitter { text, at: 0 }
}

#[derive(Clone)]
struct Splitter<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Splitter<'a> {
    type Item = SourceStatement<'a>;

    fn next(&mut self) -> Option<SourceStatement<'a>> {
        let mut lexer = Lexer::new(self.text, self.at, Placeholders::default());
        let mut bounds: Option<(usize, usize)> = None;
        let mut body = RoutineBody::default();
        loop {
            let token = lexer.next_token();
            match (token.kind, bounds) {
                (TokenKind::Semicolon, Some((start, _))) if body.is_open() => {
                    bounds = Some((start, token.end as usize))
                }
                (TokenKind::Semicolon, None) => {}
                (TokenKind::Eof, None) => {
                    self.at = self.text.len();
                    return None;
                }
                (TokenKind::Semicolon | TokenKind::Eof, Some((start, end))) => {
                    self.at = token.end as usize;
                    let complete = token.kind == TokenKind::Semicolon;
                    return Some(SourceStatement { text: self.text[start..end].trim_end(), start, complete });
                }
                (kind, bound) => {
                    body.see(kind);
                    bounds = Some((bound.map_or(token.start as usize, |(start, _)| start), token.end as usize))
                }
            }
        }
    }
}

/// What a piece of text is, for colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// Spaces, tabs, line feeds.
    Blank,
    /// A comment of either form.
    Comment,
    /// A token; its kind tells keywords, names, constants and operators apart.
    Token(TokenKind),
}

/// A piece of text. Pieces follow each other without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: PieceKind,
    /// Byte offset of its first byte.
    pub start: usize,
    /// Byte offset behind its last byte.
    pub end: usize,
}

/// All of the text, piece by piece.
pub fn pieces(text: &str) -> impl Iterator<Item = Piece> + '_ {
    let mut lexer = Lexer::new(text, 0, Placeholders::default());
    let mut at = 0;
    let mut token: Option<Token> = None;
    std::iter::from_fn(move || {
        let next = *token.get_or_insert_with(|| lexer.next_token());
        let piece = match at < next.start as usize {
            true => blank_piece(text, at, next.start as usize),
            false => {
                token = None;
                Piece { kind: PieceKind::Token(next.kind), start: next.start as usize, end: next.end as usize }
            }
        };
        at = piece.end;
        (piece.end > piece.start).then_some(piece)
    })
}

/// The comment or the blanks at `start`; no token begins before `end`.
fn blank_piece(text: &str, start: usize, end: usize) -> Piece {
    let bytes = &text.as_bytes()[..end];
    let comment = |at: usize| bytes[at..].starts_with(b"--") || bytes[at..].starts_with(b"/*");
    if !comment(start) {
        let blank = (start..end).find(|at| comment(*at)).unwrap_or(end);
        return Piece { kind: PieceKind::Blank, start, end: blank };
    }
    let comment_stop = match bytes[start..].starts_with(b"--") {
        true => line_end(bytes, start),
        false => comment_end(bytes, start).unwrap_or(end),
    };
    Piece { kind: PieceKind::Comment, start, end: comment_stop }
}
