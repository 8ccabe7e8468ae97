//! CREATE TABLE .. AS.

use std::sync::Arc;

use cairn_parser::Statement;

use super::context::Ddl;
use super::create_view::refuse_parameters;
use crate::bind::{Callees, ParameterTypes, bind_rows_of};
use crate::catalog::{Column, Table};
use crate::command::{CreateTableAs, RowsOf};
use crate::dml::row::{ObservedAtOnce, RowInsert};
use crate::dml::{self, BatchRow, DmlContext, Inserter, InserterState, Programs, Target};
use crate::exec::{self, Collected, ExecContext};
use crate::plan::{Field, LogicalPlan, optimize};
use crate::sync;
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// What gives a relation its rows.
pub(super) struct RowSource {
    plan: LogicalPlan,
    /// What is given for its parameters, where it has some.
    exec: Option<ExecContext>,
    changes: Changes,
}

/// What a query changes while it is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changes {
    Nothing,
    /// Rows, by statements in its WITH.
    Rows,
    /// Whatever functions change that it calls.
    Anything,
}

impl From<LogicalPlan> for RowSource {
    /// A query that only reads.
    fn from(plan: LogicalPlan) -> RowSource {
        RowSource { plan, exec: None, changes: Changes::Nothing }
    }
}

impl Ddl<'_> {
    pub(super) fn create_table_as(&mut self, create: &CreateTableAs) -> Result<&'static str> {
        let schema = self.schema_for(&create.name, create.temporary)?;
        if !self.is_free(schema, &create.name.name, create.if_not_exists)? {
            return Ok("CREATE TABLE AS");
        }
        let source = self.rows_of(&create.rows)?;
        let mut table = self.empty_table(schema, create.name.name.clone(), create.on_commit)?;
        set_columns(&mut table, &create.columns, &source.plan.fields())?;
        self.store.put_table(&table)?;
        if !create.with_data {
            self.explain_unread(source.plan)?;
            return Ok("CREATE TABLE AS");
        }
        self.done.affected = self.fill(table, source)?;
        Ok("SELECT")
    }

    fn rows_of(&self, rows: &RowsOf) -> Result<RowSource> {
        let mut parameters = ParameterTypes::default();
        let (plan, exec) = match rows {
            RowsOf::Query(query, into) => {
                let plan = bind_rows_of(self.parsed, (*query, *into), &self.catalog, &mut parameters)?;
                // What the command was given for them is the statement's that it runs in.
                if self.session.parameters().is_empty() {
                    refuse_parameters(&parameters)?;
                }
                (plan, None)
            }
            RowsOf::Execute(execute) => {
                let (parsed, values) = self.session.executed(self.parsed, execute)?;
                let Statement::Query { query } = parsed.syntax() else {
                    let message = "prepared statement is not a SELECT";
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                };
                let plan = bind_rows_of(&parsed, (query, None), &self.catalog, &mut parameters)?;
                (plan, Some(ExecContext { parameters: values.into(), ..self.dml.exec.clone() }))
            }
        };
        let changes = match () {
            () if parameters.calls == Callees::Writers => Changes::Anything,
            () if parameters.writes() => Changes::Rows,
            () => Changes::Nothing,
        };
        Ok(RowSource { plan, exec, changes })
    }

    /// Puts a query's rows into a table that has none; how many they are.
    pub(super) fn fill(&self, table: Table, source: impl Into<RowSource>) -> Result<u64> {
        let target = Arc::new(Target::new(&Arc::new(table), &self.catalog)?);
        let (program, rows) = (RowInsert::new(&target, None, None), self.rows());
        let mut inserted = InserterState::of(&program);
        let mut inserter = Inserter::new(&program, &rows, &mut inserted);
        match source.into() {
            source if source.changes == Changes::Nothing => {
                self.for_each_row_of(source, |row| inserter.insert(row, &mut ObservedAtOnce))?;
            }
            source => {
                let (mut changed, types) = self.changed_rows(source)?;
                while let Some(batch) = changed.next_batch(&types)? {
                    let row = |row| BatchRow { columns: batch.columns(), row };
                    (0..batch.len()).try_for_each(|at| inserter.insert(row(at), &mut ObservedAtOnce))?;
                }
            }
        }
        drop(inserter);
        Ok(inserted.affected())
    }

    /// The rows that a query gives.
    pub(super) fn for_each_row_of(
        &self,
        source: impl Into<RowSource>,
        mut each: impl FnMut(BatchRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let RowSource { plan, exec, .. } = source.into();
        let started = sync::now();
        let plan = Arc::new(optimize(plan, self.options)?);
        let planning = sync::since(started);
        let exec = self.explained(exec.unwrap_or_else(|| self.dml.exec.clone()));
        let mut stream = exec::execute(plan.clone(), exec)?;
        while let Some(batch) = stream.next_batch()? {
            (0..batch.len()).try_for_each(|row| each(BatchRow { columns: batch.columns(), row }))?;
        }
        self.explain_run(plan, planning, || stream.statistics());
        Ok(())
    }

    /// The rows of a query that changes others while it is read: they are all there before the first is stored.
    fn changed_rows(&self, source: RowSource) -> Result<(Collected, Vec<DataType>)> {
        let RowSource { plan, exec, changes } = source;
        let started = sync::now();
        let plan = Arc::new(optimize(plan, self.options)?);
        let planning = sync::since(started);
        let exec = self.explained(exec.unwrap_or_else(|| self.dml.exec.clone()));
        let calls = if changes == Changes::Anything { Callees::Writers } else { Callees::Readers };
        let done =
            dml::run(&plan, &Programs::of(&plan, &self.catalog)?, &DmlContext { exec: &exec, ..*self.dml }, calls)?;
        let types = plan.fields.iter().map(|field| field.data_type).collect();
        self.explain_run(plan, planning, || done.statistics);
        Ok((done.rows, types))
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
            return Err(Error::repeated_column(name));
        }
        super::create_table::check_column_count(at)?;
        let data_type = match field.data_type {
            DataType::Unknown => DataType::Text,
            data_type => data_type,
        };
        check_storable(&name, data_type)?;
        columns.push(Column::new(0, name, data_type));
    }
    Ok(columns)
}

/// SQLSTATE 42P16, 0A000: what has no type that the catalog knows is not stored.
pub(super) fn check_storable(column: &str, data_type: DataType) -> Result<()> {
    let pseudo_type = || {
        let message = format!("column \"{column}\" has pseudo-type {}", data_type.type_name());
        Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message))
    };
    let of = match data_type.element().unwrap_or(data_type) {
        DataType::Composite(of) => of,
        DataType::Void => return pseudo_type(),
        _ => return Ok(()),
    };
    match &of.definition().named {
        None => pseudo_type(),
        Some(named) if named.table.is_some() => {
            let error = Error::unsupported(format!("a column of the type of rows of table \"{}\"", named.name));
            Err(error.with_hint("Create a type with CREATE TYPE ... AS (...) and use that."))
        }
        Some(_) => Ok(()),
    }
}
