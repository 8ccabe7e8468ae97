//! A table as row programs write it.

use std::sync::Arc;

use super::entry::Indexed;
use super::version::NextVersion;
use super::{Addition, Numbers, Reference, RowInsert};
use crate::Result;
use crate::bind::{TableRules, bound_groups};
use crate::catalog::{Catalog, Table, TableLayout};
use crate::plan::{Expr, Held};
use crate::state::row_number_key;
use crate::types::{ValueRef, key};

/// A table with its layout and its rules, bound.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) table: Arc<Table>,
    /// The name of the table's schema.
    pub(super) schema: Box<str>,
    pub(crate) layout: Arc<TableLayout>,
    pub(crate) bound: Arc<TableRules>,
    /// Of a collection.
    pub(super) version: Option<NextVersion>,
    /// One per `table.foreign_keys`.
    pub(crate) references: Vec<Reference>,
    /// To the materialized views that its rows count for.
    pub(super) additions: Box<[Addition]>,
    /// Entries may have to be looked for: functions that users made need not give again what they gave.
    pub(crate) loses_entries: bool,
    /// What may be held while its indexes' entries are made, and what its rows count for.
    pub(super) held: Option<Held>,
}

impl Target {
    /// The table's, made once for each version of the catalog.
    pub(crate) fn of(table: &Arc<Table>, catalog: &Catalog) -> Result<Arc<Target>> {
        Ok(RowInsert::plain(table, catalog)?.rules.target.clone())
    }

    pub(crate) fn new(table: &Arc<Table>, catalog: &Catalog) -> Result<Target> {
        let references = table.foreign_keys.iter().map(|foreign_key| Reference::of(table, foreign_key, catalog));
        let (bound, additions) = (TableRules::of(table, catalog)?, additions(table, catalog)?);
        let held = Held::most(bound.of_indexes().chain(additions.iter().flat_map(Addition::exprs)));
        Ok(Target {
            loses_entries: bound.indexes.iter().flat_map(|bound| &bound.all).any(|bound| bound.of_users),
            held,
            schema: catalog.schema_name(table.schema).unwrap_or_default().into(),
            table: table.clone(),
            layout: catalog.layout(table),
            version: NextVersion::of(table, catalog)?,
            references: references.collect::<Result<_>>()?,
            additions,
            bound,
        })
    }

    /// Expressions over the table's row with what virtual columns are in their places.
    pub(super) fn over_stored(&self, exprs: &[Expr]) -> Box<[Expr]> {
        exprs.iter().map(|expr| self.bound.virtuals.put_in(expr)).collect()
    }

    /// The index at this position.
    #[inline]
    pub(super) fn index(&self, at: usize) -> Indexed<'_> {
        let bound = self
            .bound
            .indexes
            .as_ref()
            .and_then(|bound| bound.all.get(at))
            .filter(|_| !self.table.indexes[at].is_plain());
        Indexed { table: &self.table, index: &self.table.indexes[at], bound }
    }

    /// The same, for rows that have their entries.
    #[inline]
    pub(super) fn kept_index(&self, at: usize) -> Indexed<'_> {
        let bound = self
            .bound
            .indexes
            .as_ref()
            .and_then(|bound| bound.kept.get(at))
            .filter(|_| !self.table.indexes[at].is_plain());
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
        for (column, data_type) in self.layout.key_columns() {
            key::encode_ref(value(column), data_type, false, false, out);
        }
        Ok(())
    }
}

/// What is added to the views that the table's rows count for: those that have rows.
fn additions(table: &Table, catalog: &Catalog) -> Result<Box<[Addition]>> {
    let views = table.views.iter().filter_map(|view| catalog.table_by_id(*view));
    let kept = views.filter(|view| view.is_kept_by_commits() && view.refuse_unpopulated().is_ok());
    kept.map(|view| Ok(Addition::new(&bound_groups(view, catalog)?.groups, view))).collect()
}
