//! Keys of UNIQUE and PRIMARY KEY that may wait, which several rows have for a while.

use std::sync::Arc;

use super::PendingChecks;
use crate::catalog::Table;
use crate::dml::deferred::What;
use crate::dml::referencing::second_with;
use crate::dml::row::{Entries, Stop};
use crate::exec::{Step, Turn};
use crate::{Error, Result, SqlState};

/// Rows that have the same columns in the index at `index`, at present.
pub(super) struct Several {
    pub(super) table: Arc<Table>,
    pub(super) index: usize,
    pub(super) key: Vec<u8>,
}

impl PendingChecks<'_> {
    /// A row has come to these columns of the index, which no other may have in the end.
    pub(super) fn guard(&mut self, table: &Arc<Table>, index: usize, key: &[u8]) -> Result<(), Stop> {
        let known = |several: &Several| several.table.id == table.id && several.index == index && several.key == key;
        if !self.owed().several.back().is_some_and(known) && self.second_of(table, index, key)?.is_some() {
            self.owed().several.push_back(Several { table: table.clone(), index, key: key.to_vec() });
            if !self.hold(size_of::<Several>() + key.len()) {
                let error = Error::new(SqlState::OUT_OF_MEMORY, "out of memory");
                let hint =
                    "Keys that a statement gives to several rows are kept until its end: change fewer rows at once.";
                return Err(error.with_hint(hint).into());
            }
        }
        Ok(())
    }

    pub(super) fn settle_double_keys(&mut self, turn: &Turn) -> Step<()> {
        while !self.owed().several.is_empty() {
            turn.take()?;
            let Some(Several { table, index: at, key }) = self.owed().several.pop_front() else { break };
            if let Some(error) = self.what_is_double(&table, at, &key)? {
                let index = &table.indexes[at];
                self.settle(error, table.id, (index.id, index.deferral), || What::Several(key))?;
            }
        }
        Ok(())
    }

    /// The key of the second row that has these columns in the index.
    fn second_of(&self, table: &Table, index: usize, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let index = table.indexes.get(index).ok_or_else(|| Error::internal("an index is missing"))?;
        second_with(table, index, key, self.context.tx.reader())
    }

    /// The error, where several rows have these columns in the index. SQLSTATE 23505.
    fn what_is_double(&self, table: &Arc<Table>, index: usize, key: &[u8]) -> Result<Option<Error>> {
        let Some(row_key) = self.second_of(table, index, key)? else { return Ok(None) };
        let row = self.context.tx.reader().get(table.tree, &row_key)?.unwrap_or_default();
        let entries = Entries::of(table, &table.indexes[index], self.context.catalog)?;
        let name = &table.indexes[index].name;
        let message = format!("duplicate key value violates unique constraint \"{name}\"");
        let detail = entries.key_detail(&row_key, &row, self.context.exec)?;
        let error = Error::new(SqlState::UNIQUE_VIOLATION, message).with_detail(format!("{detail} already exists."));
        let schema = self.context.catalog.schema_name(table.schema).unwrap_or_default();
        Ok(Some(error.with_constraint(name).with_schema(schema).with_table(&*table.name)))
    }
}
