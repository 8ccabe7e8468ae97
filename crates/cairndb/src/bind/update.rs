//! UPDATE: the rows to change, and their new values beside the old.

use sqlparser::ast::{self, TableFactor, Update, UpdateTableFromKind};

use super::binder::Binder;
use super::context::{Clause, Context};
use super::scope::{Env, Scope};
use super::statement::BoundUpdate;
use crate::plan::{Expr, Field, LogicalPlan};
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    pub(super) fn update(&mut self, update: &Update) -> Result<BoundUpdate> {
        if update.or.is_some() || !update.order_by.is_empty() || update.limit.is_some() {
            return Err(Error::unsupported("this form of UPDATE of another SQL dialect"));
        }
        let (name, alias) = target_of(&update.table)?;
        let table = self.target_table(name, "update")?;
        let mut joined = self.target_scan(&table, alias);
        let target_width = joined.1.width;
        for item in from_items(update.from.as_ref())? {
            joined = self.add_item(Some(joined), item, None)?;
        }
        let (mut plan, scope) = joined;
        let env = Env { scope: &scope, outer: None };
        if let Some(condition) = &update.selection {
            let predicate = self.filter(condition, &env)?;
            plan = LogicalPlan::Filter { input: Box::new(plan), predicate };
        }
        let mut context = Context::new(Some(&env), Clause::Update);
        let assignments = self.assignments(&table, &update.assignments, &mut context)?;
        let returning = self.returning(update.returning.as_ref(), &returning_scope(&scope, target_width, &table))?;
        let extra = if returning.is_some() { scope.width - target_width } else { 0 };
        let (assigned, values): (Vec<usize>, Vec<Expr>) = assignments.into_iter().unzip();
        let source = with_values(plan, target_width, values, extra);
        Ok(BoundUpdate { table, source, assigned, extra, returning })
    }
}

/// The target's columns, the new values, the extra columns.
pub(super) fn with_values(plan: LogicalPlan, width: usize, values: Vec<Expr>, extra: usize) -> LogicalPlan {
    let fields = plan.fields();
    let column = |index: usize| Expr::Column {
        index,
        data_type: fields.get(index).map_or(crate::types::DataType::Unknown, |field| field.data_type),
    };
    let targets = (0..width).map(column);
    let extras = (width..width + extra).map(column);
    let exprs: Vec<Expr> = targets.chain(values).chain(extras).collect();
    let name = |expr: &Expr| match expr {
        Expr::Column { index, .. } => fields.get(*index).map(|field| field.name.clone()).unwrap_or_default(),
        _ => "?column?".to_owned(),
    };
    let fields = exprs.iter().map(|expr| Field { name: name(expr), data_type: expr.data_type() }).collect();
    LogicalPlan::Project { input: Box::new(plan), exprs, fields }
}

/// What RETURNING sees: the target's columns, then the other relations'; no hidden row number between them.
pub(super) fn returning_scope(scope: &Scope, target_width: usize, table: &crate::catalog::Table) -> Scope {
    let hidden = target_width - table.columns.len();
    scope.without_columns(table.columns.len(), hidden)
}

/// The target's name and alias.
pub(super) fn target_of(target: &ast::TableWithJoins) -> Result<(&ast::ObjectName, Option<&ast::TableAlias>)> {
    match &target.relation {
        TableFactor::Table { name, alias, args: None, .. } if target.joins.is_empty() => Ok((name, alias.as_ref())),
        _ => Err(Error::new(SqlState::SYNTAX_ERROR, "the target must be a table")),
    }
}

fn from_items(from: Option<&UpdateTableFromKind>) -> Result<&[ast::TableWithJoins]> {
    match from {
        None => Ok(&[]),
        Some(UpdateTableFromKind::AfterSet(items)) => Ok(items),
        Some(UpdateTableFromKind::BeforeSet(_)) => Err(Error::new(SqlState::SYNTAX_ERROR, "FROM stands after SET")),
    }
}
