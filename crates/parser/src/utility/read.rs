//! Reads a utility command by its grammar.
//!
//! Alternatives are tried in order, and what was read of one that does not fit is taken back; the error told is that of
//! the token that was reached last, which is the first that no command could have there. A rule holds itself only in the
//! bodies of functions, which are counted; so time is linear, with a factor for the alternatives that begin alike.

use super::grammar::{Grammar, RuleNumber, Step};
use crate::error::{ParseError, Result, SYNTAX_ERROR};
use crate::parse::Parser;
use crate::syntax::Part;
use crate::token::TokenKind;
use crate::tree::Id;

impl Parser<'_> {
    /// A statement that is no query and changes no rows of its own.
    pub(crate) fn utility(&mut self) -> Result<Id<Part>> {
        let commands = match self.at(TokenKind::Ident) {
            true => Grammar::get().own_commands(self.written_token()),
            false => Grammar::get().commands(self.kind()),
        };
        if commands.is_empty() {
            return Err(self.unexpected());
        }
        self.enter(|parser| {
            let mark = parser.mark();
            let mut reader = Reader { parser, grammar: Grammar::get(), reached: 0, error: None, refused: None };
            let fits = commands.iter().any(|command| reader.command(*command));
            let Reader { parser, error, refused, .. } = reader;
            let command = parser.list_since(mark);
            match parser.tree.nth(command, 0) {
                Some(command) if fits => Ok(command),
                _ => Err(refused.or(error).unwrap_or_else(|| parser.unexpected())),
            }
        })
    }
}

struct Reader<'p, 'a> {
    parser: &'p mut Parser<'a>,
    grammar: &'static Grammar,
    /// The last token that could not stand where it does, and why.
    reached: u32,
    error: Option<Box<ParseError>>,
    /// Why the command is refused, whatever else it could be.
    refused: Option<Box<ParseError>>,
}

impl Reader<'_, '_> {
    /// A command up to the statement's end.
    fn command(&mut self, number: RuleNumber) -> bool {
        let start = self.parser.here();
        let fits = self.rule(number) && self.ends();
        if !fits {
            self.parser.back_to(start);
        }
        fits
    }

    fn ends(&mut self) -> bool {
        if matches!(self.parser.kind(), TokenKind::Semicolon | TokenKind::Eof) {
            return true;
        }
        let error = self.parser.unexpected();
        self.miss(error)
    }

    /// Whether what is asked for was there; it is taken then, and its parts are pushed.
    fn step(&mut self, step: &Step) -> bool {
        if self.refused.is_some() {
            return false;
        }
        match step {
            Step::Token(kind) => self.token(*kind),
            Step::Leaf(leaf) => match self.parser.leaf(*leaf) {
                Ok(part) => self.keep(part),
                Err(error) => self.miss(error),
            },
            Step::Rule(number) => self.rule(*number),
            Step::All(steps) => steps.iter().all(|step| self.step(step)),
            Step::FirstOf(steps) => steps.iter().any(|step| self.tried(step)),
            Step::Optional(step) => {
                self.tried(step);
                true
            }
            Step::Repeated(step, least) => self.repeated(step, *least),
            Step::Commas(step) => self.commas(step),
            Step::Not(step) => self.not(step),
        }
    }

    fn token(&mut self, kind: TokenKind) -> bool {
        let start = self.parser.start();
        if self.begins_expression(kind) || !self.parser.eat(kind) {
            if self.error.is_none() || start > self.reached {
                let error = self.parser.unexpected();
                return self.miss(error);
            }
            return false;
        }
        match self.parser.node(start, Part::Keyword { kind: kind as u32 }) {
            Ok(part) => self.keep(part),
            Err(error) => self.miss(error),
        }
    }

    /// NOT before BETWEEN, IN, LIKE and their kin is part of an expression, and so a token of another kind to PostgreSQL.
    fn begins_expression(&mut self, kind: TokenKind) -> bool {
        use TokenKind::{Between, Ilike, In, Like, Not, Similar};
        kind == Not && self.parser.at(Not) && matches!(self.parser.peek(), Between | In | Like | Ilike | Similar)
    }

    fn rule(&mut self, number: RuleNumber) -> bool {
        let (start, mark) = (self.parser.start(), self.parser.mark());
        if !self.step(self.grammar.rule(number)) {
            return false;
        }
        let parts = self.parser.list_since(mark);
        let part = Part::Rule { rule: number, parts };
        let checked = super::check::check(self.parser, self.grammar.name(number), start, parts);
        match checked.and_then(|()| self.parser.node(start, part)) {
            Ok(part) => self.keep(part),
            Err(error) => self.refuse(error),
        }
    }

    /// The step, or nothing is taken.
    fn tried(&mut self, step: &Step) -> bool {
        let position = self.parser.here();
        let fits = self.step(step);
        if !fits {
            self.parser.back_to(position);
        }
        fits
    }

    fn repeated(&mut self, step: &Step, least: usize) -> bool {
        let mut times = 0;
        loop {
            let start = self.parser.start();
            if !self.tried(step) || self.parser.start() == start {
                return times >= least;
            }
            times += 1;
        }
    }

    fn commas(&mut self, step: &Step) -> bool {
        if !self.step(step) {
            return false;
        }
        loop {
            let position = self.parser.here();
            if !self.token(TokenKind::Comma) || !self.step(step) {
                self.parser.back_to(position);
                return true;
            }
        }
    }

    fn not(&mut self, step: &Step) -> bool {
        let position = self.parser.here();
        let (reached, error) = (self.reached, self.error.clone());
        let fits = self.step(step);
        self.parser.back_to(position);
        (self.reached, self.error) = (reached, error);
        !fits
    }

    fn keep(&mut self, part: Id<Part>) -> bool {
        self.parser.push(part);
        true
    }

    /// Notes why something does not fit, where nothing was reached that stands further on.
    fn miss(&mut self, error: Box<ParseError>) -> bool {
        let reached = self.parser.start();
        if error.position != reached || error.sqlstate != SYNTAX_ERROR {
            return self.refuse(error);
        }
        if self.error.is_none() || reached > self.reached {
            self.reached = reached;
            self.error = Some(error);
        }
        false
    }

    /// What stands before the next token is in order and wrong nevertheless: nothing else is tried.
    fn refuse(&mut self, error: Box<ParseError>) -> bool {
        self.refused.get_or_insert(error);
        false
    }
}
