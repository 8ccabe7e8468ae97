//! What a call gives, where it is of domains: looked at where it becomes so, as PostgreSQL does.
//!
//! A value of a domain is one of the base type everywhere else; what a call takes is looked at by who calls (`bind/calls/routine.rs`).

use crate::Value;
use crate::bind::DomainRules;
use crate::catalog::{Catalog, OfDomain, Returns, Routine};
use crate::types::EvalContext;
use crate::{Error, Result};

/// The domains of the columns of a function's rows.
#[derive(Debug)]
pub(super) struct Results {
    columns: Vec<(usize, DomainRules)>,
    /// They are those of a table, of which nothing may be known: NULL is of each.
    of_table: bool,
}

/// What a value of a domain must be, at this place of its row.
pub(super) fn rules_of(domain: &OfDomain, column: usize, catalog: &Catalog) -> Result<DomainRules> {
    let of = catalog.type_by_id(domain.id).ok_or_else(|| Error::internal("a function's domain is gone"))?;
    DomainRules::of(of, column, catalog)
}

impl Results {
    /// As the catalog says it now.
    pub(super) fn of(routine: &Routine, catalog: &Catalog) -> Result<Results> {
        let mut columns = Vec::new();
        match routine.returns {
            Returns::Row => {
                for (at, output) in routine.outputs().enumerate() {
                    columns.extend(output.domain.as_ref().map(|of| Ok((at, rules_of(of, at, catalog)?))));
                }
            }
            Returns::RowOf(table) => {
                for (at, column) in catalog.table_by_id(table).iter().flat_map(|table| table.columns.iter().enumerate())
                {
                    let domain = column.domain.and_then(|domain| catalog.type_by_id(domain));
                    columns.extend(domain.map(|of| Ok((at, DomainRules::of(of, at, catalog)?))));
                }
            }
            _ => columns.extend(routine.domain.as_ref().map(|of| Ok((0, rules_of(of, 0, catalog)?)))),
        }
        let columns = columns.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(Results { columns, of_table: matches!(routine.returns, Returns::RowOf(_)) })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// SQLSTATE 23502, 23514 where the row is none of the function's.
    pub(super) fn check(&self, row: &[Value], eval: &EvalContext) -> Result<()> {
        for (at, rules) in &self.columns {
            if !self.of_table || row.get(*at).is_some_and(|value| !value.is_null()) {
                rules.check(*at, row, eval)?;
            }
        }
        Ok(())
    }
}
