//! What an index is of: used by CREATE INDEX, ON CONFLICT and EXCLUDE.

use super::Parser;
use crate::error::Result;
use crate::syntax::{Expr, IndexElement, OptionValue, StorageOption};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

impl Parser<'_> {
    /// A column, a call, or an expression in parentheses, with how it is indexed: `index_elem`.
    pub(crate) fn index_element(&mut self) -> Result<Id<IndexElement>> {
        let start = self.start();
        let expr = self.indexed_expr()?;
        let collation = if self.eat(T::Collate) { self.dotted_name()? } else { List::EMPTY };
        let mut operator_class = List::EMPTY;
        let mut options = List::EMPTY;
        // NULLS is a name as well, but not before FIRST and LAST.
        let nulls = self.at(T::Nulls) && matches!(self.peek(), T::First | T::Last);
        if self.kind().is_column_name() && !nulls {
            operator_class = self.dotted_name()?;
            options = self.optional_parenthesized(Self::storage_option)?;
        }
        let direction = self.direction();
        let nulls = self.nulls_order()?;
        self.node(start, IndexElement { expr, collation, operator_class, options, direction, nulls })
    }

    fn indexed_expr(&mut self) -> Result<Id<Expr>> {
        let start = self.start();
        if self.eat(T::LeftParen) {
            let expr = self.expr()?;
            self.expect(T::RightParen)?;
            return Ok(expr);
        }
        let next = self.peek();
        if self.kind().is_column_name() && !matches!(next, T::LeftParen | T::Dot) && !self.at_two(T::Collation, T::For)
        {
            let mark = self.mark();
            let column = self.name()?;
            self.push(column);
            let names = self.list_since(mark);
            return self.node(start, Expr::Column { names });
        }
        self.windowless_function()
    }

    /// `name = value`, `space.name`: `reloption_elem`.
    pub(crate) fn storage_option(&mut self) -> Result<Id<StorageOption>> {
        let start = self.start();
        let mark = self.mark();
        let first = self.label()?;
        self.push(first);
        if self.eat(T::Dot) {
            let second = self.label()?;
            self.push(second);
        }
        let name = self.list_since(mark);
        let value = if self.eat(T::Equal) { Some(self.option_value()?) } else { None };
        self.node(start, StorageOption { name, value })
    }

    /// An option's value: `def_arg`.
    pub(crate) fn option_value(&mut self) -> Result<Id<OptionValue>> {
        let start = self.start();
        let value = match self.kind() {
            T::StringConst => OptionValue::Constant { value: self.constant()? },
            T::IntegerConst | T::NumberConst => OptionValue::Constant { value: self.constant()? },
            T::Plus | T::Minus if matches!(self.peek(), T::IntegerConst | T::NumberConst) => {
                OptionValue::Constant { value: self.signed_number()? }
            }
            T::None => OptionValue::Word { word: self.any_name_token()? },
            T::Operator if self.peek() == T::LeftParen => {
                OptionValue::Operator { operator: self.qualified_operator()? }
            }
            kind if kind.class() == Some(crate::token::KeywordClass::Reserved) => {
                OptionValue::Word { word: self.any_name_token()? }
            }
            kind if kind == T::Ident || kind.keyword().is_some() => {
                OptionValue::Type { data_type: self.function_type()? }
            }
            _ => OptionValue::Operator { operator: self.qualified_operator()? },
        };
        self.node(start, value)
    }
}
