//! Expressions: operands and operators in turn.
//!
//! After an operand, the next operator either takes it (it binds tighter than what waits) or what waits takes it. So
//! the loop below is the whole of the precedence rules; what waits is on a stack of [`Frame`]s.

use super::Parser;
use super::frames::{Frame, Mode, Value};
use super::operator::Infix;
use super::power::{MATCH, Power};
use crate::error::Result;
use crate::syntax::Expr;
use crate::token::TokenKind as T;
use crate::tree::Id;

/// How much may be open at once; PostgreSQL's parser has room for about as much.
const OPEN_MAX: usize = 10_000;

/// What comes after a complete expression.
pub(super) enum After {
    /// A larger one that is complete, too.
    Value(Value),
    /// An operand.
    Operand,
}

impl Parser<'_> {
    /// Any expression: `a_expr`.
    #[inline]
    pub(crate) fn expr(&mut self) -> Result<Id<Expr>> {
        if let Some(constant) = self.lone_constant()? {
            return Ok(constant);
        }
        self.expression(Mode::Full, None, false)
    }

    /// An expression without AND, NOT, IN, LIKE, BETWEEN: `b_expr`.
    pub(crate) fn restricted_expr(&mut self) -> Result<Id<Expr>> {
        self.expression(Mode::Restricted, None, false)
    }

    /// An expression without operators: `c_expr`.
    pub(crate) fn simple_expr(&mut self) -> Result<Id<Expr>> {
        self.expression(Mode::Simple, None, false)
    }

    /// An expression that a label may follow without AS: where nothing follows a word, it is a label and no operator.
    pub(crate) fn target_expr(&mut self) -> Result<Id<Expr>> {
        self.expression(Mode::Full, None, true)
    }

    /// An expression whose first operand was read.
    pub(super) fn expr_from(&mut self, start: u32, first: Id<Expr>) -> Result<Id<Expr>> {
        self.expression(Mode::Full, Some(Value { id: first, start }), false)
    }

    /// Expressions with commas between them: `expr_list`.
    pub(crate) fn exprs(&mut self) -> Result<crate::tree::List<Expr>> {
        self.comma_list(Self::expr)
    }

    /// A constant with nothing but a comma or a parenthesis behind it: what most of a row of values is.
    #[inline]
    fn lone_constant(&mut self) -> Result<Option<Id<Expr>>> {
        if !matches!(self.kind(), T::IntegerConst | T::StringConst | T::NumberConst | T::Null) {
            return Ok(None);
        }
        let start = self.start();
        let id = self.constant()?;
        if matches!(self.kind(), T::Comma | T::RightParen) {
            return Ok(Some(id));
        }
        self.expression(Mode::Full, Some(Value { id, start }), false).map(Some)
    }

    pub(super) fn expression(&mut self, mode: Mode, first: Option<Value>, target: bool) -> Result<Id<Expr>> {
        let outer = std::mem::replace(&mut self.mode, mode);
        let value = self.enter(|parser| parser.operands_and_operators(first, target))?;
        self.mode = outer;
        Ok(value.id)
    }

    fn operands_and_operators(&mut self, first: Option<Value>, target: bool) -> Result<Value> {
        let base = self.frames.len();
        self.complete_from(base, first, target)
    }

    /// Completes what was opened since `base`.
    pub(super) fn complete(&mut self, base: usize) -> Result<Value> {
        self.complete_from(base, None, false)
    }

    fn complete_from(&mut self, base: usize, first: Option<Value>, target: bool) -> Result<Value> {
        let mut value = first;
        loop {
            let mut complete = match value.take() {
                Some(value) => value,
                None => match self.operand()? {
                    Some(value) => value,
                    None if self.frames.len() > OPEN_MAX => return Err(self.too_deep(self.start())),
                    None => continue,
                },
            };
            loop {
                if self.frames.len() == base && self.ends_expression(target) {
                    return Ok(complete);
                }
                match self.step_after(complete, base, target)? {
                    After::Value(larger) => complete = larger,
                    After::Operand => break,
                }
            }
        }
    }

    /// Whether nothing at hand belongs to a complete expression that nothing waits for.
    #[inline]
    fn ends_expression(&mut self, target: bool) -> bool {
        self.infix().is_none() || self.at(T::Escape) || target && self.at_bare_label()
    }

    /// Lets the operator at hand, or what waits, take the complete expression.
    fn step_after(&mut self, value: Value, base: usize, target: bool) -> Result<After> {
        let waiting = if self.frames.len() > base { self.frames.last().copied() } else { None };
        let held = waiting.as_ref().map_or(0, Frame::power);
        if self.at(T::Similar) && self.peek() != T::To {
            self.lone_similar(waiting.as_ref(), held)?;
        }
        match (self.infix(), waiting) {
            (Some(Infix { what: T::Escape, .. }), Some(Frame::Like { left, matching, negated })) => {
                self.advance();
                self.frames.pop();
                self.frames.push(Frame::LikeEscape { left, pattern: value.id, matching, negated });
                Ok(After::Operand)
            }
            (Some(infix), _) if infix.power > held => self.shift(value, infix),
            (Some(Infix { what: T::And, .. }), Some(Frame::And { .. }))
            | (Some(Infix { what: T::Or, .. }), Some(Frame::Or { .. }))
                if !(target && self.at_bare_label()) =>
            {
                self.advance();
                self.push(value.id);
                Ok(After::Operand)
            }
            (Some(infix), Some(frame)) if infix.power == held && !associates(&frame) => Err(self.unexpected()),
            (_, Some(frame)) => {
                self.frames.pop();
                self.resume(frame, value)
            }
            (_, None) => Err(self.unexpected()),
        }
    }

    /// SIMILAR without TO is a label, or SUBSTRING's, but only behind an expression that is complete.
    fn lone_similar(&mut self, waiting: Option<&Frame>, held: Power) -> Result<()> {
        match waiting {
            Some(_) if held < MATCH => {
                self.advance();
                Err(self.unexpected())
            }
            Some(frame) if held == MATCH && !associates(frame) => Err(self.unexpected()),
            _ => Ok(()),
        }
    }

    /// Whether the word at hand, which could be an operator, is a label: something follows that no operand begins with.
    fn at_bare_label(&mut self) -> bool {
        let word = matches!(
            self.kind(),
            T::And
                | T::Or
                | T::Not
                | T::Is
                | T::Between
                | T::In
                | T::Like
                | T::Ilike
                | T::Similar
                | T::Collate
                | T::At
                | T::Operator
        );
        word && ends_target(self.peek())
    }
}

/// Whether a chain of the frame's operator is read from left to right; otherwise it is an error.
fn associates(frame: &Frame) -> bool {
    use super::power::{COMPARISON, IS, MATCH};
    !matches!(frame.power(), COMPARISON | IS | MATCH)
}

/// Whether the token may follow a target and cannot begin an operand.
fn ends_target(kind: T) -> bool {
    matches!(
        kind,
        T::Eof
            | T::Semicolon
            | T::Comma
            | T::RightParen
            | T::From
            | T::Into
            | T::Where
            | T::Group
            | T::Having
            | T::Window
            | T::Union
            | T::Intersect
            | T::Except
            | T::Order
            | T::Limit
            | T::Offset
            | T::Fetch
            | T::For
            | T::On
            | T::Returning
            | T::With
    )
}
