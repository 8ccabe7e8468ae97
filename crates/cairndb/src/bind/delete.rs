//! DELETE: the rows to remove.

use sqlparser::ast::{Delete, FromTable};

use super::binder::Binder;
use super::scope::Env;
use super::statement::BoundDelete;
use super::update::{returning_scope, target_of, with_values};
use crate::plan::LogicalPlan;
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    pub(super) fn delete(&mut self, delete: &Delete) -> Result<BoundDelete> {
        if !delete.tables.is_empty() || !delete.order_by.is_empty() || delete.limit.is_some() {
            return Err(Error::unsupported("this form of DELETE of another SQL dialect"));
        }
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let [target] = from.as_slice() else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "DELETE has one target; other tables stand in USING"));
        };
        let (name, alias) = target_of(target)?;
        let table = self.target_table(name, "delete from")?;
        let mut joined = self.target_scan(&table, alias);
        let target_width = joined.1.width;
        for item in delete.using.iter().flatten() {
            joined = self.add_item(Some(joined), item, None)?;
        }
        let (mut plan, scope) = joined;
        let env = Env { scope: &scope, outer: None };
        if let Some(condition) = &delete.selection {
            let predicate = self.filter(condition, &env)?;
            plan = LogicalPlan::Filter { input: Box::new(plan), predicate };
        }
        let returning = self.returning(delete.returning.as_ref(), &returning_scope(&scope, target_width, &table))?;
        let extra = if returning.is_some() { scope.width - target_width } else { 0 };
        if scope.width > target_width + extra {
            plan = with_values(plan, target_width, vec![], extra);
        }
        Ok(BoundDelete { table, source: plan, extra, returning })
    }
}
