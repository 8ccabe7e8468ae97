//! Statements that change nothing of the schema: COMMENT ON, whose texts are not kept, and ANALYZE.

use std::ops::Bound;

use sqlparser::ast;

use super::context::Ddl;
use super::create_view::is_readable;
use super::names::{missing, relation_name};
use crate::catalog::{RelationKind, Table, TableLayout, put_statistics};
use crate::plan::StatisticsBuilder;
use crate::{Error, Result};

/// How often ANALYZE looks whether it is to stop.
const INTERRUPT_ROWS: u64 = 1024;

impl Ddl<'_> {
    /// Comments are not kept.
    pub(super) fn comment(&mut self, statement: &ast::Statement) -> Result<&'static str> {
        let ast::Statement::Comment { object_type, object_name, .. } = statement else {
            return Err(Error::internal("not a COMMENT"));
        };
        if matches!(object_type, ast::CommentObject::Table | ast::CommentObject::View) {
            let name = relation_name(object_name)?;
            if !self.catalog.relation_kind(&name).is_some_and(is_readable) {
                return Err(missing(&self.catalog, &name, RelationKind::Table));
            }
        }
        Ok("COMMENT")
    }

    pub(super) fn analyze(&mut self, analyze: &ast::Analyze) -> Result<&'static str> {
        let tables = match &analyze.table_name {
            Some(name) => vec![self.table(&relation_name(name)?)?],
            None => self.catalog.tables.values().cloned().collect(),
        };
        for table in tables {
            self.analyze_table(&table)?;
        }
        Ok("ANALYZE")
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
