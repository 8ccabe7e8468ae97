//! TABLESAMPLE: a filter over a table that lets some of its rows through.

use cairn_parser::{Expr as AstExpr, Id, QualifiedName, TableSample};

use super::from::{Item, Naming};
use super::scope::Env;
use crate::bind::binder::Binder;
use crate::bind::context::{Clause, Context};
use crate::functions::sample::sampled;
use crate::plan::{Expr, LogicalPlan};
use crate::sql::dotted;
use crate::types::DataType;
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    /// A table of which a sample is read.
    pub(super) fn sample(
        &mut self,
        (name, naming): (Id<QualifiedName>, Option<Naming>),
        sample: Id<TableSample>,
        outer: Option<&Env>,
    ) -> Result<Item> {
        let tree = self.tree;
        let mut item = self.named(name, naming)?;
        let is_scan = |plan: &LogicalPlan| matches!(plan, LogicalPlan::Scan { .. });
        let table = match (item.scope.relations.first(), &item.plan) {
            (Some(relation), LogicalPlan::Project { input, .. }) if is_scan(input) => {
                relation.table.as_ref().filter(|(table, _)| table.has_virtual()).map(|(table, _)| table.clone())
            }
            (Some(relation), LogicalPlan::Scan { .. }) => relation.table.as_ref().map(|(table, _)| table.clone()),
            _ => None,
        };
        let Some(table) = table else {
            if item.scope.relations.first().is_some_and(|relation| relation.table.is_some()) {
                let error = Error::unsupported("TABLESAMPLE of a materialized view that commits keep current");
                return Err(self.at(error, tree.span(name)));
            }
            let message = "TABLESAMPLE clause can only be applied to tables and materialized views";
            return Err(self.at(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message), tree.span(name)));
        };
        let TableSample { method, args, repeatable } = tree.get(sample);
        let method = dotted(tree, method);
        if !matches!(method.as_str(), "bernoulli" | "system") {
            let message = format!("tablesample method {method} does not exist");
            return Err(self.at(Error::new(SqlState::UNDEFINED_OBJECT, message), tree.span(sample)));
        }
        let mut arguments = tree.list(args);
        let (Some(percentage), None) = (arguments.next(), arguments.next()) else {
            let message = format!("tablesample method {method} requires 1 argument, not {}", tree.len(args));
            return Err(self.at(Error::new(SqlState::INVALID_TABLESAMPLE_ARGUMENT, message), tree.span(sample)));
        };
        let mut values = vec![self.sample_argument(percentage, DataType::Real, outer)?];
        if let Some(seed) = repeatable {
            values.push(self.sample_argument(seed, DataType::Double, outer)?);
        }
        let key: Vec<usize> = match table.row_key() {
            [] => (0..table.columns.len()).collect(),
            key => key.iter().map(|part| part.column).collect(),
        };
        let column = |index: usize| Expr::Column { index, data_type: table.columns[index].data_type };
        let row: Vec<Expr> = key.into_iter().filter(|_| repeatable.is_some()).map(column).collect();
        let types: Vec<DataType> = row.iter().map(Expr::data_type).collect();
        values.extend(row);
        let predicate = Expr::Call { function: sampled(&types, repeatable.is_some()), args: values };
        item.plan = LogicalPlan::Filter { input: Box::new(item.plan), predicate };
        Ok(item)
    }

    /// It may look at an outer query's row, not at the one that is read.
    fn sample_argument(&mut self, argument: Id<AstExpr>, to: DataType, outer: Option<&Env>) -> Result<Expr> {
        let nothing = super::scope::Scope::default();
        let env = Env { scope: &nothing, outer, within: None };
        let bound = self.expr(argument, &mut Context::new(Some(&env), Clause::From))?;
        let span = self.tree.span(argument);
        match self.coerce(bound.clone(), to, crate::types::CastContext::Assignment, span)? {
            Some(bound) => Ok(bound),
            None => {
                let (to, from) = (to.type_name(), bound.data_type().type_name());
                let message = format!("argument of TABLESAMPLE must be type {to}, not type {from}");
                Err(self.at(Error::new(SqlState::DATATYPE_MISMATCH, message), span))
            }
        }
    }
}
