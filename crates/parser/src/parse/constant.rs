//! Constants, and constants of a named type.

use super::Parser;
use super::frames::Value;
use crate::error::{ParseError, Result, SYNTAX_ERROR};
use crate::syntax::{BaseType, Expr, Name, SessionValue, TypeName};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

impl Parser<'_> {
    /// The constant at hand.
    #[inline]
    pub(crate) fn constant(&mut self) -> Result<Id<Expr>> {
        let token = self.advance();
        let expr = match token.kind {
            T::IntegerConst => Expr::Integer { text: self.text(token)? },
            T::StringConst => Expr::String { text: self.text(token)? },
            T::NumberConst => Expr::Number { text: self.text(token)? },
            T::BitConst => Expr::BitString { text: self.text(token)? },
            T::HexConst => Expr::HexString { text: self.text(token)? },
            T::Null => Expr::Null,
            kind => Expr::Boolean { value: kind == T::True },
        };
        self.node_to(token.start, token.end, expr)
    }

    /// A string: `Sconst`.
    pub(crate) fn string(&mut self) -> Result<Id<Expr>> {
        if self.at(T::StringConst) { self.constant() } else { Err(self.unexpected()) }
    }

    /// An integer without a sign: `Iconst`.
    pub(crate) fn integer(&mut self) -> Result<Id<Expr>> {
        if self.at(T::IntegerConst) { self.constant() } else { Err(self.unexpected()) }
    }

    /// A number that may have a sign: `NumericOnly`.
    pub(crate) fn signed_number(&mut self) -> Result<Id<Expr>> {
        let start = self.start();
        let sign = if matches!(self.kind(), T::Plus | T::Minus) { Some(self.operator_token()?) } else { None };
        if !matches!(self.kind(), T::IntegerConst | T::NumberConst) {
            return Err(self.unexpected());
        }
        let operand = self.constant()?;
        match sign {
            Some(operator) => self.node(start, Expr::Unary { operator, operand }),
            None => Ok(operand),
        }
    }

    /// A constant: `AexprConst`.
    pub(crate) fn any_constant(&mut self) -> Result<Id<Expr>> {
        let expr = self.simple_expr()?;
        match self.tree.get(expr) {
            Expr::Null
            | Expr::Boolean { .. }
            | Expr::Integer { .. }
            | Expr::Number { .. }
            | Expr::String { .. }
            | Expr::BitString { .. }
            | Expr::HexString { .. }
            | Expr::TypedString { .. } => Ok(expr),
            _ => Err(self.unexpected()),
        }
    }

    /// A constant of a type that the grammar knows: `DATE` is none of these, `TIMESTAMP '...'` is.
    pub(super) fn typed_constant(&mut self, start: u32) -> Result<Option<Value>> {
        if !self.at_constant_type() {
            return Ok(None);
        }
        let interval = self.at(T::Interval);
        let data_type = if interval { self.interval_before_constant()? } else { self.simple_type()? };
        let literal = self.string()?;
        let data_type = if interval { self.interval_behind_constant(data_type)? } else { data_type };
        let data_type = self.node_to(start, self.tree.span(literal).start, data_type)?;
        let id = self.node(start, Expr::TypedString { data_type, literal })?;
        Ok(Some(Value { id, start }))
    }

    /// Whether a type begins that the grammar knows, and no column that is called like it.
    fn at_constant_type(&mut self) -> bool {
        let next = |parser: &mut Self, kinds: &[T]| kinds.contains(&parser.peek());
        match self.kind() {
            T::Int | T::Integer | T::Smallint | T::Bigint | T::Real | T::Boolean => next(self, &[T::StringConst]),
            T::Float | T::Dec | T::Decimal | T::Numeric | T::Varchar | T::Interval => {
                next(self, &[T::StringConst, T::LeftParen])
            }
            T::Timestamp | T::Time => next(self, &[T::StringConst, T::LeftParen, T::With, T::Without]),
            T::Bit | T::Char | T::Character | T::Nchar => next(self, &[T::StringConst, T::LeftParen, T::Varying]),
            T::National => next(self, &[T::Char, T::Character]),
            T::Double => next(self, &[T::Precision]),
            _ => false,
        }
    }

    /// `INTERVAL`, `INTERVAL (3)`
    fn interval_before_constant(&mut self) -> Result<TypeName> {
        self.expect(T::Interval)?;
        let mut data_type = TypeName::plain(BaseType::Interval);
        data_type.modifiers = self.optional_parenthesized(Self::integer)?;
        Ok(data_type)
    }

    /// `YEAR TO MONTH` behind an interval's constant.
    fn interval_behind_constant(&mut self, mut data_type: TypeName) -> Result<TypeName> {
        if data_type.modifiers.is_empty() {
            (data_type.fields, data_type.modifiers) = self.interval_fields()?;
        }
        Ok(data_type)
    }

    /// `name 'text'`, `name (1) 'text'`
    pub(super) fn named_type_constant(
        &mut self,
        start: u32,
        names: List<Name>,
        modifiers: List<Expr>,
    ) -> Result<Option<Value>> {
        if let Some(named) = self.tree.list(modifiers).find(|arg| self.is_named_argument(*arg)) {
            let position = self.tree.span(named).start;
            let message = "type modifier cannot have parameter name";
            return Err(ParseError::new(SYNTAX_ERROR, message, position));
        }
        let data_type = TypeName { names, modifiers, ..TypeName::plain(BaseType::Named) };
        let data_type = self.node(start, data_type)?;
        let literal = self.string()?;
        let id = self.node(start, Expr::TypedString { data_type, literal })?;
        Ok(Some(Value { id, start }))
    }

    fn is_named_argument(&self, arg: Id<Expr>) -> bool {
        matches!(self.tree.get(arg), Expr::NamedArgument { .. })
    }

    /// `CURRENT_DATE` and the like.
    pub(super) fn session_value(&mut self, start: u32) -> Result<Option<Value>> {
        let value = match self.kind() {
            T::CurrentDate => SessionValue::CurrentDate,
            T::CurrentTime => SessionValue::CurrentTime,
            T::CurrentTimestamp => SessionValue::CurrentTimestamp,
            T::Localtime => SessionValue::LocalTime,
            T::Localtimestamp => SessionValue::LocalTimestamp,
            T::CurrentRole => SessionValue::CurrentRole,
            T::CurrentUser => SessionValue::CurrentUser,
            T::SessionUser => SessionValue::SessionUser,
            T::User => SessionValue::User,
            T::CurrentCatalog => SessionValue::CurrentCatalog,
            T::CurrentSchema if !matches!(self.peek(), T::LeftParen | T::StringConst) => SessionValue::CurrentSchema,
            _ => return Ok(None),
        };
        self.advance();
        let timed = matches!(
            value,
            SessionValue::CurrentTime
                | SessionValue::CurrentTimestamp
                | SessionValue::LocalTime
                | SessionValue::LocalTimestamp
        );
        let precision = if timed && self.eat(T::LeftParen) { Some(self.closed_integer()?) } else { None };
        let id = self.node(start, Expr::SessionValue { value, precision })?;
        Ok(Some(Value { id, start }))
    }

    fn closed_integer(&mut self) -> Result<Id<Expr>> {
        let number = self.integer()?;
        self.expect(T::RightParen)?;
        Ok(number)
    }
}
