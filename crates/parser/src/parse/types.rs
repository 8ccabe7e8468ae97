//! Names of types.

use super::Parser;
use crate::error::{INVALID_PARAMETER_VALUE, ParseError, Result};
use crate::syntax::{ArrayBound, BaseType, Expr, IntervalFields, TypeName};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

impl TypeName {
    /// A type that the grammar knows, with nothing to it.
    pub(crate) fn plain(base: BaseType) -> TypeName {
        TypeName {
            base,
            names: List::EMPTY,
            modifiers: List::EMPTY,
            fields: None,
            bounds: List::EMPTY,
            set_of: false,
            of_column: false,
        }
    }
}

impl Parser<'_> {
    /// A type: `Typename`.
    pub(crate) fn type_name(&mut self) -> Result<Id<TypeName>> {
        let start = self.start();
        let set_of = self.eat(T::Setof);
        let mut data_type = self.simple_type()?;
        data_type.set_of = set_of;
        data_type.bounds = self.array_bounds()?;
        self.node(start, data_type)
    }

    /// A type without array bounds: `SimpleTypename`.
    pub(crate) fn simple_type_name(&mut self) -> Result<Id<TypeName>> {
        let start = self.start();
        let data_type = self.simple_type()?;
        self.node(start, data_type)
    }

    /// A type of a function's argument or result: `func_type`.
    pub(crate) fn function_type(&mut self) -> Result<Id<TypeName>> {
        let start = self.start();
        let set_of = self.eat(T::Setof);
        let mut data_type = self.simple_type()?;
        data_type.set_of = set_of;
        let bare = data_type.base == BaseType::Named && data_type.modifiers.is_empty();
        let dotted = self.tree.len(data_type.names) > 1;
        if bare && dotted && self.at(T::Percent) {
            self.advance();
            self.expect(T::Type)?;
            data_type.of_column = true;
        } else {
            data_type.bounds = self.array_bounds()?;
        }
        self.node(start, data_type)
    }

    /// `[]`, `[3][4]`, `ARRAY`, `ARRAY[4]`
    fn array_bounds(&mut self) -> Result<List<ArrayBound>> {
        let mark = self.mark();
        if self.eat(T::Array) {
            let bound = if self.at(T::LeftBracket) { self.array_bound(true)? } else { self.open_bound()? };
            self.push(bound);
        } else {
            while self.at(T::LeftBracket) {
                let bound = self.array_bound(false)?;
                self.push(bound);
            }
        }
        Ok(self.list_since(mark))
    }

    fn open_bound(&mut self) -> Result<Id<ArrayBound>> {
        self.node(self.previous.start, ArrayBound { size: None })
    }

    fn array_bound(&mut self, sized: bool) -> Result<Id<ArrayBound>> {
        let start = self.start();
        self.expect(T::LeftBracket)?;
        let size = if self.at(T::RightBracket) && !sized { None } else { Some(self.integer()?) };
        self.expect(T::RightBracket)?;
        self.node(start, ArrayBound { size })
    }

    /// A type without SETOF and array bounds.
    pub(super) fn simple_type(&mut self) -> Result<TypeName> {
        let plain = |base| Ok(TypeName::plain(base));
        match self.kind() {
            T::Int | T::Integer => self.known_type(BaseType::Integer),
            T::Smallint => self.known_type(BaseType::SmallInt),
            T::Bigint => self.known_type(BaseType::BigInt),
            T::Real => self.known_type(BaseType::Real),
            T::Boolean => self.known_type(BaseType::Boolean),
            T::Float => self.float(),
            T::Double if self.peek() == T::Precision => {
                self.advance();
                self.expect(T::Precision)?;
                plain(BaseType::DoublePrecision)
            }
            T::Decimal | T::Dec | T::Numeric => self.modified_type(BaseType::Numeric),
            T::Bit => self.bit(),
            T::Char | T::Character | T::Nchar | T::National | T::Varchar => self.character(),
            T::Time => self.time(BaseType::Time, BaseType::TimeWithTimeZone),
            T::Timestamp => self.time(BaseType::Timestamp, BaseType::TimestampWithTimeZone),
            T::Interval => self.interval(),
            _ => self.named_type(),
        }
    }

    fn known_type(&mut self, base: BaseType) -> Result<TypeName> {
        self.advance();
        Ok(TypeName::plain(base))
    }

    /// A type that may have modifiers.
    fn modified_type(&mut self, base: BaseType) -> Result<TypeName> {
        self.advance();
        let modifiers = self.optional_parenthesized(Self::expr)?;
        Ok(TypeName { modifiers, ..TypeName::plain(base) })
    }

    fn float(&mut self) -> Result<TypeName> {
        self.advance();
        let modifiers = self.length()?;
        if let Some(length) = self.tree.nth(modifiers, 0) {
            let bits: u32 = self.tree.written(length).parse().unwrap_or(u32::MAX);
            let wrong = match bits {
                0 => "precision for type float must be at least 1 bit",
                54.. => "precision for type float must be less than 54 bits",
                _ => return Ok(TypeName { modifiers, ..TypeName::plain(BaseType::Float) }),
            };
            return Err(ParseError::new(INVALID_PARAMETER_VALUE, wrong, self.tree.span(length).start));
        }
        Ok(TypeName::plain(BaseType::Float))
    }

    fn bit(&mut self) -> Result<TypeName> {
        self.advance();
        let base = if self.eat(T::Varying) { BaseType::BitVarying } else { BaseType::Bit };
        let modifiers = self.optional_parenthesized(Self::expr)?;
        Ok(TypeName { modifiers, ..TypeName::plain(base) })
    }

    fn character(&mut self) -> Result<TypeName> {
        let word = self.advance().kind;
        if word == T::National {
            if !matches!(self.kind(), T::Char | T::Character) {
                return Err(self.unexpected());
            }
            self.advance();
        }
        let varying = word == T::Varchar || self.eat(T::Varying);
        let base = if varying { BaseType::CharacterVarying } else { BaseType::Character };
        let modifiers = self.length()?;
        Ok(TypeName { modifiers, ..TypeName::plain(base) })
    }

    /// `(3)`, if it is there.
    fn length(&mut self) -> Result<List<Expr>> {
        if !self.eat(T::LeftParen) {
            return Ok(List::EMPTY);
        }
        let mark = self.mark();
        let length = self.integer()?;
        self.push(length);
        self.expect(T::RightParen)?;
        Ok(self.list_since(mark))
    }

    fn time(&mut self, without: BaseType, with: BaseType) -> Result<TypeName> {
        self.advance();
        let modifiers = self.length()?;
        // WITH belongs to the type only where TIME follows: `x::time WITH ORDINALITY` has it elsewhere.
        let base = if self.eat_two(T::With, T::Time) {
            self.expect(T::Zone)?;
            with
        } else {
            if self.eat(T::Without) {
                self.expect_all(&[T::Time, T::Zone])?;
            }
            without
        };
        Ok(TypeName { modifiers, ..TypeName::plain(base) })
    }

    fn interval(&mut self) -> Result<TypeName> {
        self.advance();
        let precision = self.length()?;
        if !precision.is_empty() {
            return Ok(TypeName { modifiers: precision, ..TypeName::plain(BaseType::Interval) });
        }
        let (fields, modifiers) = self.interval_fields()?;
        Ok(TypeName { fields, modifiers, ..TypeName::plain(BaseType::Interval) })
    }

    /// `DAY TO SECOND (3)`, if it is there.
    pub(super) fn interval_fields(&mut self) -> Result<(Option<IntervalFields>, List<Expr>)> {
        use IntervalFields as F;
        let first = self.kind();
        let alone = match first {
            T::Year => F::Year,
            T::Month => F::Month,
            T::Day => F::Day,
            T::Hour => F::Hour,
            T::Minute => F::Minute,
            T::Second => F::Second,
            _ => return Ok((None, List::EMPTY)),
        };
        self.advance();
        let ranges = matches!(first, T::Year | T::Day | T::Hour | T::Minute);
        let fields = if ranges && self.eat(T::To) { self.interval_range(first)? } else { alone };
        let seconds = matches!(fields, F::Second | F::DayToSecond | F::HourToSecond | F::MinuteToSecond);
        let precision = if seconds { self.length()? } else { List::EMPTY };
        Ok((Some(fields), precision))
    }

    fn interval_range(&mut self, first: T) -> Result<IntervalFields> {
        use IntervalFields as F;
        let fields = match (first, self.kind()) {
            (T::Year, T::Month) => F::YearToMonth,
            (T::Day, T::Hour) => F::DayToHour,
            (T::Day, T::Minute) => F::DayToMinute,
            (T::Day, T::Second) => F::DayToSecond,
            (T::Hour, T::Minute) => F::HourToMinute,
            (T::Hour, T::Second) => F::HourToSecond,
            (T::Minute, T::Second) => F::MinuteToSecond,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(fields)
    }

    fn named_type(&mut self) -> Result<TypeName> {
        let mark = self.mark();
        let first = self.type_function_name()?;
        self.push(first);
        self.more_labels()?;
        let names = self.list_since(mark);
        let modifiers = self.optional_parenthesized(Self::expr)?;
        Ok(TypeName { names, modifiers, ..TypeName::plain(BaseType::Named) })
    }
}
