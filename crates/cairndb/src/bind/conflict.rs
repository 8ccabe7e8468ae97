//! ON CONFLICT: which uniqueness decides, and what then happens.

use std::sync::Arc;

use sqlparser::ast::{self, ConflictTarget, OnConflictAction};

use super::binder::{Binder, fold, name_span, plain_name};
use super::context::{Clause, Context};
use super::scope::{Env, Scope};
use super::statement::{Arbiter, ConflictAction, OnConflict};
use crate::catalog::Table;
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    pub(super) fn on_conflict(
        &mut self,
        clause: &ast::OnConflict,
        table: &Arc<Table>,
        target: &Scope,
    ) -> Result<OnConflict> {
        let arbiter = match &clause.conflict_target {
            None => Arbiter::Any,
            Some(ConflictTarget::Columns(columns)) => self.arbiter_of_columns(table, columns)?,
            Some(ConflictTarget::OnConstraint(name)) => self.arbiter_of_constraint(table, name)?,
        };
        let action = match &clause.action {
            OnConflictAction::DoNothing => ConflictAction::Nothing,
            OnConflictAction::DoUpdate(_) if arbiter == Arbiter::Any => {
                let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                return Err(
                    Error::new(SqlState::SYNTAX_ERROR, message).with_hint("For example, ON CONFLICT (column_name).")
                );
            }
            OnConflictAction::DoUpdate(update) => self.conflict_update(update, table, target)?,
        };
        Ok(OnConflict { arbiter, action })
    }

    fn conflict_update(
        &mut self,
        update: &ast::DoUpdate,
        table: &Arc<Table>,
        target: &Scope,
    ) -> Result<ConflictAction> {
        // Unqualified names are the existing row's; the proposed row is seen as `excluded` only.
        let width = table.columns.len();
        let mut excluded = Scope::of_table("excluded".to_owned(), false, table, width);
        excluded.columns.clear();
        let scope = target.clone().joined(excluded)?;
        let env = Env { scope: &scope, outer: None };
        let mut context = Context::new(Some(&env), Clause::Update);
        let assignments = self.assignments(table, &update.assignments, &mut context)?;
        let filter = update.selection.as_ref().map(|condition| self.filter(condition, &env)).transpose()?;
        Ok(ConflictAction::Update { assignments, filter })
    }

    fn arbiter_of_columns(&self, table: &Table, names: &[ast::Ident]) -> Result<Arbiter> {
        let mut wanted = Vec::with_capacity(names.len());
        for name in names {
            let folded = fold(name);
            let position = table.columns.iter().position(|column| column.name == folded).ok_or_else(|| {
                let message = format!("column \"{folded}\" does not exist");
                self.at(Error::new(SqlState::UNDEFINED_COLUMN, message), name.span)
            })?;
            wanted.push(position);
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

    fn arbiter_of_constraint(&self, table: &Table, name: &ast::ObjectName) -> Result<Arbiter> {
        let plain = plain_name(name).map(|(plain, _)| plain).unwrap_or_default();
        if table.primary_key_name.as_deref() == Some(plain.as_str()) {
            return Ok(Arbiter::PrimaryKey);
        }
        let index = table.indexes.iter().position(|index| index.unique && index.constraint && index.name == plain);
        index.map(Arbiter::Index).ok_or_else(|| {
            let message = format!("constraint \"{plain}\" for table \"{}\" does not exist", table.name);
            self.at(Error::new(SqlState::UNDEFINED_OBJECT, message), name_span(name))
        })
    }
}
