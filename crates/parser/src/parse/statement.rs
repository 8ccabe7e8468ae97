//! Which statement it is.

use super::Parser;
use crate::error::Result;
use crate::syntax::Statement;
use crate::token::TokenKind as T;
use crate::tree::Id;

impl Parser<'_> {
    /// Any statement: `stmt`.
    pub(crate) fn statement(&mut self) -> Result<Id<Statement>> {
        let start = self.start();
        let statement = match self.at_row_statement() {
            true => self.row_statement()?,
            false => Statement::Utility { command: self.utility()? },
        };
        self.node(start, statement)
    }

    /// Whether a query or a statement that changes rows begins here.
    pub(crate) fn at_row_statement(&self) -> bool {
        matches!(
            self.kind(),
            T::Select | T::Values | T::Table | T::LeftParen | T::With | T::Insert | T::Update | T::Delete | T::Merge
        )
    }

    /// A query or a statement that changes rows, WITH before it or not.
    pub(super) fn row_statement(&mut self) -> Result<Statement> {
        let start = self.start();
        let with = if self.at(T::With) { Some(self.with_clause()?) } else { None };
        Ok(match self.kind() {
            T::Insert => Statement::Insert { insert: self.insert(start, with)? },
            T::Update => Statement::Update { update: self.update(start, with)? },
            T::Delete => Statement::Delete { delete: self.delete(start, with)? },
            T::Merge => Statement::Merge { merge: self.merge(start, with)? },
            _ => match with {
                Some(with) => Statement::Query { query: self.query_with(start, with)? },
                None => Statement::Query { query: self.query()? },
            },
        })
    }
}
