//! REINDEX: indexes are built anew from their tables' rows, in new trees; who reads an older state keeps the old ones.

use std::sync::Arc;

use super::context::Ddl;
use crate::catalog::{Index, ObjectName, Relation, Table, no_schema};
use crate::command::{Reindex, Reindexed};
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn reindex(&mut self, reindex: &Reindex) -> Result<&'static str> {
        match &reindex.what {
            Reindexed::Index(name) => match self.relation(name)?.cloned() {
                // (A primary key's is the rows themselves, which lie in its order.)
                Some(Relation::Index(table, index)) => self.rebuild(&table, |known| known.id == index.id)?,
                Some(_) => return Err(wrong_kind(name, "an index")),
                None => return Err(self.catalog.no_relation(name)),
            },
            Reindexed::Table(name) => match self.relation(name)?.cloned() {
                Some(Relation::Table(table)) => self.rebuild(&table, |_| true)?,
                Some(_) => return Err(wrong_kind(name, "a table or materialized view")),
                None => return Err(self.catalog.no_relation(name)),
            },
            Reindexed::Schema(name) => {
                let schema = self.catalog.schema(name).ok_or_else(|| no_schema(name))?;
                self.rebuild_all(|table| table.schema == schema)?;
            }
            Reindexed::System => {}
            Reindexed::Database(name) if name != self.catalog.database_name() => {
                let message = "can only reindex the currently open database";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            Reindexed::Database(_) => self.rebuild_all(|table| !table.is_temporary())?,
        }
        Ok("REINDEX")
    }

    fn rebuild_all(&mut self, wanted: impl Fn(&Table) -> bool) -> Result<()> {
        let tables: Vec<Arc<Table>> = self.catalog.tables().filter(|table| wanted(table)).cloned().collect();
        tables.iter().try_for_each(|table| self.rebuild(table, |_| true))
    }

    /// Builds those of the table's indexes that are wanted. SQLSTATE 23505 where rows are not as unique as one of them wants them.
    pub(super) fn rebuild(&mut self, table: &Table, wanted: impl Fn(&Index) -> bool) -> Result<()> {
        self.refuse_pending(table, "REINDEX")?;
        let (mut new, mut old) = (Table::clone(table), Vec::new());
        for index in new.indexes.iter_mut().filter(|index| wanted(index)) {
            old.push(index.tree);
            let tree = self.dml.tx.create_derived_tree(table.schema)?;
            *index = Arc::new(Index { tree, ..Index::clone(index) });
        }
        if old.is_empty() {
            return Ok(());
        }
        let new = Arc::new(new);
        self.store.put_table(&new)?;
        new.indexes.iter().filter(|index| wanted(index)).try_for_each(|index| self.build_index(&new, index))?;
        old.into_iter().try_for_each(|tree| self.dml.tx.drop_tree(tree))?;
        self.reload()
    }
}

fn wrong_kind(name: &ObjectName, kind: &str) -> Error {
    Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is not {kind}", name.name))
}
