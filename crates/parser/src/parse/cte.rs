//! WITH.

use super::Parser;
use crate::error::Result;
use crate::syntax::{Cte, CycleClause, Materialized, Name, SearchClause, Statement, With};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

impl Parser<'_> {
    /// `WITH [RECURSIVE] a AS (...), ...`
    pub(crate) fn with_clause(&mut self) -> Result<Id<With>> {
        let start = self.start();
        self.expect(T::With)?;
        // RECURSIVE is a name as well, but not before another name.
        let recursive = self.at(T::Recursive) && !matches!(self.peek(), T::As | T::LeftParen);
        if recursive {
            self.advance();
        }
        let ctes = self.comma_list(|parser| parser.enter(Self::cte))?;
        self.node(start, With { recursive, ctes })
    }

    fn cte(&mut self) -> Result<Id<Cte>> {
        let start = self.start();
        let name = self.name()?;
        let columns = self.optional_parenthesized(Self::name)?;
        self.expect(T::As)?;
        let materialized = self.materialized()?;
        self.expect(T::LeftParen)?;
        let statement = self.preparable_statement()?;
        self.expect(T::RightParen)?;
        let search = self.search_clause()?;
        let cycle = self.cycle_clause()?;
        self.node(start, Cte { name, columns, materialized, statement, search, cycle })
    }

    fn materialized(&mut self) -> Result<Option<Materialized>> {
        if self.eat(T::Materialized) {
            return Ok(Some(Materialized::Yes));
        }
        if !self.eat(T::Not) {
            return Ok(None);
        }
        self.expect(T::Materialized)?;
        Ok(Some(Materialized::No))
    }

    /// A query or a statement that changes rows: `PreparableStmt`.
    pub(crate) fn preparable_statement(&mut self) -> Result<Id<Statement>> {
        let start = self.start();
        match self.kind() {
            T::Select
            | T::Values
            | T::Table
            | T::LeftParen
            | T::With
            | T::Insert
            | T::Update
            | T::Delete
            | T::Merge => {
                let statement = self.row_statement()?;
                self.node(start, statement)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn search_clause(&mut self) -> Result<Option<Id<SearchClause>>> {
        let start = self.start();
        if !self.eat(T::Search) {
            return Ok(None);
        }
        let breadth_first = self.at(T::Breadth);
        if !breadth_first && !self.at(T::Depth) {
            return Err(self.unexpected());
        }
        self.advance();
        self.expect_all(&[T::First, T::By])?;
        let columns = self.names()?;
        self.expect(T::Set)?;
        let sequence = self.name()?;
        self.node(start, SearchClause { breadth_first, columns, sequence }).map(Some)
    }

    fn cycle_clause(&mut self) -> Result<Option<Id<CycleClause>>> {
        let start = self.start();
        if !self.eat(T::Cycle) {
            return Ok(None);
        }
        let columns: List<Name> = self.names()?;
        self.expect(T::Set)?;
        let mark = self.name()?;
        let (mut value, mut default) = (None, None);
        if self.eat(T::To) {
            value = Some(self.any_constant()?);
            self.expect(T::Default)?;
            default = Some(self.any_constant()?);
        }
        self.expect(T::Using)?;
        let path = self.name()?;
        self.node(start, CycleClause { columns, mark, value, default, path }).map(Some)
    }
}
