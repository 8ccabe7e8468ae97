//! INSERT.

use super::Parser;
use crate::error::Result;
use crate::syntax::{Insert, OnConflict, Overriding, With};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

impl Parser<'_> {
    pub(super) fn insert(&mut self, start: u32, with: Option<Id<With>>) -> Result<Id<Insert>> {
        self.expect_all(&[T::Insert, T::Into])?;
        let table = self.qualified_name()?;
        let alias = if self.eat(T::As) { Some(self.name()?) } else { None };
        let mut insert = Insert {
            with,
            table,
            alias,
            columns: List::EMPTY,
            overriding: None,
            source: None,
            conflict: None,
            returning: None,
        };
        self.insert_source(&mut insert)?;
        insert.conflict = self.on_conflict()?;
        insert.returning = self.returning()?;
        self.node(start, insert)
    }

    /// What is inserted: `insert_rest`.
    fn insert_source(&mut self, insert: &mut Insert) -> Result<()> {
        if self.eat(T::Default) {
            self.expect(T::Values)?;
            return Ok(());
        }
        let query = matches!(self.peek(), T::Select | T::Values | T::With | T::Table | T::LeftParen);
        // A column may be called `values`, if that was all.
        let columns = self.at(T::LeftParen) && (!query || self.values_is_a_column());
        if columns {
            insert.columns = self.parenthesized(Self::assignment_target)?;
        }
        insert.overriding = self.overriding()?;
        insert.source = Some(self.query()?);
        Ok(())
    }

    /// Whether the `values` behind the parenthesis at hand is a column's name: no parenthesis follows it.
    fn values_is_a_column(&mut self) -> bool {
        let Some(ahead) = self.ahead.filter(|ahead| ahead.kind == T::Values) else { return false };
        let text = self.lexer.text();
        let mut lexer = crate::token::Lexer::new(text, ahead.end as usize, self.options.placeholders);
        lexer.next_token().kind != T::LeftParen
    }

    /// `OVERRIDING USER VALUE`
    pub(super) fn overriding(&mut self) -> Result<Option<Overriding>> {
        if !self.eat(T::Overriding) {
            return Ok(None);
        }
        let overriding = match self.kind() {
            T::User => Overriding::User,
            T::System => Overriding::System,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        self.expect(T::Value)?;
        Ok(Some(overriding))
    }

    fn on_conflict(&mut self) -> Result<Option<Id<OnConflict>>> {
        let start = self.start();
        if !self.eat(T::On) {
            return Ok(None);
        }
        self.expect(T::Conflict)?;
        let mut conflict = OnConflict {
            index: List::EMPTY,
            index_filter: None,
            constraint: None,
            update: false,
            assignments: List::EMPTY,
            filter: None,
        };
        if self.at(T::LeftParen) {
            conflict.index = self.parenthesized(Self::index_element)?;
            conflict.index_filter = self.where_clause()?;
        } else if self.eat(T::On) {
            self.expect(T::Constraint)?;
            conflict.constraint = Some(self.name()?);
        }
        self.expect(T::Do)?;
        if !self.eat(T::Nothing) {
            self.expect_all(&[T::Update, T::Set])?;
            conflict.update = true;
            conflict.assignments = self.comma_list(Self::assignment)?;
            conflict.filter = self.where_clause()?;
        }
        self.node(start, conflict).map(Some)
    }
}
