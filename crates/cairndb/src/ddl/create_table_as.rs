//! CREATE TABLE .. AS.

use std::sync::Arc;

use sqlparser::ast;

use super::context::Ddl;
use super::names::fold;
use crate::catalog::Column;
use crate::dml::{Target, Writer};
use crate::exec;
use crate::plan::{Field, optimize};
use crate::sql::ParsedStatement;
use crate::types::DataType;
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn create_table_as(
        &mut self,
        create: &ast::CreateTable,
        parsed: &ParsedStatement,
    ) -> Result<&'static str> {
        let Some(query) = &create.query else { return Err(Error::internal("no query")) };
        if create.temporary {
            return Err(Error::unsupported("a temporary table"));
        }
        let Some(name) = self.free_table_name(create)? else { return Ok("CREATE TABLE AS") };
        let plan = self.bind_query(query, parsed)?;
        let mut table = self.empty_table(name)?;
        table.columns = columns(create, &plan.fields())?;
        self.store.put_table(&table)?;
        let plan = Arc::new(optimize(plan, &self.catalog, self.options)?);
        let target = Target::new(&Arc::new(table), &self.catalog)?;
        let rows = self.rows();
        let mut writer = Writer::new(&target, &rows);
        let mut stream = exec::execute(plan, self.dml.exec.clone())?;
        let mut affected = 0;
        while let Some(batch) = stream.next_batch()? {
            for at in 0..batch.len() {
                let row = batch.row(at);
                let key = writer.new_key(&row)?;
                writer.insert_unchecked(&key, &row)?;
                affected += 1;
            }
        }
        drop(writer);
        self.done.affected = affected;
        Ok("SELECT")
    }
}

fn columns(create: &ast::CreateTable, fields: &[Field]) -> Result<Vec<Column>> {
    if create.columns.len() > fields.len() {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "too many column names were specified"));
    }
    let mut columns: Vec<Column> = Vec::with_capacity(fields.len());
    for (at, field) in fields.iter().enumerate() {
        let name = create.columns.get(at).map_or_else(|| field.name.clone(), |column| fold(&column.name));
        if columns.iter().any(|column| column.name == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
        super::create_table::check_column_count(at)?;
        let data_type = if field.data_type == DataType::Unknown { DataType::Text } else { field.data_type };
        columns.push(Column { name, data_type, not_null: false, default: None, identity: None });
    }
    Ok(columns)
}
