//! CREATE INDEX.

use std::sync::Arc;

use cairn_storage::TreeId;

use super::context::Ddl;
use super::names::Chosen;
use crate::catalog::{Index, IndexColumn, ObjectId, Table};
use crate::command::{CreateIndex, IndexPart};
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn create_index(&mut self, create: &CreateIndex) -> Result<&'static str> {
        let table = self.table(&create.table)?;
        let mut index = described(create, &table, TreeId::CATALOG)?;
        let Some(name) = self.free_index_name(create, &table, &index.columns)? else { return Ok("CREATE INDEX") };
        (index.name, index.tree) = (name, self.dml.tx.create_derived_tree(table.schema)?);
        self.build_index(&table, &index)?;
        self.put_index(&table, index)
    }

    /// The table has the index, which is built, from now on.
    fn put_index(&self, table: &Table, mut index: Index) -> Result<&'static str> {
        index.id = self.store.allocate_id(table.schema)?;
        let mut table = table.clone();
        table.indexes.push(Arc::new(index));
        self.store.put_table(&table)?;
        Ok("CREATE INDEX")
    }

    /// As [`put_index`](Ddl::put_index), of an index that was built while others went on working. They wait now.
    pub(super) fn put_index_built(&mut self, create: &CreateIndex, mut index: Index) -> Result<&'static str> {
        let table = self.table(&create.table)?;
        match self.free_index_name(create, &table, &index.columns)? {
            Some(name) => {
                index.name = name;
                self.put_index(&table, index)
            }
            None => {
                self.dml.tx.drop_tree(index.tree)?;
                Ok("CREATE INDEX")
            }
        }
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

/// The index as it was asked for, without an id and a name.
pub(super) fn described(create: &CreateIndex, table: &Table, tree: TreeId) -> Result<Index> {
    let columns = create.columns.iter().map(|column| index_column(table, column)).collect::<Result<_>>()?;
    let (id, name, unique) = (ObjectId(0), create.name.clone().unwrap_or_default(), create.unique);
    Ok(Index { id, name, tree, columns, unique, constraint: false })
}

fn index_column(table: &Table, part: &IndexPart) -> Result<IndexColumn> {
    let name = &part.name;
    let column = table
        .column_position(name)
        .ok_or_else(|| Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist")))?;
    Ok(IndexColumn { column, descending: part.descending, nulls_first: part.nulls_first })
}
