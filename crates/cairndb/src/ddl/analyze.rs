//! Statements that change nothing of the schema: COMMENT ON, whose texts are not kept, ANALYZE and VACUUM.

use std::ops::Bound;

use super::context::Ddl;
use super::create_view::is_readable;
use super::names::{constraint_exists, missing};
use crate::catalog::{ObjectName, Relation, Table, TableLayout, put_statistics};
use crate::command::{Comment, Commented, Vacuum};
use crate::plan::StatisticsBuilder;
use crate::{Error, Result, SqlState};

/// How often ANALYZE looks whether it is to stop.
const INTERRUPT_ROWS: u64 = 1024;

impl Ddl<'_> {
    /// Comments are not kept.
    pub(super) fn comment(&mut self, comment: &Comment) -> Result<&'static str> {
        match &comment.on {
            Commented::Database => {}
            Commented::Relation { kind, name } => {
                let found = self.catalog.relation_kind(name);
                let readable = is_readable(*kind) && found.is_some_and(is_readable);
                if !readable && found != Some(*kind) {
                    return Err(missing(&self.catalog, name, *kind));
                }
            }
            Commented::Column { relation, name } => self.check_column(relation, name)?,
            Commented::Constraint { table, name } => {
                let table = self.table(table)?;
                if !constraint_exists(&table, name) {
                    let message = format!("constraint \"{name}\" for table \"{}\" does not exist", table.name);
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
                }
            }
        }
        Ok("COMMENT")
    }

    fn check_column(&self, relation: &ObjectName, name: &str) -> Result<()> {
        let found = match self.catalog.relation(relation) {
            Some(Relation::View(view)) => view.columns.iter().any(|column| column == name),
            _ => self.table(relation)?.column_position(name).is_some(),
        };
        if found {
            return Ok(());
        }
        let message = format!("column \"{name}\" of relation \"{}\" does not exist", relation.name);
        Err(Error::new(SqlState::UNDEFINED_COLUMN, message))
    }

    /// Of these tables, or of every table.
    pub(super) fn analyze(&mut self, names: &[ObjectName]) -> Result<()> {
        let tables = match names {
            [] => self.catalog.tables().cloned().collect(),
            names => names.iter().map(|name| self.table(name)).collect::<Result<Vec<_>>>()?,
        };
        tables.iter().try_for_each(|table| self.analyze_table(table))
    }

    pub(super) fn vacuum(&mut self, vacuum: &Vacuum) -> Result<&'static str> {
        vacuum.tables.iter().try_for_each(|name| self.table(name).map(drop))?;
        if vacuum.analyze {
            self.analyze(&vacuum.tables)?;
        }
        Ok("VACUUM")
    }

    /// Reads the whole table: rows are counted exactly, and their columns decoded where the sample takes them.
    ///
    /// Outside the transaction, which would otherwise have read every row and lose to anyone who writes one. Only a
    /// table that the transaction itself made is not in the snapshot.
    fn analyze_table(&mut self, table: &Table) -> Result<()> {
        let layout = TableLayout::new(table);
        let types: Vec<_> = table.columns.iter().map(|column| column.data_type).collect();
        let mut builder = StatisticsBuilder::new(&types);
        let snapshot = self.dml.store.snapshot()?;
        let outside = snapshot.reader().cursor(table.tree, Bound::Unbounded, Bound::Unbounded);
        let mut cursor = match outside {
            Ok(cursor) => cursor,
            Err(_) => self.dml.tx.reader().cursor(table.tree, Bound::Unbounded, Bound::Unbounded)?,
        };
        for row in 0u64.. {
            let Some((key, value)) = cursor.next()? else { break };
            if row % INTERRUPT_ROWS == 0 {
                self.dml.exec.check()?;
            }
            builder.add_row(|| layout.decode(key, value))?;
        }
        put_statistics(self.dml.tx, self.trees, table, &builder.finish())
    }
}
