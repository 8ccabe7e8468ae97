//! UPDATE, DELETE, and what statements that change rows have in common.

use super::Parser;
use crate::error::{ParseError, Result, SYNTAX_ERROR};
use crate::syntax::{
    Assignment, AssignmentTarget, Delete, Expr, Name, QualifiedName, Relation, Returning, Update, With,
};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

/// A condition, or a cursor.
type RowChoice = (Option<Id<Expr>>, Option<Id<Name>>);

impl Parser<'_> {
    pub(super) fn update(&mut self, start: u32, with: Option<Id<With>>) -> Result<Id<Update>> {
        self.expect(T::Update)?;
        let table = self.changed_relation()?;
        self.expect(T::Set)?;
        let assignments = self.comma_list(Self::assignment)?;
        let from = if self.eat(T::From) { self.table_refs()? } else { List::EMPTY };
        let (filter, current_of) = self.where_or_current()?;
        let returning = self.returning()?;
        self.node(start, Update { with, table, assignments, from, filter, current_of, returning })
    }

    pub(super) fn delete(&mut self, start: u32, with: Option<Id<With>>) -> Result<Id<Delete>> {
        self.expect_all(&[T::Delete, T::From])?;
        let table = self.changed_relation()?;
        let using = if self.eat(T::Using) { self.table_refs()? } else { List::EMPTY };
        let (filter, current_of) = self.where_or_current()?;
        let returning = self.returning()?;
        self.node(start, Delete { with, table, using, filter, current_of, returning })
    }

    /// `ONLY t AS x`: `relation_expr_opt_alias`.
    pub(super) fn changed_relation(&mut self) -> Result<Id<Relation>> {
        let start = self.start();
        let (name, only): (Id<QualifiedName>, bool) = self.relation_name()?;
        let said = self.eat(T::As);
        let named = said || self.kind().is_column_name() && !self.at(T::Set);
        let alias = if named { Some(self.name()?) } else { None };
        self.node(start, Relation { name, only, alias })
    }

    /// `a = 1`, `(a, b) = (SELECT ...)`: `set_clause`.
    pub(super) fn assignment(&mut self) -> Result<Id<Assignment>> {
        let start = self.start();
        if !self.at(T::LeftParen) {
            let target = self.assignment_target()?;
            self.expect(T::Equal)?;
            let value = self.expr()?;
            return self.node(start, Assignment::One { target, value });
        }
        let targets = self.parenthesized(Self::assignment_target)?;
        self.expect(T::Equal)?;
        let value = self.expr()?;
        self.node(start, Assignment::Many { targets, value })
    }

    /// A column or a part of one: `set_target`, `insert_column_item`.
    pub(super) fn assignment_target(&mut self) -> Result<Id<AssignmentTarget>> {
        let start = self.start();
        let column = self.name()?;
        let steps = self.indirection()?;
        self.node(start, AssignmentTarget { column, steps })
    }

    /// `WHERE a`, `WHERE CURRENT OF c`
    fn where_or_current(&mut self) -> Result<RowChoice> {
        if !self.eat(T::Where) {
            return Ok((None, None));
        }
        if self.eat_two(T::Current, T::Of) {
            return Ok((None, Some(self.name()?)));
        }
        Ok((Some(self.expr()?), None))
    }

    /// `RETURNING ...`, and PostgreSQL 18's `RETURNING WITH (OLD AS o, NEW AS n) ...`
    pub(super) fn returning(&mut self) -> Result<Option<Id<Returning>>> {
        let start = self.start();
        if !self.eat(T::Returning) {
            return Ok(None);
        }
        let (mut old, mut new) = (None, None);
        if self.eat_two(T::With, T::LeftParen) {
            loop {
                self.returning_name(&mut old, &mut new)?;
                if !self.eat(T::Comma) {
                    break;
                }
            }
            self.expect(T::RightParen)?;
        }
        let targets = self.targets()?;
        self.node(start, Returning { old, new, targets }).map(Some)
    }

    fn returning_name(&mut self, old: &mut Option<Id<Name>>, new: &mut Option<Id<Name>>) -> Result<()> {
        let start = self.start();
        let (what, place) = match self.kind() {
            T::Old => ("OLD", old),
            T::New => ("NEW", new),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        self.expect(T::As)?;
        if place.replace(self.name()?).is_some() {
            let message = format!("{what} cannot be specified multiple times");
            return Err(ParseError::new(SYNTAX_ERROR, message, start));
        }
        Ok(())
    }
}
