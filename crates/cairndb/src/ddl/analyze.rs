//! ANALYZE and VACUUM, which change nothing of the schema.

use std::ops::Bound;
use std::sync::Arc;

use super::context::Ddl;
use crate::Result;
use crate::bind::bound_indexes;
use crate::catalog::{ObjectName, Table, TableLayout, put_statistics};
use crate::command::Vacuum;
use crate::inverted::settle;
use crate::plan::{KeyExpressions, StatisticsBuilder};
use crate::system;

/// How often ANALYZE looks whether it is to stop.
const INTERRUPT_ROWS: u64 = 1024;

impl Ddl<'_> {
    /// Of these tables, or of every table.
    pub(super) fn analyze(&mut self, names: &[ObjectName]) -> Result<()> {
        let tables = match names {
            [] => self.catalog.tables().cloned().collect(),
            names => self.tables_named(names)?,
        };
        tables.iter().try_for_each(|table| self.analyze_table(table))
    }

    pub(super) fn vacuum(&mut self, vacuum: &Vacuum) -> Result<&'static str> {
        let tables = match vacuum.tables.as_slice() {
            [] => self.catalog.tables().cloned().collect(),
            names => self.tables_named(names)?,
        };
        let indexes = tables.iter().filter(|table| !table.is_temporary()).flat_map(|table| &table.indexes);
        for index in indexes.filter(|index| index.is_inverted()) {
            settle(self.dml.store, index.tree, &|| self.dml.exec.check().is_err())?;
            self.dml.exec.check()?;
        }
        if vacuum.analyze {
            self.analyze(&vacuum.tables)?;
        }
        Ok("VACUUM")
    }

    /// There is nothing to be known of what the system makes.
    fn tables_named(&self, names: &[ObjectName]) -> Result<Vec<Arc<Table>>> {
        let stored = names.iter().filter(|name| system::named(name, &self.catalog).is_none());
        stored.map(|name| self.table_or_materialized(name)).collect()
    }

    /// Reads the whole table: rows are counted exactly, and their columns decoded where the sample takes them.
    ///
    /// Outside the transaction, which would otherwise have read every row and lose to anyone who writes one. Only a
    /// table that the transaction itself made is not in the snapshot.
    fn analyze_table(&mut self, table: &Arc<Table>) -> Result<()> {
        if table.is_kept_by_commits() {
            return Ok(());
        }
        let layout = TableLayout::new(table);
        let types: Vec<_> = table.columns.iter().map(|column| column.data_type).collect();
        let expressions = KeyExpressions::of(table, bound_indexes(table, &self.catalog)?.as_deref());
        let mut builder = StatisticsBuilder::new(&types, &expressions);
        let snapshot = self.dml.store.snapshot()?;
        let outside = snapshot.reader().cursor(table.tree, Bound::Unbounded, Bound::Unbounded);
        let mut cursor = match outside {
            Ok(cursor) => cursor,
            Err(_) => self.dml.tx.reader().cursor(table.tree, Bound::Unbounded, Bound::Unbounded)?,
        };
        self.calling_rows(|dml| {
            for row in 0u64.. {
                let Some((key, value)) = cursor.next()? else { break };
                if row % INTERRUPT_ROWS == 0 {
                    dml.exec.check()?;
                }
                builder.add_row(|| layout.decode(key, value), &dml.exec.eval)?;
            }
            Ok(())
        })?;
        put_statistics(self.dml.tx, self.trees, table, &builder.finish())
    }
}
