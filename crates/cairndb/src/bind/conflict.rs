//! ON CONFLICT: which uniqueness decides, and what then happens.

use std::sync::Arc;

use cairn_parser::{self as ast, Id, IndexElement, List, Name};

use super::binder::Binder;
use super::context::{Clause, Context};
use super::scope::{Env, Scope};
use super::statement::{Arbiter, ConflictAction, OnConflict};
use crate::catalog::Table;
use crate::sql::{list_span, name_text};
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    pub(super) fn on_conflict(
        &mut self,
        clause: Id<ast::OnConflict>,
        table: &Arc<Table>,
        target: &Scope,
    ) -> Result<OnConflict> {
        let clause = self.tree.get(clause);
        let arbiter = match clause.constraint {
            Some(name) => self.arbiter_of_constraint(table, name)?,
            None if clause.index.is_empty() => Arbiter::Any,
            None => self.arbiter_of_columns(table, clause.index)?,
        };
        if let Some(condition) = clause.index_filter {
            // No index is partial, so the rows of every one satisfy the condition.
            self.filter(condition, &Env { scope: target, outer: None })?;
        }
        let action = match clause.update {
            false => ConflictAction::Nothing,
            true if arbiter == Arbiter::Any => {
                let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                return Err(
                    Error::new(SqlState::SYNTAX_ERROR, message).with_hint("For example, ON CONFLICT (column_name).")
                );
            }
            true => self.conflict_update(&clause, table, target)?,
        };
        Ok(OnConflict { arbiter, action })
    }

    fn conflict_update(
        &mut self,
        clause: &ast::OnConflict,
        table: &Arc<Table>,
        target: &Scope,
    ) -> Result<ConflictAction> {
        // Unqualified names are the existing row's; the proposed row is seen as `excluded` only.
        let width = table.columns.len();
        let mut excluded = Scope::of_table("excluded".to_owned(), None, table, width);
        excluded.columns_mut().clear();
        let scope = target.clone().joined(excluded)?;
        let env = Env { scope: &scope, outer: None };
        let mut context = Context::new(Some(&env), Clause::Update);
        let assignments = self.assignments(table, clause.assignments, &mut context)?;
        let filter = clause.filter.map(|condition| self.filter(condition, &env)).transpose()?;
        Ok(ConflictAction::Update { assignments, filter })
    }

    fn arbiter_of_columns(&self, table: &Table, elements: List<IndexElement>) -> Result<Arbiter> {
        let tree = self.tree;
        let mut wanted = Vec::with_capacity(tree.len(elements));
        for element in tree.list(elements) {
            wanted.push(self.arbiter_column(table, element)?);
        }
        let same = |columns: Vec<usize>| {
            columns.iter().all(|column| wanted.contains(column)) && wanted.iter().all(|column| columns.contains(column))
        };
        if !table.primary_key.is_empty() && same(table.primary_key.clone()) {
            return Ok(Arbiter::PrimaryKey);
        }
        let index = table
            .indexes
            .iter()
            .position(|index| index.unique && same(index.columns.iter().map(|column| column.column).collect()));
        index.map(Arbiter::Index).ok_or_else(|| {
            let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
            Error::new(SqlState::INVALID_COLUMN_REFERENCE, message)
        })
    }

    fn arbiter_column(&self, table: &Table, element: Id<IndexElement>) -> Result<usize> {
        let tree = self.tree;
        let IndexElement { expr, collation, operator_class, direction, nulls, .. } = tree.get(element);
        let place = tree.span(expr);
        let refused = match (direction, nulls) {
            (Some(_), _) => Some("ASC/DESC is not allowed in ON CONFLICT clause"),
            (None, Some(_)) => Some("NULLS FIRST/LAST is not allowed in ON CONFLICT clause"),
            (None, None) => None,
        };
        if let Some(message) = refused {
            return Err(self.at(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message), place));
        }
        if let Some(span) = list_span(tree, collation).or(list_span(tree, operator_class)) {
            return Err(self.at(Error::unsupported("a collation or operator class in ON CONFLICT"), span));
        }
        let Some(name) = self.plain_column(expr) else {
            return Err(self.at(Error::unsupported("an expression in ON CONFLICT"), place));
        };
        table.columns.iter().position(|column| column.name == name).ok_or_else(|| {
            let message = format!("column \"{name}\" does not exist");
            self.at(Error::new(SqlState::UNDEFINED_COLUMN, message), place)
        })
    }

    fn arbiter_of_constraint(&self, table: &Table, name: Id<Name>) -> Result<Arbiter> {
        let plain = name_text(self.tree, name);
        if table.primary_key_name.as_deref() == Some(plain) {
            return Ok(Arbiter::PrimaryKey);
        }
        let index = table.indexes.iter().position(|index| index.unique && index.constraint && index.name == plain);
        index.map(Arbiter::Index).ok_or_else(|| {
            let message = format!("constraint \"{plain}\" for table \"{}\" does not exist", table.name);
            self.at(Error::new(SqlState::UNDEFINED_OBJECT, message), self.tree.span(name))
        })
    }
}
