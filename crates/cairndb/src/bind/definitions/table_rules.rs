//! What a table asks of its rows, and computes of them, bound.

use std::sync::Arc;

use super::generated::bind_generated;
use super::index::bound_indexes;
use crate::Result;
use crate::bind::calls::system::asks_catalog;
use crate::bind::entry::bind_check;
use crate::bind::expressions::domains::DomainRules;
use crate::bind::parameters::Callees;
use crate::bind::relations::virtuals::Virtuals;
use crate::catalog::{Catalog, Table};
use crate::plan::{BoundIndex, BoundIndexes, Expr, walk};

/// See the module.
#[derive(Debug)]
pub(crate) struct TableRules {
    /// One per `table.checks`.
    pub(crate) checks: Vec<Expr>,
    pub(crate) generated: Box<[Generated]>,
    /// What other expressions over the table's rows have in the places of columns that rows do not have.
    pub(crate) virtuals: Virtuals,
    /// Columns of domains, with what these ask for.
    pub(crate) domains: Box<[(usize, DomainRules)]>,
    /// What the indexes rest on besides columns.
    pub(crate) indexes: Option<Arc<BoundIndexes>>,
    /// What the rules and the indexes call.
    pub(crate) calls: Callees,
    /// The rules or the indexes have what the catalog said when they were bound.
    pub(crate) asks_catalog: bool,
}

/// A column that is computed from others when a row is written.
#[derive(Debug)]
pub(crate) struct Generated {
    pub(crate) column: usize,
    /// Over the table's columns, none of which is generated.
    pub(crate) value: Expr,
}

impl Generated {
    /// Whether it is computed from such a column.
    pub(crate) fn uses(&self, is_it: impl Fn(usize) -> bool) -> bool {
        let mut found = false;
        walk::walk(&self.value, 0, &mut |expr, _| {
            found |= matches!(expr, Expr::Column { index, .. } if is_it(*index));
        });
        found
    }
}

impl TableRules {
    /// The table's, made once for each version of the catalog.
    pub(crate) fn of(table: &Arc<Table>, catalog: &Catalog) -> Result<Arc<TableRules>> {
        catalog.compiled(table, || TableRules::new(table, catalog))
    }

    fn new(table: &Arc<Table>, catalog: &Catalog) -> Result<TableRules> {
        let checks = table.checks.iter().map(|check| bind_check(&check.condition, table, catalog));
        let generated =
            table.columns.iter().enumerate().filter_map(|(at, column)| Some((at, column.stored_expression()?)));
        let generated = generated.map(|(column, expression)| {
            let value = bind_generated(expression, &table.columns[column], table, catalog)?;
            Ok(Generated { column, value })
        });
        let domains = table.columns.iter().enumerate().filter_map(|(at, column)| Some((at, column.domain?)));
        let domains = domains.map(|(column, domain)| {
            // A temporary table may outlive the domain.
            let domain = catalog.type_by_id(domain);
            domain.map(|domain| Ok((column, DomainRules::of(domain, column, catalog)?))).transpose()
        });
        let mut rules = TableRules {
            domains: domains.filter_map(Result::transpose).collect::<Result<_>>()?,
            generated: generated.collect::<Result<_>>()?,
            checks: checks.collect::<Result<_>>()?,
            virtuals: Virtuals::of(table, catalog)?,
            indexes: bound_indexes(table, catalog)?,
            calls: Callees::default(),
            asks_catalog: false,
        };
        let calls = rules.exprs().map(Callees::of).max().unwrap_or_default();
        let asks_catalog = rules.exprs().any(asks_catalog);
        (rules.calls, rules.asks_catalog) = (calls, asks_catalog);
        Ok(rules)
    }

    /// What entries of the indexes are made of.
    pub(crate) fn of_indexes(&self) -> impl Iterator<Item = &Expr> + Clone {
        self.indexes.iter().flat_map(|bound| &bound.all).flat_map(BoundIndex::exprs)
    }

    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let conditions = self.domains.iter().flat_map(|(_, rules)| &rules.conditions).map(|(_, condition)| condition);
        let generated = self.generated.iter().map(|generated| &generated.value);
        self.checks.iter().chain(conditions).chain(generated).chain(self.of_indexes())
    }
}
