//! DELETE: the rows to remove.

use cairn_parser::{Delete, Id};

use super::update::{returning_scope, with_values};
use crate::Result;
use crate::bind::binder::Binder;
use crate::bind::relations::scope::Env;
use crate::bind::statement::BoundDelete;
use crate::plan::LogicalPlan;

impl Binder<'_> {
    pub(in crate::bind) fn delete(&mut self, delete: Id<Delete>) -> Result<BoundDelete> {
        let delete = self.tree.get(delete);
        self.within_with(delete.with, |binder| binder.plain_delete(&delete), |bound| &mut bound.source)
    }

    fn plain_delete(&mut self, delete: &Delete) -> Result<BoundDelete> {
        let tree = self.tree;
        let target = tree.get(delete.table);
        let changed = self.target_table(target.name, "delete from")?;
        let mut joined = self.target_scan(&changed, target.alias)?;
        let target_width = joined.1.width;
        for item in tree.list(delete.using) {
            joined = self.add_item(Some(joined), item, None)?;
        }
        let (mut plan, scope) = joined;
        let env = Env { scope: &scope, outer: None, within: None };
        if let Some(condition) = delete.filter {
            let predicate = self.filter(condition, &env)?;
            plan = LogicalPlan::Filter { input: Box::new(plan), predicate };
        }
        if let Some(cursor) = delete.current_of {
            let predicate = self.current_of(cursor, &changed, &[])?;
            plan = LogicalPlan::Filter { input: Box::new(plan), predicate };
        }
        let returning = match delete.returning {
            None => None,
            clause => {
                let scope = returning_scope(&scope, target_width, &changed.table);
                self.returning(clause, &scope, &changed)?
            }
        };
        let extra = if returning.is_some() { scope.width - target_width } else { 0 };
        if scope.width > target_width + extra {
            plan = with_values(plan, target_width, vec![], extra, |_| true);
        }
        Ok(BoundDelete { table: changed.table, source: plan, returning })
    }
}
