//! Operands: what an expression begins with.

use super::Parser;
use super::frames::{CasePart, Frame, Items, Mode, Value};
use super::power::{NOT, OTHER, SIGN};
use crate::error::{FEATURE_NOT_SUPPORTED, ParseError, Result, SYNTAX_ERROR, UNDEFINED_PARAMETER};
use crate::syntax::{Expr, SpecialForm};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

/// The highest number of a parameter: as many as PostgreSQL's protocol can carry.
const PARAMETERS_MAX: u32 = 65_535;

impl Parser<'_> {
    /// An operand, or none where something was opened that waits for one.
    pub(super) fn operand(&mut self) -> Result<Option<Value>> {
        let start = self.start();
        match self.kind() {
            T::Ident => self.name_operand(),
            T::IntegerConst | T::NumberConst | T::StringConst | T::BitConst | T::HexConst => {
                self.constant_operand(start)
            }
            T::Null | T::True | T::False => self.constant_operand(start),
            T::Param => self.parameter(start).map(Some),
            T::LeftParen => self.parenthesis(start),
            T::Plus | T::Minus | T::Op => self.prefix_operator(start),
            T::Operator if self.peek() == T::LeftParen && self.mode.has_operators() => self.prefix_operator(start),
            T::Not => self.not(start),
            T::Case => self.case(start),
            T::Exists if self.peek() == T::LeftParen => self.exists(start),
            T::Array => self.array(start),
            T::Row if self.peek() == T::LeftParen => self.row_constructor(start),
            T::Default | T::Unique => self.only_in_full_expressions(start),
            _ => self.word_operand(start),
        }
    }

    fn done(&mut self, start: u32, expr: Expr) -> Result<Option<Value>> {
        let id = self.node(start, expr)?;
        Ok(Some(Value { id, start }))
    }

    fn constant_operand(&mut self, start: u32) -> Result<Option<Value>> {
        let id = self.constant()?;
        Ok(Some(Value { id, start }))
    }

    /// A sign or any other operator before its operand.
    fn prefix_operator(&mut self, start: u32) -> Result<Option<Value>> {
        if !self.mode.has_operators() {
            return Err(self.unexpected());
        }
        let power = if matches!(self.kind(), T::Plus | T::Minus) { SIGN } else { OTHER };
        let operator = self.qualified_operator()?;
        self.frames.push(Frame::Prefix { operator: Some(operator), start, power });
        Ok(None)
    }

    fn not(&mut self, start: u32) -> Result<Option<Value>> {
        if self.mode != Mode::Full {
            return Err(self.unexpected());
        }
        self.advance();
        self.frames.push(Frame::Prefix { operator: None, start, power: NOT });
        Ok(None)
    }

    fn only_in_full_expressions(&mut self, start: u32) -> Result<Option<Value>> {
        if self.mode != Mode::Full {
            return Err(self.unexpected());
        }
        if self.advance().kind == T::Default {
            return self.done(start, Expr::Default);
        }
        self.nulls_distinct()?;
        self.query_in_parentheses()?;
        Err(ParseError::new(FEATURE_NOT_SUPPORTED, "UNIQUE predicate is not yet implemented", start))
    }

    /// `NULLS [NOT] DISTINCT`: whether NULLs are told apart.
    pub(crate) fn nulls_distinct(&mut self) -> Result<bool> {
        if !self.eat(T::Nulls) {
            return Ok(true);
        }
        let distinct = !self.eat(T::Not);
        self.expect(T::Distinct)?;
        Ok(distinct)
    }

    fn parenthesis(&mut self, start: u32) -> Result<Option<Value>> {
        self.advance();
        if self.at_query() {
            let query = self.enter(Self::query_id)?;
            self.expect(T::RightParen)?;
            let id = self.node(start, Expr::Subquery { query })?;
            return self.indirection_behind(Value { id, start }).map(Some);
        }
        self.open(|mark, mode| Frame::Paren { start, mark, mode });
        Ok(None)
    }

    /// Parts of a value in parentheses, or of a parameter.
    pub(super) fn indirection_behind(&mut self, value: Value) -> Result<Value> {
        if !matches!(self.kind(), T::Dot | T::LeftBracket) {
            return Ok(value);
        }
        let steps = self.indirection()?;
        let id = self.node(value.start, Expr::Indirection { base: value.id, steps })?;
        Ok(Value { id, start: value.start })
    }

    fn exists(&mut self, start: u32) -> Result<Option<Value>> {
        self.advance();
        let query = self.query_in_parentheses()?;
        self.done(start, Expr::Exists { query })
    }

    fn case(&mut self, start: u32) -> Result<Option<Value>> {
        self.advance();
        let part = match self.at(T::When) {
            true => CasePart::Condition { start: self.advance().start },
            false => CasePart::Operand,
        };
        self.open(|mark, mode| Frame::Case { part, operand: None, start, mark, mode });
        Ok(None)
    }

    fn row_constructor(&mut self, start: u32) -> Result<Option<Value>> {
        self.advance();
        self.advance();
        if self.eat(T::RightParen) {
            let mark = self.mark();
            return match self.row(start, mark, true)? {
                super::expr::After::Value(value) => Ok(Some(value)),
                super::expr::After::Operand => Ok(None),
            };
        }
        self.open_items(Items::Row, start)
    }

    pub(super) fn open_items(&mut self, items: Items, start: u32) -> Result<Option<Value>> {
        self.open(|mark, mode| Frame::Items { items, start, mark, mode });
        Ok(None)
    }

    /// `ARRAY[...]`, `ARRAY (SELECT ...)`
    fn array(&mut self, start: u32) -> Result<Option<Value>> {
        self.advance();
        if self.at(T::LeftParen) {
            let query = self.query_in_parentheses()?;
            return self.done(start, Expr::ArrayQuery { query });
        }
        self.expect(T::LeftBracket)?;
        match self.kind() {
            T::RightBracket => {
                self.advance();
                self.done(start, Expr::Array { items: List::EMPTY })
            }
            T::LeftBracket => {
                let items = self.comma_list(|parser| parser.enter(Self::inner_array))?;
                self.expect(T::RightBracket)?;
                self.done(start, Expr::Array { items })
            }
            _ => self.open_items(Items::Array, start),
        }
    }

    /// An array within an array: `[...]`.
    fn inner_array(&mut self) -> Result<Id<Expr>> {
        let start = self.start();
        self.expect(T::LeftBracket)?;
        let items = match self.kind() {
            T::RightBracket => List::EMPTY,
            T::LeftBracket => self.comma_list(|parser| parser.enter(Self::inner_array))?,
            _ => self.exprs()?,
        };
        self.expect(T::RightBracket)?;
        self.node(start, Expr::Array { items })
    }

    /// An operand that begins with a keyword.
    fn word_operand(&mut self, start: u32) -> Result<Option<Value>> {
        if let Some(value) = self.session_value(start)? {
            return Ok(Some(value));
        }
        if self.peek() == T::LeftParen
            && let Some(special) = self.special_function(start)?
        {
            return Ok(special);
        }
        if self.at_two(T::Collation, T::For) {
            return self.collation_for(start);
        }
        if let Some(value) = self.typed_constant(start)? {
            return Ok(Some(value));
        }
        if self.kind().is_column_name() || self.kind().is_function_name() {
            return self.name_operand();
        }
        Err(self.unexpected())
    }

    fn collation_for(&mut self, start: u32) -> Result<Option<Value>> {
        self.expect_all(&[T::Collation, T::For, T::LeftParen])?;
        self.open_single(SpecialForm::CollationFor, start)
    }

    fn open_single(&mut self, form: SpecialForm, start: u32) -> Result<Option<Value>> {
        let mark = self.mark();
        let operand = self.expr()?;
        self.push(operand);
        let args = self.list_since(mark);
        self.expect(T::RightParen)?;
        self.done(start, Expr::Special { form, args })
    }

    /// A column, a call, or a constant of a named type: what begins with a name.
    fn name_operand(&mut self) -> Result<Option<Value>> {
        let start = self.start();
        let first = self.token;
        let mark = self.mark();
        let name = self.any_name_token()?;
        self.push(name);
        if self.at(T::Dot) {
            return self.dotted_operand(start, mark, first.kind);
        }
        match self.kind() {
            T::LeftParen if first.kind.is_function_name() => {
                let name = self.list_since(mark);
                self.call(start, name)
            }
            T::StringConst if first.kind.is_function_name() => {
                let names = self.list_since(mark);
                self.named_type_constant(start, names, List::EMPTY)
            }
            _ if !first.kind.is_column_name() => Err(self.unexpected()),
            T::LeftBracket => self.column_part(start, mark),
            _ => self.column(start, mark),
        }
    }

    fn column(&mut self, start: u32, mark: usize) -> Result<Option<Value>> {
        let names = self.list_since(mark);
        self.done(start, Expr::Column { names })
    }

    /// A name with something behind its dot.
    fn dotted_operand(&mut self, start: u32, mark: usize, first: T) -> Result<Option<Value>> {
        if !first.is_column_name() {
            return Err(self.unexpected());
        }
        while self.eat(T::Dot) {
            if self.eat(T::Star) {
                return self.whole_row(start, mark);
            }
            let part = self.label()?;
            self.push(part);
        }
        match self.kind() {
            T::LeftParen => {
                let name = self.list_since(mark);
                self.call(start, name)
            }
            T::StringConst => {
                let names = self.list_since(mark);
                self.named_type_constant(start, names, List::EMPTY)
            }
            T::LeftBracket => self.column_part(start, mark),
            _ => self.column(start, mark),
        }
    }

    /// `t.*`
    fn whole_row(&mut self, start: u32, mark: usize) -> Result<Option<Value>> {
        let qualifier = self.list_since(mark);
        if matches!(self.kind(), T::Dot | T::LeftBracket) {
            self.indirection()?;
            return Err(self.near("improper use of \"*\""));
        }
        self.done(start, Expr::All { qualifier })
    }

    /// `a.b[1].c`
    fn column_part(&mut self, start: u32, mark: usize) -> Result<Option<Value>> {
        let names = self.list_since(mark);
        let base = self.node(start, Expr::Column { names })?;
        let steps = self.indirection()?;
        self.done(start, Expr::Indirection { base, steps })
    }

    /// `$1`, `?`, `:name`
    fn parameter(&mut self, start: u32) -> Result<Value> {
        let token = self.advance();
        let number = self.parameter_number(token)?;
        self.tree.note_parameter(number);
        let id = self.node(start, Expr::Parameter { number })?;
        self.indirection_behind(Value { id, start })
    }

    fn parameter_number(&mut self, token: crate::token::Token) -> Result<u32> {
        let text = self.lexer.text();
        let written = |start: u32, end: u32| text.get(start as usize..end as usize).unwrap_or("");
        let name = written(token.start, token.end);
        let (marks, names) = (self.question_marks, self.named_parameters.len() as u32);
        let (number, mixed) = match name.as_bytes() {
            [b'$', ..] => (name[1..].parse().unwrap_or(0), marks + names > 0),
            [b'?'] => {
                self.question_marks += 1;
                (self.question_marks, self.tree.parameters() > marks)
            }
            _ => {
                let known = self.named_parameters.iter().position(|(start, end)| written(*start, *end) == name);
                let place = known.unwrap_or_else(|| {
                    self.named_parameters.push((token.start, token.end));
                    self.named_parameters.len() - 1
                });
                (place as u32 + 1, self.tree.parameters() > names)
            }
        };
        if mixed {
            let message = "a statement's parameters are written in one way: as $1, as ? or as :name";
            return Err(ParseError::new(SYNTAX_ERROR, message, token.start));
        }
        match number {
            1..=PARAMETERS_MAX => Ok(number),
            _ => Err(ParseError::new(UNDEFINED_PARAMETER, format!("there is no parameter {name}"), token.start)),
        }
    }
}
