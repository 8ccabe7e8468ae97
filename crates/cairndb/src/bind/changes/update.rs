//! UPDATE: the rows to change, and their new values beside the old.

use cairn_parser::{Id, Update};

use crate::bind::binder::Binder;
use crate::bind::context::{Clause, Context};
use crate::bind::relations::scope::{Env, Scope};
use crate::bind::statement::BoundUpdate;
use crate::plan::{Expr, Field, LogicalPlan};
use crate::{Result, Value};

impl Binder<'_> {
    pub(in crate::bind) fn update(&mut self, update: Id<Update>) -> Result<BoundUpdate> {
        let update = self.tree.get(update);
        self.within_with(update.with, |binder| binder.plain_update(&update), |bound| &mut bound.source)
    }

    fn plain_update(&mut self, update: &Update) -> Result<BoundUpdate> {
        let tree = self.tree;
        let target = tree.get(update.table);
        let changed = self.target_table(target.name, "update")?;
        let mut joined = self.target_scan(&changed, target.alias)?;
        let target_width = joined.1.width;
        for item in tree.list(update.from) {
            joined = self.add_item(Some(joined), item, None)?;
        }
        let (mut plan, scope) = joined;
        let env = Env { scope: &scope, outer: None, within: None };
        if let Some(condition) = update.filter {
            let predicate = self.filter(condition, &env)?;
            plan = LogicalPlan::Filter { input: Box::new(plan), predicate };
        }
        let mut context = Context::new(Some(&env), Clause::Update);
        let assignments = self.assignments(&changed.seen, update.assignments, &mut context)?;
        if let Some(cursor) = update.current_of {
            let assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
            let predicate = self.current_of(cursor, &changed, &assigned)?;
            plan = LogicalPlan::Filter { input: Box::new(plan), predicate };
        }
        let returning = match update.returning {
            None => None,
            clause => {
                let scope = returning_scope(&scope, target_width, &changed.table);
                self.returning(clause, &scope, &changed)?
            }
        };
        let extra = if returning.is_some() { scope.width - target_width } else { 0 };
        let (assigned, values): (Vec<usize>, Vec<Expr>) = assignments.into_iter().unzip();
        let table = &changed.table;
        // Rows are read once more where they are changed: what is only looked at there is not read before. What triggers see is.
        let is_read =
            |column: usize| column >= table.columns.len() || table.is_in_row_key(column) || !table.triggers.is_empty();
        let source = with_values(plan, target_width, values, extra, is_read);
        let is_joined = tree.list(update.from).len() > 0;
        let view_checks = changed.checks();
        Ok(BoundUpdate { table: changed.table, source, assigned, returning, is_joined, view_checks })
    }
}

/// The target's columns (NULLs for those that are not read), the new values, the extra columns.
pub(super) fn with_values(
    plan: LogicalPlan,
    width: usize,
    values: Vec<Expr>,
    extra: usize,
    is_read: impl Fn(usize) -> bool,
) -> LogicalPlan {
    let mut names = plan.fields();
    let name = |expr: &Expr| match expr {
        Expr::Column { index, .. } => names.get(*index).map(|field| field.name.clone()).unwrap_or_default(),
        _ => "?column?".to_owned(),
    };
    let assigned: Vec<Field> =
        values.iter().map(|expr| Field { name: name(expr), data_type: expr.data_type() }).collect();
    let columns = names.iter().enumerate().take(width + extra);
    let column = |(index, field): (usize, &Field)| match index >= width || is_read(index) {
        true => Expr::Column { index, data_type: field.data_type },
        false => Expr::Literal { value: Value::Null, data_type: field.data_type },
    };
    let mut exprs: Vec<Expr> = columns.map(column).collect();
    exprs.splice(width..width, values);
    names.truncate(width + extra);
    names.splice(width..width, assigned);
    let fields = names;
    LogicalPlan::Project { input: Box::new(plan), exprs, fields }
}

/// What RETURNING sees: the target's columns, then the other relations'; no hidden row number between them.
pub(super) fn returning_scope(scope: &Scope, target_width: usize, table: &crate::catalog::Table) -> Scope {
    let hidden = target_width - table.columns.len();
    scope.without_columns(table.columns.len(), hidden)
}
