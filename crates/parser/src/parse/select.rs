//! SELECT.

use super::Parser;
use crate::error::Result;
use crate::syntax::{Expr, Into, Persistence, QueryBody, SelectQuantifier, Target};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

impl Parser<'_> {
    pub(super) fn select(&mut self) -> Result<QueryBody> {
        self.expect(T::Select)?;
        let (quantifier, distinct_on) = self.select_quantifier()?;
        let targets = self.select_targets(quantifier)?;
        let into = self.select_into()?;
        let from = if self.eat(T::From) { self.table_refs()? } else { List::EMPTY };
        let filter = self.where_clause()?;
        let (group_distinct, group_by) = self.group_clause()?;
        let having = if self.eat(T::Having) { Some(self.expr()?) } else { None };
        let windows = self.window_clause()?;
        Ok(QueryBody::Select {
            quantifier,
            distinct_on,
            targets,
            into,
            from,
            filter,
            group_by,
            group_distinct,
            having,
            windows,
        })
    }

    fn select_quantifier(&mut self) -> Result<(SelectQuantifier, List<Expr>)> {
        if self.eat(T::All) || !self.eat(T::Distinct) {
            return Ok((SelectQuantifier::All, List::EMPTY));
        }
        if !self.eat(T::On) {
            return Ok((SelectQuantifier::Distinct, List::EMPTY));
        }
        Ok((SelectQuantifier::DistinctOn, self.parenthesized(Self::expr)?))
    }

    /// The targets, which may be missing unless DISTINCT was said.
    fn select_targets(&mut self, quantifier: SelectQuantifier) -> Result<List<Target>> {
        let none = matches!(
            self.kind(),
            T::Eof
                | T::Semicolon
                | T::RightParen
                | T::Into
                | T::From
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
                // The next of a schema's elements.
                | T::Create
                | T::Grant
        );
        if none && quantifier == SelectQuantifier::All { Ok(List::EMPTY) } else { self.targets() }
    }

    /// `a AS b, *, ...`: `target_list`.
    pub(crate) fn targets(&mut self) -> Result<List<Target>> {
        self.comma_list(Self::target)
    }

    fn target(&mut self) -> Result<Id<Target>> {
        let start = self.start();
        if self.eat(T::Star) {
            let expr = self.node(start, Expr::All { qualifier: List::EMPTY })?;
            return self.node(start, Target { expr, alias: None });
        }
        let expr = self.target_expr()?;
        let alias = if self.eat(T::As) {
            Some(self.label()?)
        } else if self.kind().is_bare_label() {
            Some(self.any_name_token()?)
        } else {
            None
        };
        self.node(start, Target { expr, alias })
    }

    /// `INTO TEMP TABLE t`
    fn select_into(&mut self) -> Result<Option<Id<Into>>> {
        let start = self.start();
        if !self.eat(T::Into) {
            return Ok(None);
        }
        let persistence = self.new_table_persistence()?;
        self.eat(T::Table);
        let name = self.qualified_name()?;
        self.node(start, Into { persistence, name }).map(Some)
    }

    fn new_table_persistence(&mut self) -> Result<Persistence> {
        // LOCAL and GLOBAL are names, too, and TEMP is one where nothing follows that could be a table's name.
        let next = self.peek();
        let named = next == T::Table || next.is_column_name();
        match self.kind() {
            T::Local | T::Global if matches!(next, T::Temp | T::Temporary) => {
                self.advance();
                self.advance();
                Ok(Persistence::Temporary)
            }
            T::Temp | T::Temporary if named => {
                self.advance();
                Ok(Persistence::Temporary)
            }
            T::Unlogged if named => {
                self.advance();
                Ok(Persistence::Unlogged)
            }
            _ => Ok(Persistence::Permanent),
        }
    }

    /// `WHERE condition` if it is there.
    pub(crate) fn where_clause(&mut self) -> Result<Option<Id<Expr>>> {
        if self.eat(T::Where) { self.expr().map(Some) } else { Ok(None) }
    }
}
