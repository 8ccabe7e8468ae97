//! CREATE INDEX.

use std::sync::Arc;

use sqlparser::ast;

use super::constraints::plain_column;
use super::context::Ddl;
use super::names::{Chosen, already_exists, fold, relation_name};
use crate::catalog::{Index, IndexColumn, Table};
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn create_index(&mut self, create: &ast::CreateIndex) -> Result<&'static str> {
        refuse_extras(create)?;
        let table = self.table(&relation_name(&create.table_name)?)?;
        let columns = create.columns.iter().map(|column| index_column(&table, column)).collect::<Result<Vec<_>>>()?;
        let Some(name) = self.free_index_name(create, &table, &columns)? else { return Ok("CREATE INDEX") };
        let index = Index {
            id: self.store.allocate_id()?,
            name,
            tree: self.dml.tx.create_derived_tree()?,
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
        create: &ast::CreateIndex,
        table: &Table,
        columns: &[IndexColumn],
    ) -> Result<Option<String>> {
        let Some(name) = &create.name else {
            let names: Vec<&str> = columns.iter().map(|part| table.columns[part.column].name.as_str()).collect();
            return Ok(Some(Chosen::default().relation(&self.catalog, &table.name, &names.join("_"), "idx")));
        };
        let name = relation_name(name)?;
        if self.catalog.relation_kind(&name).is_none() {
            return Ok(Some(name));
        }
        if !create.if_not_exists {
            return Err(already_exists(&name));
        }
        self.notice(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists, skipping"));
        Ok(None)
    }

    pub(super) fn alter_index(
        &mut self,
        name: &ast::ObjectName,
        operation: &ast::AlterIndexOperation,
    ) -> Result<&'static str> {
        let ast::AlterIndexOperation::RenameIndex { index_name } = operation;
        self.rename_index(&relation_name(name)?, relation_name(index_name)?)?;
        Ok("ALTER INDEX")
    }
}

fn index_column(table: &Table, column: &ast::IndexColumn) -> Result<IndexColumn> {
    let name = match &column.column.expr {
        ast::Expr::Identifier(ident) => fold(ident),
        other => plain_column(other)?,
    };
    let column_position = table
        .column_position(&name)
        .ok_or_else(|| Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist")))?;
    let descending = matches!(column.column.options.sort, Some(ast::OrderBySort::Desc));
    Ok(IndexColumn {
        column: column_position,
        descending,
        nulls_first: column.column.options.nulls_first.unwrap_or(descending),
    })
}

fn refuse_extras(create: &ast::CreateIndex) -> Result<()> {
    let method = create.using.as_ref().map(|using| using.to_string().to_lowercase());
    let refused = [
        (create.predicate.is_some(), "a partial index"),
        (!create.include.is_empty(), "INCLUDE"),
        (create.nulls_distinct == Some(false), "NULLS NOT DISTINCT"),
        (method.is_some_and(|method| method != "btree"), "an index method other than btree"),
    ];
    match refused.iter().find(|(present, _)| *present) {
        Some((_, what)) => Err(Error::unsupported(what)),
        None => Ok(()),
    }
}
