//! What callers ask for: a statement, a script's statements one after another, an expression, a type.

use super::Parser;
use super::frames::Frame;
use crate::error::{PROGRAM_LIMIT_EXCEEDED, ParseError, Result, SYNTAX_ERROR};
use crate::syntax::{Expr, Statement, TypeName};
use crate::token::{Lexer, Placeholders, TokenKind as T};
use crate::tree::{Id, Span, Tree, TreeRoom};

/// What a caller allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which placeholders there may be besides `$1`.
    pub placeholders: Placeholders,
    /// How deep a tree may be. Whoever walks trees by recursion chooses it by his stack.
    pub depth_max: u16,
    /// How deep a tree may be nested, where chains of operators and of set operations are one level however long they are
    /// ([`Tree::continued`]).
    pub nesting_max: u16,
    /// How long a text may be, in bytes; never more than 4 GiB less one.
    pub text_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { placeholders: Placeholders::default(), depth_max: 1000, nesting_max: 1000, text_bytes_max: 64 << 20 }
    }
}

/// A statement of a script.
#[derive(Clone, Debug)]
pub struct ParsedStatement<'a> {
    /// Its tree. Spans count in the whole script.
    pub tree: Tree<'a>,
    /// The statement in it.
    pub statement: Id<Statement>,
    /// Names of `:name` parameters in the order of their numbers; empty where they have none.
    pub parameter_names: Vec<&'a str>,
}

/// Buffers that the parser keeps between statements.
#[derive(Debug, Default)]
pub struct Room {
    pub(super) tree: TreeRoom,
    pub(super) scratch: Vec<u32>,
    pub(super) frames: Vec<Frame>,
}

/// A statement found at the beginning of a text.
#[derive(Debug)]
pub struct FirstStatement<'a> {
    /// The statement; spans count in the text.
    pub parsed: Result<ParsedStatement<'a>>,
    /// The bytes of the statement, without what is blank around it and without its semicolon. Where it does not parse: up
    /// to the error.
    pub span: Span,
    /// The byte behind the statement's semicolon, or the text's end.
    pub behind: usize,
    /// Whether a semicolon ends it.
    pub complete: bool,
}

/// The first statement of a text, which is looked at no further; none where the text is empty. Empty statements are
/// skipped. The error: the text is too long to be looked at.
pub fn parse_first<'a>(text: &'a str, options: Options, room: &mut Room) -> Result<Option<FirstStatement<'a>>> {
    check_length(text, options)?;
    Ok(first_from(text, 0, options, Some(room)))
}

/// Without a room the buffers are the statement's own.
fn first_from<'a>(
    text: &'a str,
    at: usize,
    options: Options,
    mut room: Option<&mut Room>,
) -> Option<FirstStatement<'a>> {
    let taken = room.as_mut().map(|room| std::mem::take(*room)).unwrap_or_default();
    let mut parser = Parser::new(text, at, options, taken);
    while parser.eat(T::Semicolon) {}
    if parser.at(T::Eof) {
        give_back(room, &mut parser);
        return None;
    }
    let start = parser.start();
    parser.reserve(room.is_some());
    let result = parser.statement().and_then(|statement| parser.end_of_statement().map(|()| statement));
    let result = result.and_then(|statement| parser.check_nesting(statement).map(|()| statement));
    let span = Span { start, end: parser.end().max(start) };
    let behind = parser.skip_statement();
    let complete = parser.at(T::Semicolon);
    let parsed = result.map(|statement| parser.finish(statement, room.is_some()));
    give_back(room, &mut parser);
    Some(FirstStatement { parsed, span, behind, complete })
}

fn give_back(room: Option<&mut Room>, parser: &mut Parser<'_>) {
    if let Some(room) = room {
        *room = parser.take_room();
    }
}

/// The statements of a script; empty ones are skipped. After an error it goes on behind the next semicolon.
#[derive(Debug)]
pub struct Statements<'a> {
    text: &'a str,
    at: usize,
    options: Options,
    room: Room,
}

impl<'a> Iterator for Statements<'a> {
    type Item = Result<ParsedStatement<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(error) = check_length(self.text, self.options) {
            let first = self.at == 0;
            self.at = usize::MAX;
            return first.then_some(Err(error));
        }
        let first = first_from(self.text, self.at.min(self.text.len()), self.options, Some(&mut self.room));
        self.at = first.as_ref().map_or(self.text.len(), |first| first.behind);
        first.map(|first| first.parsed)
    }
}

impl<'a> Parser<'a> {
    fn end_of_statement(&mut self) -> Result<()> {
        if matches!(self.kind(), T::Semicolon | T::Eof) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// SQLSTATE 54001 where what was read is nested too deeply.
    fn check_nesting<N>(&self, node: Id<N>) -> Result<()> {
        // What is not deep is not nested deeply.
        if self.tree.depth(node) <= self.options.nesting_max {
            return Ok(());
        }
        match self.tree.nested_too_deep(self.options.nesting_max) {
            Some(start) => Err(self.too_deep(start)),
            None => Ok(()),
        }
    }

    /// The byte behind the next semicolon.
    fn skip_statement(&mut self) -> usize {
        while !matches!(self.kind(), T::Semicolon | T::Eof) {
            self.advance();
        }
        self.token.end as usize
    }

    fn finish(&mut self, statement: Id<Statement>, is_kept: bool) -> ParsedStatement<'a> {
        let text = self.lexer.text();
        let name = |(start, end): &(u32, u32)| text.get(*start as usize + 1..*end as usize).unwrap_or("");
        let parameter_names = self.named_parameters.iter().map(name).collect();
        ParsedStatement { tree: self.tree.finished(is_kept), statement, parameter_names }
    }
}

fn check_length(text: &str, options: Options) -> Result<()> {
    let limit = options.text_bytes_max.min(u32::MAX as usize - 1);
    if text.len() <= limit {
        return Ok(());
    }
    let message = format!("statement of {} bytes exceeds the limit of {limit} bytes", text.len());
    Err(ParseError::new(PROGRAM_LIMIT_EXCEEDED, message, 0))
}

/// The statements of a script, parsed as they are asked for.
pub fn parse_statements(text: &str, options: Options) -> Statements<'_> {
    Statements { text, at: 0, options, room: Room::default() }
}

/// The only statement of a text; none where it is empty. More than one is an error at the second.
pub fn parse_statement(text: &str, options: Options) -> Result<Option<ParsedStatement<'_>>> {
    only(text, options, None)
}

/// As [`parse_statement`], in buffers that are kept.
pub fn parse_statement_in<'a>(text: &'a str, options: Options, room: &mut Room) -> Result<Option<ParsedStatement<'a>>> {
    only(text, options, Some(room))
}

fn only<'a>(text: &'a str, options: Options, room: Option<&mut Room>) -> Result<Option<ParsedStatement<'a>>> {
    check_length(text, options)?;
    let Some(first) = first_from(text, 0, options, room) else { return Ok(None) };
    let mut rest = Lexer::new(text, first.behind, options.placeholders);
    let behind = std::iter::repeat_with(|| rest.next_token()).find(|token| token.kind != T::Semicolon);
    match behind {
        Some(token) if token.kind != T::Eof && first.parsed.is_ok() => {
            let message = "cannot insert multiple commands into a prepared statement";
            Err(ParseError::new(SYNTAX_ERROR, message, token.start))
        }
        _ => first.parsed.map(Some),
    }
}

/// A text that is an expression.
pub fn parse_expression(text: &str, options: Options) -> Result<(Tree<'_>, Id<Expr>)> {
    parse_whole(text, options, |parser| parser.expr())
}

/// A text that is a type's name.
pub fn parse_type_name(text: &str, options: Options) -> Result<(Tree<'_>, Id<TypeName>)> {
    parse_whole(text, options, |parser| parser.type_name())
}

fn parse_whole<'a, N>(
    text: &'a str,
    options: Options,
    read: impl FnOnce(&mut Parser<'a>) -> Result<Id<N>>,
) -> Result<(Tree<'a>, Id<N>)> {
    check_length(text, options)?;
    let mut parser = Parser::new(text, 0, options, Room::default());
    let result = read(&mut parser)?;
    parser.check_nesting(result)?;
    match parser.at(T::Eof) {
        true => Ok((parser.tree, result)),
        false => Err(parser.unexpected()),
    }
}
