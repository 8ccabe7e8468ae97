//! Operators behind an operand.

use super::Parser;
use super::expr::After;
use super::frames::{Frame, Items, Mode, Value};
use super::power::{AND, AT, CAST, COLLATE, COMPARISON, EXPONENT, IS, MATCH, OR, OTHER, PRODUCT, Power, SUM};
use crate::error::Result;
use crate::syntax::{Expr, IsTest, JsonSort, Matching, NormalForm, Operator};
use crate::token::TokenKind as T;
use crate::tree::{Id, Text};

/// An operator between two operands, or behind one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Infix {
    pub(super) power: Power,
    pub(super) what: T,
}

impl Parser<'_> {
    /// The operator that the token at hand is behind an operand, if it is one there.
    #[inline]
    pub(super) fn infix(&mut self) -> Option<Infix> {
        let what = self.kind();
        if matches!(what, T::Comma | T::RightParen | T::Eof | T::Semicolon) || !self.mode.has_operators() {
            return None;
        }
        let power = match what {
            T::Equal | T::Less | T::Greater | T::LessEqual | T::GreaterEqual | T::NotEqual => COMPARISON,
            T::Plus | T::Minus => SUM,
            T::Star | T::Slash | T::Percent => PRODUCT,
            T::Caret => EXPONENT,
            T::Op => OTHER,
            T::DoubleColon => CAST,
            T::Is => IS,
            T::Operator => OTHER,
            T::Param if self.at_question_mark() => OTHER,
            _ if self.mode == Mode::Full => return self.word_infix(),
            _ => return None,
        };
        Some(Infix { power, what })
    }

    /// Operators that are words and not for restricted expressions.
    fn word_infix(&mut self) -> Option<Infix> {
        let what = self.kind();
        let power = match what {
            T::And => AND,
            T::Or => OR,
            T::Isnull | T::Notnull => IS,
            T::Between | T::In | T::Like | T::Ilike => MATCH,
            T::Escape if matches!(self.frames.last(), Some(Frame::Like { .. })) => MATCH,
            T::Similar if self.peek() == T::To => MATCH,
            T::Not if matches!(self.peek(), T::Between | T::In | T::Like | T::Ilike | T::Similar) => MATCH,
            T::At => AT,
            T::Collate => COLLATE,
            _ => return None,
        };
        Some(Infix { power, what })
    }

    /// Lets the operator at hand take `value` as its left operand.
    pub(super) fn shift(&mut self, value: Value, infix: Infix) -> Result<After> {
        match infix.what {
            T::And => self.begin_chain(value, |mark, start| Frame::And { mark, start }),
            T::Or => self.begin_chain(value, |mark, start| Frame::Or { mark, start }),
            T::Is => self.is_test(value),
            T::Isnull => self.null_test(value, false),
            T::Notnull => self.null_test(value, true),
            T::Between | T::In | T::Like | T::Ilike | T::Similar | T::Not => self.match_operator(value),
            T::At => self.at_time_zone(value),
            T::Collate => self.collate(value),
            T::DoubleColon => self.cast(value),
            _ => self.plain_operator(value, infix.power),
        }
    }

    fn begin_chain(&mut self, value: Value, frame: fn(u32, u32) -> Frame) -> Result<After> {
        self.advance();
        let mark = self.mark() as u32;
        self.push(value.id);
        self.frames.push(frame(mark, value.start));
        Ok(After::Operand)
    }

    fn null_test(&mut self, value: Value, negated: bool) -> Result<After> {
        self.advance();
        self.value(value.start, Expr::Is { operand: value.id, test: IsTest::Null, negated })
    }

    /// A node that is a complete expression.
    pub(super) fn value(&mut self, start: u32, expr: Expr) -> Result<After> {
        let id = self.node(start, expr)?;
        Ok(After::Value(Value { id, start }))
    }

    fn at_time_zone(&mut self, left: Value) -> Result<After> {
        self.advance();
        self.expect_all(&[T::Time, T::Zone])?;
        self.frames.push(Frame::AtTimeZone { left });
        Ok(After::Operand)
    }

    fn collate(&mut self, value: Value) -> Result<After> {
        self.advance();
        let collation = self.dotted_name()?;
        self.value(value.start, Expr::Collate { operand: value.id, collation })
    }

    fn cast(&mut self, value: Value) -> Result<After> {
        self.advance();
        let data_type = self.type_name()?;
        self.value(value.start, Expr::Cast { operand: value.id, data_type })
    }

    fn plain_operator(&mut self, left: Value, power: Power) -> Result<After> {
        let operator = self.qualified_operator()?;
        if matches!(self.kind(), T::Any | T::Some | T::All) && self.mode == Mode::Full {
            return self.quantified(left, operator);
        }
        self.frames.push(Frame::Infix { operator, left, power });
        Ok(After::Operand)
    }

    /// `=`, `OPERATOR (schema.=)`: `qual_all_Op`.
    pub(crate) fn qualified_operator(&mut self) -> Result<Id<Operator>> {
        let start = self.start();
        if !self.eat(T::Operator) {
            return self.operator_token();
        }
        self.expect(T::LeftParen)?;
        let operator = self.any_operator(start)?;
        self.expect(T::RightParen)?;
        Ok(operator)
    }

    /// `schema.=`: `any_operator`.
    pub(crate) fn any_operator(&mut self, start: u32) -> Result<Id<Operator>> {
        let mark = self.mark();
        while self.kind().is_column_name() {
            let schema = self.name()?;
            self.push(schema);
            self.expect(T::Dot)?;
        }
        if self.mark() == mark {
            return self.operator_token();
        }
        let symbol = self.operator_token()?;
        let text = match self.tree.get(symbol) {
            Operator::Plain { text } => text,
            _ => return Err(self.unexpected()),
        };
        let span = self.tree.span(symbol);
        let symbol = self.node_to(span.start, span.end, crate::syntax::Name { text })?;
        self.push(symbol);
        let names = self.list_since(mark);
        self.node(start, Operator::Qualified { names })
    }

    /// An operator by its symbol: `all_Op`.
    pub(crate) fn operator_token(&mut self) -> Result<Id<Operator>> {
        use T::{
            Caret, Equal, Greater, GreaterEqual, Less, LessEqual, Minus, NotEqual, Op, Percent, Plus, Slash, Star,
        };
        if self.at_question_mark() {
            return self.question_mark();
        }
        if !matches!(
            self.kind(),
            Op | Plus
                | Minus
                | Star
                | Slash
                | Percent
                | Caret
                | Less
                | Greater
                | Equal
                | LessEqual
                | GreaterEqual
                | NotEqual
        ) {
            return Err(self.unexpected());
        }
        let token = self.advance();
        let foreign = token.kind == NotEqual && self.lexer.text().as_bytes().get(token.start as usize) == Some(&b'!');
        let text = match foreign {
            true => Text { end: token.end, ..self.unwritten_text("<>", token.start) },
            false => Text { start: token.start, end: token.end, decoded: 0 },
        };
        self.node_to(token.start, token.end, Operator::Plain { text })
    }

    /// The token is `?`.
    fn at_question_mark(&self) -> bool {
        self.at(T::Param) && self.lexer.text().as_bytes().get(self.start() as usize) == Some(&b'?')
    }

    /// `?`, `?|`, `?&`: behind an operand they are operators, also where `?` is a parameter's place.
    fn question_mark(&mut self) -> Result<Id<Operator>> {
        let token = self.advance();
        let (mut end, next) = (token.end, self.token);
        let written = self.lexer.text().get(next.start as usize..next.end as usize);
        if next.start == end && matches!(written, Some("|" | "&")) {
            end = next.end;
            self.advance();
        }
        self.node_to(token.start, end, Operator::Plain { text: Text { start: token.start, end, decoded: 0 } })
    }

    /// A text that is not written that way.
    pub(super) fn unwritten_text(&mut self, text: &str, place: u32) -> Text {
        let from = self.tree.decoded_buffer().len();
        self.tree.decoded_buffer().push_str(text);
        Text { start: place, end: place, decoded: self.tree.note_decoded(from) }
    }

    /// `ANY (...)`, `ALL (...)` behind an operator.
    fn quantified(&mut self, left: Value, operator: Id<Operator>) -> Result<After> {
        let all = self.advance().kind == T::All;
        self.expect(T::LeftParen)?;
        if self.at_query() {
            let query = self.enter(Self::query_id)?;
            self.expect(T::RightParen)?;
            return self.value(left.start, Expr::QuantifiedQuery { left: left.id, operator, all, query });
        }
        self.open(|_, mode| Frame::Quantified { left, operator, all, mode });
        Ok(After::Operand)
    }

    fn is_test(&mut self, value: Value) -> Result<After> {
        self.advance();
        let negated = self.eat(T::Not);
        let operand = value.id;
        let full = self.mode == Mode::Full;
        let test = match self.kind() {
            T::Distinct => {
                self.advance();
                self.expect(T::From)?;
                self.frames.push(Frame::IsDistinct { left: value, negated });
                return Ok(After::Operand);
            }
            T::Document => IsTest::Document,
            T::Null if full => IsTest::Null,
            T::True if full => IsTest::True,
            T::False if full => IsTest::False,
            T::Unknown if full => IsTest::Unknown,
            T::Nfc | T::Nfd | T::Nfkc | T::Nfkd | T::Normalized if full => {
                let form = self.normal_form();
                self.expect(T::Normalized)?;
                return self.value(value.start, Expr::IsNormalized { operand, form, negated });
            }
            _ if full && self.at_word("json") => return self.is_json(value, negated),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        self.value(value.start, Expr::Is { operand, test, negated })
    }

    /// `NFC` and its kin, if one is there.
    pub(super) fn normal_form(&mut self) -> Option<NormalForm> {
        let form = match self.kind() {
            T::Nfc => NormalForm::Nfc,
            T::Nfd => NormalForm::Nfd,
            T::Nfkc => NormalForm::Nfkc,
            T::Nfkd => NormalForm::Nfkd,
            _ => return None,
        };
        self.advance();
        Some(form)
    }

    /// PostgreSQL 16's `IS JSON`.
    fn is_json(&mut self, value: Value, negated: bool) -> Result<After> {
        self.advance();
        let sort = match self.kind() {
            T::Value => JsonSort::Value,
            T::Array => JsonSort::Array,
            T::Object => JsonSort::Object,
            _ if self.at_word("scalar") => JsonSort::Scalar,
            _ => JsonSort::Any,
        };
        if sort != JsonSort::Any {
            self.advance();
        }
        let with = self.at_two(T::With, T::Unique);
        let unique_keys = with || self.at_two(T::Without, T::Unique);
        if unique_keys {
            self.advance();
            self.advance();
            if self.at_word("keys") {
                self.advance();
            }
        }
        self.value(value.start, Expr::IsJson { operand: value.id, sort, unique_keys: with, negated })
    }

    /// `[NOT] BETWEEN`, `IN`, `LIKE`, `ILIKE`, `SIMILAR TO`
    fn match_operator(&mut self, left: Value) -> Result<After> {
        let start = self.start();
        let negated = self.eat(T::Not);
        match self.advance().kind {
            T::Between => self.between(left, negated),
            T::In => self.in_list(left, negated),
            T::Like => self.like(left, Matching::Like, negated, start),
            T::Ilike => self.like(left, Matching::ILike, negated, start),
            _ => {
                self.expect(T::To)?;
                self.frames.push(Frame::Like { left, matching: Matching::SimilarTo, negated });
                Ok(After::Operand)
            }
        }
    }

    fn between(&mut self, left: Value, negated: bool) -> Result<After> {
        let symmetric = self.eat(T::Symmetric);
        if !symmetric {
            self.eat(T::Asymmetric);
        }
        self.frames.push(Frame::BetweenLow { left, negated, symmetric, mode: self.mode });
        self.mode = Mode::Restricted;
        Ok(After::Operand)
    }

    fn like(&mut self, left: Value, matching: Matching, negated: bool, start: u32) -> Result<After> {
        if matches!(self.kind(), T::Any | T::Some | T::All) {
            let operator = match (matching, negated) {
                (Matching::Like, false) => Operator::Like,
                (Matching::Like, true) => Operator::NotLike,
                (_, false) => Operator::ILike,
                (_, true) => Operator::NotILike,
            };
            let operator = self.node(start, operator)?;
            return self.quantified(left, operator);
        }
        self.frames.push(Frame::Like { left, matching, negated });
        Ok(After::Operand)
    }

    fn in_list(&mut self, left: Value, negated: bool) -> Result<After> {
        let start = self.start();
        self.expect(T::LeftParen)?;
        if self.at_query() {
            let query = self.enter(Self::query_id)?;
            self.expect(T::RightParen)?;
            return self.value(left.start, Expr::InQuery { operand: left.id, query, negated });
        }
        self.open(|mark, mode| Frame::Items { items: Items::In { left, negated }, start, mark, mode });
        Ok(After::Operand)
    }
}
