//! A table as row programs write it.

use std::sync::Arc;

use super::entry::Indexed;
use super::{Addition, Numbers, Reference, RowInsert};
use crate::Result;
use crate::bind::{Callees, DomainRules, Virtuals, bind_check, bind_generated, bound_groups, bound_indexes};
use crate::catalog::{Catalog, Table, TableLayout, row_number_key};
use crate::plan::{BoundIndex, BoundIndexes, Expr, Held, asks_catalog, walk};
use crate::types::{ValueRef, key};

/// A table with its layout and its rules, bound.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) table: Arc<Table>,
    /// The name of the table's schema.
    pub(super) schema: Box<str>,
    pub(crate) layout: Arc<TableLayout>,
    /// One per `table.checks`.
    pub(crate) checks: Vec<Expr>,
    pub(crate) generated: Box<[Generated]>,
    /// What other expressions of row programs have in the places of columns that rows do not have.
    pub(crate) virtuals: Virtuals,
    /// Columns of domains, with what these ask for.
    pub(crate) domains: Box<[(usize, DomainRules)]>,
    /// One per `table.foreign_keys`.
    pub(crate) references: Vec<Reference>,
    /// To the materialized views that its rows count for.
    pub(super) additions: Box<[Addition]>,
    /// What its rules and its indexes call.
    pub(crate) calls: Callees,
    /// Its rules or its indexes have what the catalog said when they were bound.
    pub(crate) asks_catalog: bool,
    /// Entries may have to be looked for: functions that users made need not give again what they gave.
    pub(crate) loses_entries: bool,
    /// What may be held while its indexes' entries are made, and what its rows count for.
    pub(super) held: Option<Held>,
    /// What the indexes rest on besides columns.
    bound: Option<Arc<BoundIndexes>>,
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
    pub(super) fn uses(&self, is_it: impl Fn(usize) -> bool) -> bool {
        let mut found = false;
        walk::walk(&self.value, 0, &mut |expr, _| {
            found |= matches!(expr, Expr::Column { index, .. } if is_it(*index));
        });
        found
    }
}

impl Target {
    /// The table's, made once for each version of the catalog.
    pub(crate) fn of(table: &Arc<Table>, catalog: &Catalog) -> Result<Arc<Target>> {
        Ok(RowInsert::plain(table, catalog)?.rules.target.clone())
    }

    pub(crate) fn new(table: &Arc<Table>, catalog: &Catalog) -> Result<Target> {
        let checks = table.checks.iter().map(|check| bind_check(&check.condition, table, catalog));
        let references = table.foreign_keys.iter().map(|foreign_key| Reference::of(table, foreign_key, catalog));
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
        let domains: Box<[(usize, DomainRules)]> = domains.filter_map(Result::transpose).collect::<Result<_>>()?;
        let generated = generated.collect::<Result<Box<[Generated]>>>()?;
        let checks = checks.collect::<Result<Vec<Expr>>>()?;
        let (bound, additions) = (bound_indexes(table, catalog)?, additions(table, catalog)?);
        let (calls, asks_catalog) = asked((&checks, &domains, &generated), bound.as_deref());
        let held = Held::most(indexed(bound.as_deref()).chain(additions.iter().flat_map(Addition::exprs)));
        Ok(Target {
            domains,
            generated,
            calls,
            asks_catalog,
            loses_entries: bound.iter().flat_map(|bound| &bound.all).any(|bound| bound.of_users),
            held,
            virtuals: Virtuals::of(table, catalog)?,
            schema: catalog.schema_name(table.schema).unwrap_or_default().into(),
            table: table.clone(),
            layout: catalog.layout(table),
            checks,
            references: references.collect::<Result<_>>()?,
            additions,
            bound,
        })
    }

    /// Expressions over the table's row with what virtual columns are in their places.
    pub(super) fn over_stored(&self, exprs: &[Expr]) -> Box<[Expr]> {
        exprs.iter().map(|expr| self.virtuals.put_in(expr)).collect()
    }

    /// The index at this position.
    #[inline]
    pub(super) fn index(&self, at: usize) -> Indexed<'_> {
        let bound =
            self.bound.as_ref().and_then(|bound| bound.all.get(at)).filter(|_| !self.table.indexes[at].is_plain());
        Indexed { table: &self.table, index: &self.table.indexes[at], bound }
    }

    /// The same, for rows that have their entries.
    #[inline]
    pub(super) fn kept_index(&self, at: usize) -> Indexed<'_> {
        let bound =
            self.bound.as_ref().and_then(|bound| bound.kept.get(at)).filter(|_| !self.table.indexes[at].is_plain());
        Indexed { table: &self.table, index: &self.table.indexes[at], bound }
    }

    /// Writes the key of a new row over `out`: its primary key, or a fresh row number.
    pub(crate) fn encode_new_key<'v>(
        &self,
        value: impl Fn(usize) -> ValueRef<'v>,
        (store, numbers): Numbers<'_>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        out.clear();
        if self.layout.has_row_numbers() {
            out.extend_from_slice(&row_number_key(numbers.next(store, self.table.tree)?));
        }
        for (&column, &data_type) in self.table.primary_key.iter().zip(self.layout.key_types()) {
            key::encode_ref(value(column), data_type, false, false, out);
        }
        Ok(())
    }
}

/// What entries of the indexes are made of.
fn indexed(bound: Option<&BoundIndexes>) -> impl Iterator<Item = &Expr> + Clone {
    bound.into_iter().flat_map(|bound| &bound.all).flat_map(BoundIndex::exprs)
}

/// What the rules and the indexes call, and whether they ask the catalog.
fn asked(
    (checks, domains, generated): (&[Expr], &[(usize, DomainRules)], &[Generated]),
    bound: Option<&BoundIndexes>,
) -> (Callees, bool) {
    let conditions = domains.iter().flat_map(|(_, rules)| &rules.conditions).map(|(_, condition)| condition);
    let rules = checks.iter().chain(conditions).chain(generated.iter().map(|generated| &generated.value));
    let all = rules.chain(indexed(bound));
    (all.clone().map(Callees::of).max().unwrap_or_default(), all.clone().any(asks_catalog))
}

/// What is added to the views that the table's rows count for: those that have rows.
fn additions(table: &Table, catalog: &Catalog) -> Result<Box<[Addition]>> {
    let views = table.views.iter().filter_map(|view| catalog.table_by_id(*view));
    let kept = views.filter(|view| view.is_kept_by_commits() && view.refuse_unpopulated().is_ok());
    kept.map(|view| Ok(Addition::new(&bound_groups(view, catalog)?.groups, view))).collect()
}
