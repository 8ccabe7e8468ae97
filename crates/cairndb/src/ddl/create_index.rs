//! CREATE INDEX.

use std::sync::Arc;

use super::context::Ddl;
use super::names::Chosen;
use crate::catalog::{Index, IndexColumn, Table};
use crate::command::{CreateIndex, IndexPart};
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn create_index(&mut self, create: &CreateIndex) -> Result<&'static str> {
        let table = self.table(&create.table)?;
        let columns = create.columns.iter().map(|column| index_column(&table, column)).collect::<Result<Vec<_>>>()?;
        let Some(name) = self.free_index_name(create, &table, &columns)? else { return Ok("CREATE INDEX") };
        let index = Index {
            id: self.store.allocate_id(table.schema)?,
            name,
            tree: self.dml.tx.create_derived_tree(table.schema)?,
            columns,
            unique: create.unique,
            constraint: false,
        };
        self.build_index(&table, &index)?;
        let mut table = Table::clone(&table);
        table.indexes.push(Arc::new(index));
        self.store.put_table(&table)?;
        Ok("CREATE INDEX")
    }

    /// `None`: there is one of this name, and IF NOT EXISTS was said.
    fn free_index_name(
        &mut self,
        create: &CreateIndex,
        table: &Table,
        columns: &[IndexColumn],
    ) -> Result<Option<String>> {
        let Some(name) = &create.name else {
            let names: Vec<&str> = columns.iter().map(|part| table.columns[part.column].name.as_str()).collect();
            return Ok(Some(Chosen::default().relation(&self.catalog, table, &names.join("_"), "idx")));
        };
        Ok(self.is_free(table.schema, name, create.if_not_exists)?.then(|| name.clone()))
    }
}

fn index_column(table: &Table, part: &IndexPart) -> Result<IndexColumn> {
    let name = &part.name;
    let column = table
        .column_position(name)
        .ok_or_else(|| Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist")))?;
    Ok(IndexColumn { column, descending: part.descending, nulls_first: part.nulls_first })
}
