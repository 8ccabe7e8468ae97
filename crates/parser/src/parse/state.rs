//! The parser's state and its small steps: looking at a token, taking it, making nodes and lists.

use std::thread;

use super::frames::{Frame, Mode};
use super::script::{Options, Room};
use crate::error::{ParseError, Result, STATEMENT_TOO_COMPLEX};
use crate::hints::{Place, hint_for};
use crate::token::{Lexer, Token, TokenKind};
use crate::tree::{Id, List, Syntax, Text, Tree, TreeSize};

/// How deep what recurses may be. A query in a query counts twice or three times.
pub(crate) const RECURSION_MAX: u32 = 300;

/// How much of that one stack holds: in a debug build 22 levels of windows in windows, the costliest of
/// `examples/stack.rs`, take 80 KiB.
const RECURSION_OF_A_STACK: u32 = 24;

/// The stack of the threads that deeper statements go on in; the caller's must be as large.
const STACK_BYTES: usize = 128 << 10;

/// Reads one statement after another from a text.
pub(crate) struct Parser<'a> {
    pub(super) lexer: Lexer<'a>,
    /// The token that is looked at.
    pub(super) token: Token,
    /// The token before it.
    pub(super) previous: Token,
    /// The token behind it, where somebody has looked.
    pub(super) ahead: Option<Token>,
    pub(crate) tree: Tree<'a>,
    /// Items of the lists that are being read.
    pub(super) scratch: Vec<u32>,
    /// What is open of the expressions that are being read.
    pub(super) frames: Vec<Frame>,
    /// Which kind of expression is read at the moment.
    pub(super) mode: Mode,
    pub(super) recursion: u32,
    pub(super) options: Options,
    /// Places of `:name` parameters by number.
    pub(super) named_parameters: Vec<(u32, u32)>,
    pub(super) question_marks: u32,
}

/// A place to go back to.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    start: u32,
    previous: Token,
    tree: TreeSize,
    scratch: usize,
    frames: usize,
    mode: Mode,
    recursion: u32,
    named_parameters: usize,
    question_marks: u32,
}

impl<'a> Parser<'a> {
    /// Where the parser is.
    pub(crate) fn here(&self) -> Position {
        Position {
            start: self.token.start,
            previous: self.previous,
            tree: self.tree.size(),
            scratch: self.scratch.len(),
            frames: self.frames.len(),
            mode: self.mode,
            recursion: self.recursion,
            named_parameters: self.named_parameters.len(),
            question_marks: self.question_marks,
        }
    }

    /// Takes back what was read since.
    pub(crate) fn back_to(&mut self, position: Position) {
        if self.token.start != position.start {
            self.lexer.go_to(position.start);
            self.ahead = None;
            self.token = self.lexer.next_token();
        }
        self.previous = position.previous;
        self.tree.cut_to(position.tree);
        self.scratch.truncate(position.scratch);
        self.frames.truncate(position.frames);
        self.mode = position.mode;
        self.recursion = position.recursion;
        self.named_parameters.truncate(position.named_parameters);
        self.question_marks = position.question_marks;
    }

    /// The token's text as written.
    pub(crate) fn written_token(&self) -> &'a str {
        self.lexer.text().get(self.token.start as usize..self.token.end as usize).unwrap_or("")
    }

    /// An error of this wording at the word that begins here.
    pub(crate) fn near_word(&self, what: &str, start: u32) -> Box<ParseError> {
        let rest = self.lexer.text().get(start as usize..).unwrap_or("");
        let end = rest.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(rest.len());
        ParseError::near(what, &rest[..end], start)
    }

    /// A parser that begins at byte `start`, in the buffers of one before it.
    pub(crate) fn new(text: &'a str, start: usize, options: Options, room: Room) -> Parser<'a> {
        let Room { tree, mut scratch, mut frames } = room;
        scratch.clear();
        frames.clear();
        // What most statements need, before the first one grows them step by step.
        scratch.reserve(32);
        frames.reserve(8);
        let mut lexer = Lexer::new(text, start, options.placeholders);
        let token = lexer.next_token();
        let nothing = Token { kind: TokenKind::Eof, encoded: false, start: 0, end: 0 };
        Parser {
            lexer,
            token,
            previous: nothing,
            ahead: None,
            tree: Tree::new(text, tree),
            scratch,
            frames,
            mode: Mode::Full,
            recursion: 0,
            options,
            named_parameters: Vec::new(),
            question_marks: 0,
        }
    }

    /// Its buffers, for the next.
    pub(super) fn take_room(&mut self) -> Room {
        let (scratch, frames) = (std::mem::take(&mut self.scratch), std::mem::take(&mut self.frames));
        Room { tree: self.tree.take_room(), scratch, frames }
    }

    /// Makes room for what a text of this length may need, when it is known that there is something to read.
    pub(super) fn reserve(&mut self, is_kept: bool) {
        let left = self.lexer.text().len() - self.token.start as usize;
        self.tree.reserve(left, is_kept);
    }

    /// The kind of the token that is looked at.
    #[inline]
    pub(crate) fn kind(&self) -> TokenKind {
        self.token.kind
    }

    /// Whether the token is of this kind.
    #[inline]
    pub(crate) fn at(&self, kind: TokenKind) -> bool {
        self.token.kind == kind
    }

    /// Whether the token and the one behind it are of these kinds.
    pub(crate) fn at_two(&mut self, first: TokenKind, second: TokenKind) -> bool {
        self.at(first) && self.peek() == second
    }

    /// The kind of the token behind the one that is looked at.
    #[inline]
    pub(crate) fn peek(&mut self) -> TokenKind {
        match self.ahead {
            Some(token) => token.kind,
            None => {
                let token = self.lexer.next_token();
                self.ahead = Some(token);
                token.kind
            }
        }
    }

    /// Takes the token.
    #[inline]
    pub(crate) fn advance(&mut self) -> Token {
        let taken = self.token;
        self.previous = taken;
        self.token = match self.ahead.take() {
            Some(token) => token,
            None => self.lexer.next_token(),
        };
        taken
    }

    /// Takes the token if it is of this kind.
    #[inline]
    pub(crate) fn eat(&mut self, kind: TokenKind) -> bool {
        let is = self.at(kind);
        if is {
            self.advance();
        }
        is
    }

    /// Takes both tokens if they are of these kinds.
    pub(crate) fn eat_two(&mut self, first: TokenKind, second: TokenKind) -> bool {
        let are = self.at_two(first, second);
        if are {
            self.advance();
            self.advance();
        }
        are
    }

    /// Takes a token of this kind; any other is an error.
    #[inline]
    pub(crate) fn expect(&mut self, kind: TokenKind) -> Result<Token> {
        match self.at(kind) {
            true => Ok(self.advance()),
            false => Err(self.unexpected()),
        }
    }

    /// Takes tokens of these kinds in order.
    pub(crate) fn expect_all(&mut self, kinds: &[TokenKind]) -> Result<()> {
        kinds.iter().try_for_each(|kind| self.expect(*kind).map(|_| ()))
    }

    /// The error that the token cannot stand where it does.
    #[cold]
    pub(crate) fn unexpected(&mut self) -> Box<ParseError> {
        if let (TokenKind::Bad, Some(error)) = (self.token.kind, self.lexer.error()) {
            return Box::new(error.clone());
        }
        let error = self.near("syntax error");
        let text = self.lexer.text();
        let slice = |start: u32, end: u32| text.get(start as usize..end as usize).unwrap_or("");
        let place = Place {
            rest: slice(self.token.start, text.len() as u32),
            before: slice(self.previous.start, self.previous.end),
            two_values: self.previous.end > self.previous.start
                && ends_value(self.previous.kind)
                && is_value(self.token.kind),
        };
        match hint_for(&place) {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }

    /// An error of this wording at the token.
    pub(crate) fn near(&self, what: &str) -> Box<ParseError> {
        let token = self.token;
        let text = self.lexer.text().get(token.start as usize..token.end as usize).unwrap_or("");
        ParseError::near(what, text, token.start)
    }

    /// The first byte of what is read next.
    #[inline]
    pub(crate) fn start(&self) -> u32 {
        self.token.start
    }

    /// The byte behind what was read last.
    #[inline]
    pub(crate) fn end(&self) -> u32 {
        self.previous.end
    }

    /// Makes a node of what was read since `start`.
    #[inline]
    pub(crate) fn node<T: Syntax>(&mut self, start: u32, node: T) -> Result<Id<T>> {
        let end = self.end();
        self.node_to(start, end, node)
    }

    #[inline]
    pub(crate) fn node_to<T: Syntax>(&mut self, start: u32, end: u32, node: T) -> Result<Id<T>> {
        let draft = node.encode(&mut self.tree);
        if draft.depth > self.options.depth_max {
            return Err(self.too_deep(start));
        }
        Ok(Id::new(self.tree.add(draft, start, end)))
    }

    #[cold]
    pub(crate) fn too_deep(&self, position: u32) -> Box<ParseError> {
        ParseError::new(STATEMENT_TOO_COMPLEX, "stack depth limit exceeded", position)
            .with_hint("The statement is nested too deeply.")
    }

    /// Reads something that may hold itself, on the thread's stack.
    pub(crate) fn enter<N: Send>(&mut self, read: impl FnOnce(&mut Self) -> Result<N> + Send) -> Result<N> {
        if self.recursion >= RECURSION_MAX {
            return Err(self.too_deep(self.token.start));
        }
        self.recursion += 1;
        let result = match self.recursion % RECURSION_OF_A_STACK {
            0 => self.on_another_stack(STACK_BYTES, read),
            _ => read(self),
        };
        self.recursion -= 1;
        result
    }

    /// Goes on in a thread of its own: only statements that are nested as hardly any is come here.
    #[cold]
    pub(crate) fn on_another_stack<N: Send>(
        &mut self,
        bytes: usize,
        read: impl FnOnce(&mut Self) -> Result<N> + Send,
    ) -> Result<N> {
        if cfg!(target_family = "wasm") {
            // There are no threads, and the stack is the embedder's to choose.
            return read(self);
        }
        let position = self.token.start;
        let result = thread::scope(|scope| {
            let stack = thread::Builder::new().stack_size(bytes);
            let reader = stack.spawn_scoped(scope, || read(self)).ok()?;
            Some(reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        result.unwrap_or_else(|| Err(self.too_deep(position)))
    }

    /// Begins a list: its items are pushed with [`Parser::push`].
    #[inline]
    pub(crate) fn mark(&self) -> usize {
        self.scratch.len()
    }

    #[inline]
    pub(crate) fn push<T>(&mut self, id: Id<T>) {
        self.scratch.push(id.0.get());
    }

    /// Ends the list that began at `mark`.
    #[inline]
    pub(crate) fn list_since<T>(&mut self, mark: usize) -> List<T> {
        let list = self.tree.add_list(&self.scratch[mark..]);
        self.scratch.truncate(mark);
        list
    }

    /// One item or more with commas between them.
    pub(crate) fn comma_list<T>(&mut self, read: impl FnMut(&mut Self) -> Result<Id<T>>) -> Result<List<T>> {
        let mark = self.mark();
        self.comma_items(read)?;
        Ok(self.list_since(mark))
    }

    /// Pushes one item or more with commas between them.
    pub(crate) fn comma_items<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<Id<T>>) -> Result<()> {
        loop {
            let item = read(self)?;
            self.push(item);
            if !self.eat(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    /// `( items )`
    pub(crate) fn parenthesized<T>(&mut self, read: impl FnMut(&mut Self) -> Result<Id<T>>) -> Result<List<T>> {
        self.expect(TokenKind::LeftParen)?;
        let list = self.comma_list(read)?;
        self.expect(TokenKind::RightParen)?;
        Ok(list)
    }

    /// `( items )` if there is a parenthesis.
    pub(crate) fn optional_parenthesized<T>(
        &mut self,
        read: impl FnMut(&mut Self) -> Result<Id<T>>,
    ) -> Result<List<T>> {
        if self.at(TokenKind::LeftParen) { self.parenthesized(read) } else { Ok(List::EMPTY) }
    }

    /// What the token says.
    #[inline]
    pub(crate) fn text(&mut self, token: Token) -> Result<Text> {
        let decoded = if token.encoded { self.decode(token)? } else { 0 };
        Ok(Text { start: token.start, end: token.end, decoded })
    }

    fn decode(&mut self, token: Token) -> Result<u32> {
        let text = self.lexer.text();
        let buffer = self.tree.decoded_buffer();
        let from = buffer.len();
        crate::token::literal::decode(text, &token, buffer)?;
        Ok(self.tree.note_decoded(from))
    }

    /// Whether the word that is looked at is this one, which is no keyword of PostgreSQL 15.
    pub(crate) fn at_word(&self, word: &str) -> bool {
        let text = self.lexer.text().get(self.token.start as usize..self.token.end as usize);
        self.at(TokenKind::Ident) && text.is_some_and(|text| text.eq_ignore_ascii_case(word))
    }
}

/// Whether a value may begin with the token and with nothing else.
fn is_value(kind: TokenKind) -> bool {
    use TokenKind as T;
    matches!(kind, T::Ident | T::StringConst | T::IntegerConst | T::NumberConst | T::Param | T::BitConst | T::HexConst)
}

/// Whether a value may end with the token.
fn ends_value(kind: TokenKind) -> bool {
    is_value(kind) || matches!(kind, TokenKind::RightParen | TokenKind::RightBracket | TokenKind::Null)
}
