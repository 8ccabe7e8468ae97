//! MERGE.

use super::Parser;
use crate::error::Result;
use crate::syntax::{Merge, MergeAction, MergeClause, MergeMatch, With};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

impl Parser<'_> {
    pub(super) fn merge(&mut self, start: u32, with: Option<Id<With>>) -> Result<Id<Merge>> {
        self.expect_all(&[T::Merge, T::Into])?;
        let table = self.changed_relation()?;
        self.expect(T::Using)?;
        let source = self.table_ref()?;
        self.expect(T::On)?;
        let on = self.expr()?;
        let mark = self.mark();
        loop {
            let clause = self.merge_clause()?;
            self.push(clause);
            if !self.at(T::When) {
                break;
            }
        }
        let clauses = self.list_since(mark);
        let returning = self.returning()?;
        self.node(start, Merge { with, table, source, on, clauses, returning })
    }

    fn merge_clause(&mut self) -> Result<Id<MergeClause>> {
        let start = self.start();
        self.expect(T::When)?;
        let matched = self.merge_match()?;
        let condition = if self.eat(T::And) { Some(self.expr()?) } else { None };
        self.expect(T::Then)?;
        let action = self.merge_action(matched)?;
        self.node(start, MergeClause { matched, condition, action })
    }

    /// `MATCHED`, `NOT MATCHED`, and PostgreSQL 17's `BY SOURCE` and `BY TARGET`.
    fn merge_match(&mut self) -> Result<MergeMatch> {
        let not = self.eat(T::Not);
        self.expect(T::Matched)?;
        if !not {
            return Ok(MergeMatch::Matched);
        }
        if !self.at(T::By) {
            return Ok(MergeMatch::NotMatched);
        }
        self.advance();
        let matched = if self.at_word("source") {
            MergeMatch::NotMatchedBySource
        } else if self.at_word("target") {
            MergeMatch::NotMatched
        } else {
            return Err(self.unexpected());
        };
        self.advance();
        Ok(matched)
    }

    fn merge_action(&mut self, matched: MergeMatch) -> Result<Id<MergeAction>> {
        let start = self.start();
        let inserts = matched == MergeMatch::NotMatched;
        let action = match self.kind() {
            T::Do => {
                self.advance();
                self.expect(T::Nothing)?;
                MergeAction::DoNothing
            }
            T::Update if !inserts => {
                self.advance();
                self.expect(T::Set)?;
                MergeAction::Update { assignments: self.comma_list(Self::assignment)? }
            }
            T::Delete if !inserts => {
                self.advance();
                MergeAction::Delete
            }
            T::Insert if inserts => self.merge_insert()?,
            _ => return Err(self.unexpected()),
        };
        self.node(start, action)
    }

    fn merge_insert(&mut self) -> Result<MergeAction> {
        self.expect(T::Insert)?;
        if self.eat(T::Default) {
            self.expect(T::Values)?;
            return Ok(MergeAction::InsertDefaults);
        }
        let columns = if self.at(T::LeftParen) { self.parenthesized(Self::assignment_target)? } else { List::EMPTY };
        let overriding = self.overriding()?;
        self.expect(T::Values)?;
        let values = self.parenthesized(Self::expr)?;
        Ok(MergeAction::Insert { columns, overriding, values })
    }
}
