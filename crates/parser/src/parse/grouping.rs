//! GROUP BY.

use super::Parser;
use crate::error::Result;
use crate::syntax::GroupItem;
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

impl Parser<'_> {
    /// `GROUP BY DISTINCT a, CUBE (b), ...` if it is there; whether DISTINCT was said.
    pub(super) fn group_clause(&mut self) -> Result<(bool, List<GroupItem>)> {
        if !self.eat(T::Group) {
            return Ok((false, List::EMPTY));
        }
        self.expect(T::By)?;
        let distinct = self.eat(T::Distinct);
        if !distinct {
            self.eat(T::All);
        }
        Ok((distinct, self.group_items()?))
    }

    fn group_items(&mut self) -> Result<List<GroupItem>> {
        self.enter(|parser| parser.comma_list(Self::group_item))
    }

    fn group_item(&mut self) -> Result<Id<GroupItem>> {
        let start = self.start();
        let item = match (self.kind(), self.peek()) {
            (T::LeftParen, T::RightParen) => {
                self.advance();
                self.advance();
                GroupItem::Empty
            }
            (T::Rollup, T::LeftParen) => {
                self.advance();
                GroupItem::Rollup { items: self.parenthesized(Self::expr)? }
            }
            (T::Cube, T::LeftParen) => {
                self.advance();
                GroupItem::Cube { items: self.parenthesized(Self::expr)? }
            }
            (T::Grouping, T::Sets) => {
                self.advance();
                self.advance();
                self.expect(T::LeftParen)?;
                let items = self.group_items()?;
                self.expect(T::RightParen)?;
                GroupItem::Sets { items }
            }
            _ => GroupItem::Expr { expr: self.expr()? },
        };
        self.node(start, item)
    }
}
