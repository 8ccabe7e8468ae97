//! CREATE TABLE .. AS.

use std::sync::Arc;

use super::context::Ddl;
use crate::catalog::{Column, Table};
use crate::command::CreateTableAs;
use crate::dml::row::{AtOnce, RowInsert};
use crate::dml::{BatchRow, Inserter, Target};
use crate::exec;
use crate::plan::{Field, LogicalPlan, optimize};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn create_table_as(&mut self, create: &CreateTableAs) -> Result<&'static str> {
        let schema = self.schema_for(&create.name, create.temporary)?;
        if !self.is_free(schema, &create.name.name, create.if_not_exists)? {
            return Ok("CREATE TABLE AS");
        }
        let plan = self.bind_query(create.query)?;
        let mut table = self.empty_table(schema, create.name.name.clone(), create.on_commit)?;
        set_columns(&mut table, &create.columns, &plan.fields())?;
        self.store.put_table(&table)?;
        if !create.with_data {
            return Ok("CREATE TABLE AS");
        }
        self.done.affected = self.fill(table, plan)?;
        Ok("SELECT")
    }

    /// Puts a query's rows into a table that has none; how many they are.
    pub(super) fn fill(&self, table: Table, plan: LogicalPlan) -> Result<u64> {
        let target = Arc::new(Target::new(&Arc::new(table), &self.catalog)?);
        let (program, rows) = (RowInsert::new(&target, None, None), self.rows());
        let mut inserter = Inserter::new(&program, &rows);
        self.for_each_row_of(plan, |row| inserter.insert(row, &mut AtOnce))?;
        Ok(inserter.affected())
    }

    /// The rows that a query gives.
    pub(super) fn for_each_row_of(
        &self,
        plan: LogicalPlan,
        mut each: impl FnMut(BatchRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let plan = Arc::new(optimize(plan, &self.catalog, self.options)?);
        let mut stream = exec::execute(plan, self.dml.exec.clone())?;
        while let Some(batch) = stream.next_batch()? {
            (0..batch.len()).try_for_each(|row| each(BatchRow { columns: batch.columns(), row }))?;
        }
        Ok(())
    }
}

/// The columns of a query, under the names that are given for the first of them.
pub(super) fn set_columns(table: &mut Table, names: &[String], fields: &[Field]) -> Result<()> {
    table.columns = columns(names, fields)?;
    table.columns.iter_mut().zip(1..).for_each(|(column, number)| column.number = number);
    table.columns_made = u32::try_from(table.columns.len()).unwrap_or(u32::MAX);
    Ok(())
}

fn columns(names: &[String], fields: &[Field]) -> Result<Vec<Column>> {
    if names.len() > fields.len() {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "too many column names were specified"));
    }
    let mut columns: Vec<Column> = Vec::with_capacity(fields.len());
    for (at, field) in fields.iter().enumerate() {
        let name = names.get(at).unwrap_or(&field.name).clone();
        if columns.iter().any(|column| column.name == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
        super::create_table::check_column_count(at)?;
        let data_type = if field.data_type == DataType::Unknown { DataType::Text } else { field.data_type };
        check_storable(&name, data_type)?;
        columns.push(Column::new(0, name, data_type));
    }
    Ok(columns)
}

/// SQLSTATE 42P16, 0A000: what has no type that the catalog knows is not stored.
pub(super) fn check_storable(column: &str, data_type: DataType) -> Result<()> {
    let DataType::Composite(of) = data_type.element().unwrap_or(data_type) else { return Ok(()) };
    match &of.definition().named {
        None => {
            let message = format!("column \"{column}\" has pseudo-type {}", data_type.type_name());
            Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message))
        }
        Some(named) if named.table.is_some() => {
            let error = Error::unsupported(format!("a column of the type of rows of table \"{}\"", named.name));
            Err(error.with_hint("Create a type with CREATE TYPE ... AS (...) and use that."))
        }
        Some(_) => Ok(()),
    }
}
